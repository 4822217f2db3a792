"""The controls of "Inside a block": what runs, in which sizes, which layer, head, token and cell is looked at."""

from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.blocks.pair import Pair
from analysis.blocks.record import Record
from analysis.blocks.worked_examples import EXAMPLES, Sizes, check_sizes
from model import HeadworkError, Mask
from model.blocks import Activation, NormPlace
from ui.frame import controls, links, loading, remarks
from ui.frame.captions import small
from ui.frame.choose import T, translated
from ui.frame.choose import choose as frame_choose
from ui.frame.languages import _, explain, plain
from ui.inside import runs

SOURCES = {
    "example": "Worked example",
    "sentence": "Your sentence",
    "model": "Model in the sidebar",
    "pair": "Encoder and decoder",
}
NEEDS = {
    "example": ["mask"],
    "sentence": ["sentence", "mask"],
    "model": ["sentence", "model", "mask"],
    "pair": ["sentence"],
}  # of the sidebar
EXAMPLE_NAMES = {
    "cat": "猫 吃 鱼: 8 wide, 2 heads, seed 42",
    "numbered": "Numbered reshape: 3 × 8, 2 heads of 4",
    "wide": "h = 8, d_model = 512, d_k = 64",
}
OWN = Sizes(d_model=16, heads=4, d_ff=64, layers=2, norm="pre", activation="gelu", seed=0)
NORMS: dict[NormPlace, str] = {"post": "post-LN", "pre": "pre-LN"}
ACTIVATIONS: dict[Activation, str] = {"relu": "ReLU", "gelu": "GELU", "swiglu": "SwiGLU"}
TARGETS = (
    "老师 表扬 了 学生 。",
    "The teacher praised the students.",
)  # for a source without Chinese, and for one with
MOST_TARGET = 400  # characters
GOOD = "inside_possible"  # session state: the last sizes that were possible


def shown() -> Record | Pair:
    """Everything above the tabs, and the forward that it asks for.

    Raises:
        HeadworkError: there is no text, the model can't be loaded, or the mask doesn't fit the sentence.
    """
    row = st.container(horizontal=True, vertical_alignment="bottom", key="inside-controls")
    with row:
        source = choose(_("What runs"), "source", translated(SOURCES), "example", wide=True)
        controls.show(*NEEDS[source])
        if source == "example":
            return _example()
        if source == "pair":
            return _pair()
        if source == "model":
            found = _model()
    if source == "sentence":
        return _sentence(row)
    trace = loading.trace(controls.sentence(), controls.model(), controls.mask())
    remarks.cut(trace)
    remarks.cautions(trace)
    return found


def source() -> str:
    """Which of the sources is chosen."""
    return str(st.session_state.get("inside_source", "example"))


def example_sizes() -> Sizes:
    """The sizes of the chosen worked example."""
    return EXAMPLES.get(str(st.session_state.get("inside_example")), EXAMPLES["cat"])


def _pair() -> Pair:
    """The source of the sidebar, and a target of one's own; while none is typed, one in another language."""
    source = controls.sentence()
    first = TARGETS[any("\u4e00" <= letter <= "\u9fff" for letter in source)]
    if "inside_target" not in st.session_state:
        st.session_state["inside_target"] = links.read("target", str, "", key="inside_target")
    said = _("The decoder reads it after a start mark <s>. The source is the sentence in the sidebar.")
    typed = st.text_input(
        _("Target"),
        key="inside_target",
        placeholder=first,
        max_chars=MOST_TARGET,
        help=said,
        width=330,
        persist_state="session",
    )
    links.write("target", typed, "")
    return runs.pair(source, typed.strip() or first)


def _example() -> Record:
    choose(_("Example"), "example", translated(EXAMPLE_NAMES), "cat", on_change=_open_reshape, width=280)
    sizes = example_sizes()
    layer, head = _layer_head(sizes.layers, sizes.heads)
    try:
        return runs.example(sizes, controls.mask(), layer).of_head(head)
    except HeadworkError:  # a mask drawn for another number of tokens
        small(_("Runs without the mask in the sidebar: it was drawn for another sentence."))
        return runs.example(sizes, Mask.bidirectional(), layer).of_head(head)


def _open_reshape() -> None:
    """The numbered example is about one step: it opens there."""
    if st.session_state["inside_example"] == "numbered":
        st.session_state["inside_step"] = "split"
        st.session_state["inside_reshape"] = "places"


def _model() -> Record:
    loaded = loading.load_model(controls.model())
    layer, head = controls.layer_head(loaded.n_layers, loaded.n_heads, menus=True)
    with st.spinner(_("Loading the model and reading the sentence…")):
        return runs.trained(controls.sentence(), loaded.id, controls.mask(), layer).of_head(head)


def _sentence(row: DeltaGenerator) -> Record:
    with st.container(horizontal=True, vertical_alignment="bottom", key="inside-sizes"):
        n_tokens = _number("N", "n", 64, _("Tokens that are read at most; a shorter sentence has fewer."))
        asked = Sizes(
            d_model=_number("d_model", "d_model", OWN.d_model),
            heads=_number(_("heads h"), "heads", OWN.heads),
            d_ff=_number("d_ff", "d_ff", OWN.d_ff),
            layers=_number(_("layers"), "layers", OWN.layers),
            seed=_number(_("seed"), "seed", OWN.seed),
            norm=choose(_("LayerNorm"), "norm", NORMS, OWN.norm, width=105),
            activation=choose(_("Activation"), "activation", ACTIVATIONS, OWN.activation, width=110),
            bias=_bias(row),
        )
        possible: tuple[int, Sizes] = st.session_state.get(GOOD, (64, OWN))
        error = None
        try:
            check_sizes(asked, n_tokens)
            possible = n_tokens, asked
        except HeadworkError as impossible:
            error = impossible
        st.session_state[GOOD] = possible
        n_tokens, sizes = possible
    with row:
        layer, head = _layer_head(sizes.layers, sizes.heads)
    if error is not None:
        kept = _("Below: still d_model {d_model} with {heads} heads, d_ff {d_ff} and {layers} layers.").format(
            d_model=sizes.d_model, heads=sizes.heads, d_ff=sizes.d_ff, layers=sizes.layers
        )
        st.error(f"{explain(error)} {plain(kept)}", icon="✋")
    found = runs.sentence(controls.sentence(), n_tokens, sizes, controls.mask(), layer).of_head(head)
    said = _("Untrained: random weights from the seed. Read: {n} tokens, a word, mark or Chinese character each.")
    small(said.format(n=found.n_tokens))
    return found


def _bias(place: DeltaGenerator) -> bool:
    if "inside_bias" not in st.session_state:
        off = links.read("inside_bias", links.one_of(("false",)), "")
        st.session_state["inside_bias"] = off != "false"
    on = place.toggle(_("bias"), key="inside_bias", persist_state="session")
    links.write("inside_bias", "" if on else "false", "")
    return bool(on)


def _layer_head(n_layers: int, n_heads: int) -> tuple[int, int]:
    layer = choose(_("Layer"), "block_layer", {i: str(i) for i in range(1, n_layers + 1)}, 1, width=80)
    head = choose(_("Head"), "block_head", {i: str(i) for i in range(1, n_heads + 1)}, 1, width=80)
    return layer - 1, head - 1


def token(record: Record, label: str, name: str, first: int = 0) -> int:
    """One of the record's tokens, as an index from 0."""
    names = {i + 1: f"{i + 1}  {text}" for i, text in enumerate(record.labels)}
    return choose(label, name, names, min(first + 1, len(names)), width=150) - 1


def choose(label: str, name: str, options: Mapping[T, str], default: T, **more: Any) -> T:
    """One of the options, as `ui.frame.choose` takes them; `name` is its name in the link."""
    return frame_choose(label, name, options, default, key=f"inside_{name}", **more)


def _number(label: str, key: str, default: int, help: str | None = None) -> int:
    """Any whole number, impossible ones too: the page then says why."""
    state = f"inside_{key}"
    if state not in st.session_state:
        st.session_state[state] = links.read(key, lambda text: _whole(text, default), default, key=state)
    number = st.number_input(label, step=1, key=state, help=help, width=95, persist_state="session")
    links.write(key, str(int(number or 0)), str(default))
    return int(number or 0)


def _whole(text: str, default: int) -> int:
    try:
        number = int(text)
    except ValueError:
        return default
    return number if abs(number) < 2**53 else default
