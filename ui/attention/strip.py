"""The sentence as the instrument, on the Attention page: shows what the link says, and keeps in it what is pinned."""

from collections.abc import Callable

from analysis import Reading
from analysis.words.next_tokens import NextTokens
from model import AttentionTrace
from ui.attention import find, maps
from ui.attention import view as explorer_view
from ui.attention.next_tokens import shares
from ui.attention.view import View
from ui.frame import components, examples
from viz.style import Style
from viz.token_strip import LayerMaps, StripChoice, StripLook


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
    of, labels = reading.trace, reading.trace.labels  # what is called when the strip changes is kept by the session
    look, others = examples.look(trace.text), examples.beside(trace.text)
    pinned, looked = explorer_view.pinned(labels, look), explorer_view.token_of(labels, look)
    components.token_strip(
        LayerMaps(
            of.attention[view.layer],
            of.allowed,
            labels,
            view.layer,
            is_special=list(of.is_special),
            is_padding=list(of.units.of_kind("padding")),
            is_written=[n_prompt is not None and pieces[0] >= n_prompt for pieces in of.units.pieces],
            surprise=shares(expected, of.units),
        ),
        StripChoice(
            heads=explorer_view.shown_heads(view, of.n_heads),
            pinned=pinned,
            beside=explorer_view.tokens_of(labels, others) if pinned is not None and pinned == looked else (),
            direction=explorer_view.direction(),
            asks_pair=again is not None,
            large=None if tile else ("head_map", view.head),
        ),
        StripLook(style, tile=tile, height=height, sentence=not tile),
        key=key,
        source=maps.source(trace, view),
        t=maps.words(view),
        on_pair=(lambda query, at: find.choose(again, view, labels, query, at)) if again else None,
        on_pinned=lambda index: explorer_view.pin(labels, index),
        on_heads=lambda heads: explorer_view.choose_heads(view, heads),
        on_direction=explorer_view.turn,
    )
