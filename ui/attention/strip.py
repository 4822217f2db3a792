"""The sentence as the instrument, on the Attention page: shows what the link says, and keeps in it what is pinned."""

from collections.abc import Callable

from analysis import Reading
from analysis.words.next_tokens import NextTokens
from model import AttentionTrace
from ui.attention import find, maps, two_texts
from ui.attention import view as explorer_view
from ui.attention.next_tokens import shares
from ui.attention.view import View
from ui.frame import components, examples
from viz.style import Style
from viz.token_strip import StripChoice, StripLook, layer_maps


def strip(
    trace: AttentionTrace,
    reading: Reading,
    view: View,
    style: Style,
    *,
    key: str = "strip",
    tile: int = 0,
    height: int = 170,
    again: Callable[[], AttentionTrace] | None = None,
    expected: NextTokens | None = None,
    n_prompt: int | None = None,
) -> None:
    """The sentence with the edges of the chosen heads; with `tile`, the layer's maps alone, that many pixels wide.

    What is pointed at in the sentence is marked in those maps, and the other way round. With `again`, a click on a
    second token ranks all heads by the weight between it and the pinned one. With `expected`, a bar under each token
    says how surprised the model was; tokens from `n_prompt` on are marked as written by it.
    """
    of = reading.trace
    # What is called when the strip changes is kept by the session: labels, no maps.
    labels, places = (of.labels, of.keys), explorer_view.places(of)
    look, others = examples.look(trace.text), examples.beside(trace.text)
    pinned, looked = explorer_view.pinned(places, look), explorer_view.token_of(places, look)
    names = StripLook.names if of.context is None else two_texts.line_names(trace)
    components.token_strip(
        layer_maps(
            of,
            view.layer,
            is_written=[n_prompt is not None and pieces[0] >= n_prompt for pieces in of.units.pieces],
            surprise=shares(expected, of.units),
        ),
        StripChoice(
            heads=explorer_view.shown_heads(view, of.n_heads),
            pinned=pinned,
            beside=explorer_view.tokens_of(places, others) if pinned is not None and pinned == looked else (),
            direction=explorer_view.direction(),
            asks_pair=again is not None,
            large=None if tile else ("head_map", view.head),
        ),
        StripLook(style, tile=tile, height=height, sentence=not tile, names=names),
        key=key,
        source=maps.source(trace, view),
        t=maps.words(view),
        on_pair=(lambda query, at: find.choose(again, view, labels, query, at)) if again else None,
        on_pinned=lambda index: explorer_view.pin(places, index),
        on_heads=lambda heads: explorer_view.choose_heads(view, heads),
        on_direction=explorer_view.turn,
    )
