"""What a person has chosen on the Attention page, as one value; every choice lives in the link.

Choices between names keep the name in the link, whatever the language on screen: a bound widget would write its label.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis import METRICS, READINGS, UnitTrace
from model import AttentionTrace, HeadworkError
from model.head_id import HeadId
from model.tokenizers.tokens import SPACE
from ui.frame import controls, links
from ui.frame.captions import text_scale
from ui.frame.languages import _
from viz.encoding import Curve
from viz.style import COLORSCALES
from viz.token_strip import DIRECTIONS, Direction

Level = Literal["pieces", "words", "spaces"]
LEVELS: dict[str, str] = {"pieces": "Tokens", "words": "Words", "spaces": "Split at spaces"}
WHAT_WORDS_ARE = (
    "Weight to a word is the sum over its tokens, weight from a word the mean over its tokens. "
    "Chinese is split into words by jieba, or by your own spaces where you type them: one space corrects one boundary. "
    "“Split at spaces” goes by your spaces alone."
)
CURVES: dict[str, str] = {"log": "logarithmic", "sqrt": "square root"}
NOTHING = "none"  # in a link: no token is pinned
BY_MAP = "map"
BY_PAIR = "find"
COLOUR_TITLES = {BY_MAP: "Colour heads by their map", BY_PAIR: "Find a head: one token, then another"}
SHARES_READINGS = ("without_special", "norm")  # what is left of a row can be rescaled to 1


@dataclass(frozen=True)
class View:
    """Layer and head from 0, and how they are read and drawn."""

    layer: int
    head: int
    reading: str
    level: Level
    rescale: bool
    curve: Curve
    colorscale: str
    text_scale: float

    @property
    def name(self) -> str:
        """The head as it is written: 4-2."""
        return str(HeadId(self.layer, self.head))


def segments(
    label: str, name: str, options: dict[str, str], default: str, *, help: str | None = None, bare: bool = False
) -> str:
    """A choice between names, each shown by its translated label, and kept in the link."""
    links.choice(name, list(options), default)
    labels = {option: _(title) for option, title in options.items()}
    chosen = st.segmented_control(
        label,
        list(options),
        required=True,
        format_func=labels.__getitem__,
        key=name,
        help=help,
        label_visibility="collapsed" if bare else "visible",
        wrap=True,
        persist_state="session",
    )
    links.write(name, chosen or default, default)
    return chosen or default


def menu(
    label: str, name: str, options: dict[str, str], default: str, *, help: str | None = None, bare: bool = False
) -> str:
    """As `segments`, for more choices than fit side by side."""
    links.choice(name, list(options), default)
    labels = {option: _(title) for option, title in options.items()}
    chosen = st.selectbox(
        label,
        list(options),
        format_func=labels.__getitem__,
        key=name,
        help=help,
        label_visibility="collapsed" if bare else "visible",
        persist_state="session",
    )
    links.write(name, chosen, default)
    return str(chosen)


def read_controls(trace: AttentionTrace, head_place: DeltaGenerator, reading_place: DeltaGenerator) -> View:
    """Draws layer and head in one place, the reading in the other, and says what all controls of the page say."""
    with head_place, st.container(horizontal=True, vertical_alignment="center", key="layer-head"):
        layer, head = controls.layer_head(trace.n_layers, trace.n_heads)
    with reading_place:
        left, right = st.columns(2, gap="small")
        with left:
            reading = menu(_("Reading"), "reading", {name: kind.title for name, kind in READINGS.items()}, "raw")
        with right:
            level = menu(_("Rows and columns"), "level", LEVELS, "pieces", help=_(WHAT_WORDS_ARE))
        rescale = reading in SHARES_READINGS and links.switch(
            _("Rescale rows to 1"),
            "rescale",
            help=_("Divides each row by its sum, so that what is left can be compared from row to row."),
        )
        curve: Curve = "linear"
        if reading == "log":
            curve = cast(Curve, segments(_("Colour scale"), "curve", CURVES, "log"))
    return View(
        layer=layer,
        head=head,
        reading=reading,
        level=cast(Level, level),
        rescale=rescale,
        curve=curve,
        colorscale=links.choice("scale", COLORSCALES, COLORSCALES[0]),
        text_scale=text_scale(),
    )


def look() -> None:
    """The colours of pictures, behind a button."""
    with st.popover(_("Display"), icon=":material/palette:"):
        menu(_("Colours"), "scale", {name: name for name in COLORSCALES}, COLORSCALES[0])


def colour_by(metrics: Sequence[str]) -> str:
    """`map`, `find`, or which of these metrics colours the heads of the overview."""
    titles = COLOUR_TITLES | {name: METRICS[name].title for name in metrics}
    return menu(_("Colour heads by"), "colour", titles, BY_MAP, bare=True)


# -- what the token strip chooses ------------------------------------------------------------------------------------


def look_past_the_first() -> None:
    """Lets the page read the maps without the first token on the next run: for callbacks."""
    st.session_state["reading"] = "without_first"


def go_to(layer: int, head: int) -> None:
    """Lets the controls say another head on the next run: for callbacks."""
    st.session_state["wanted"] = {"layer": layer + 1, "head": head + 1}


def shown_heads(view: View, n_heads: int) -> tuple[int, ...]:
    """The heads that the strip shows: the chosen one until others are added. Empty = the layer's mean."""
    if "heads" not in st.session_state:
        heads = links.read("heads", _heads(n_heads), None)
        st.session_state["heads"] = (view.layer, view.head, (view.head,) if heads is None else heads)
    layer, head, heads = st.session_state["heads"]
    if (layer, head) != (view.layer, view.head) or any(head >= n_heads for head in heads):
        heads = (view.head,)
        st.session_state["heads"] = (view.layer, view.head, heads)
    default = str(view.head + 1)
    links.write("heads", ",".join(str(head + 1) for head in heads) or "mean", default)
    return cast(tuple[int, ...], heads)


def choose_heads(view: View, heads: tuple[int, ...]) -> None:
    """The strip shows other heads. One alone becomes the head of the large map as well."""
    main = heads[0] if len(heads) == 1 else view.head
    st.session_state["heads"] = (view.layer, main, heads)
    if main != view.head:
        go_to(view.layer, main)


def pinned(labels: Sequence[str], look: str | None) -> int | None:
    """The token that stays shown: at first the one to look at in an example sentence, `look`."""
    sentence = tuple(labels)
    at_first = token_of(labels, look)
    if "pinned" not in st.session_state:
        st.session_state["pinned"] = (sentence, links.read("pinned", _index(len(labels)), at_first))
    of, index = st.session_state["pinned"]
    if of != sentence:
        index = at_first if at_first is not None else same_token(of, index, sentence)
    links.write("pinned", _spell_pin(index), _spell_pin(at_first))
    return cast("int | None", index)


def places(of: UnitTrace) -> tuple[str, ...]:
    """The tokens of the strip: of another text that is looked at those after the queries' own."""
    return of.labels if of.context is None else of.labels + of.keys


def lost_pin(labels: Sequence[str], now: int | None) -> str:
    """The word that was pinned in another text and isn't among these tokens; nothing while one is pinned."""
    of, index = st.session_state["pinned"]
    return _bare(of[index]) if now is None and index is not None and of != tuple(labels) else ""


def same_token(of: Sequence[str], index: int | None, labels: Sequence[str]) -> int | None:
    """Where the token of one sentence stands in another, the nearest of several; None where it doesn't."""
    if index is None:
        return None
    found = [i for i, label in enumerate(labels) if _bare(label) == _bare(of[index])]
    return min(found, key=lambda i: abs(i - index), default=None)


def _bare(label: str) -> str:
    """A token without the signs of its tokenizer, so that models can be compared."""
    return label.lstrip(SPACE).removeprefix("##").casefold()


def token_of(labels: Sequence[str], word: str | None) -> int | None:
    """The first token that is this word; SentencePiece marks the space before a word as a part of its token."""
    return next((i for i, label in enumerate(labels) if label.lstrip(SPACE) == word), None)


def tokens_of(labels: Sequence[str], words: Sequence[str]) -> tuple[int, ...]:
    """The first token of each word, where there is one."""
    return tuple(index for word in words if (index := token_of(labels, word)) is not None)


def _spell_pin(index: int | None) -> str:
    return NOTHING if index is None else str(index + 1)


def pin(labels: Sequence[str], index: int | None) -> None:
    """Keeps what the strip pinned."""
    st.session_state["pinned"] = (tuple(labels), index)


def direction() -> Direction:
    """What the pointed token looks at, or what looks at it."""
    way = cast(Direction, links.choice("direction", DIRECTIONS, DIRECTIONS[0]))
    links.write("direction", way, DIRECTIONS[0])
    return way


def turn(way: Direction) -> None:
    """Keeps the direction that the strip chose."""
    st.session_state["direction"] = way


# -- spelled in links ------------------------------------------------------------------------------------------------


def _index(n: int) -> Callable[[str], int | None]:
    def parse(text: str) -> int | None:
        if text == NOTHING:
            return None
        number = _number(text)
        if not 1 <= number <= n:
            raise HeadworkError("{value} is not one of {options}.", value=text, options=f"1…{n}")
        return number - 1

    return parse


def _heads(n_heads: int) -> Callable[[str], tuple[int, ...] | None]:
    def parse(text: str) -> tuple[int, ...] | None:
        if text == "mean":
            return ()
        numbers = [_number(part) for part in text.split(",")]
        if not all(1 <= number <= n_heads for number in numbers):
            raise HeadworkError("{value} is not one of {options}.", value=text, options=f"1…{n_heads}")
        return tuple(dict.fromkeys(number - 1 for number in numbers))

    return parse


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
