"""The controls that pages share: sentence, model and mask in the sidebar, and the choice of a layer and a head."""

from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model import HeadworkError, Mask, parse_mask
from model.catalogue import (
    DEFAULT_MODEL,
    allowed_ids,
    default_id,
    entries,
    resolve,
)
from model.tokenizers.tokens import MAX_CHARACTERS
from model.weights.toy import TOY_BOUNDS, TOY_DEFAULTS, TOY_POSITIONS, toy_id, toy_positions, toy_sizes
from model.weights.trained import PREFIX
from ui.frame import examples, links, loading, mask_choice
from ui.frame.languages import _

MOST_CHARACTERS = 5 * MAX_CHARACTERS  # the browser drops longer pastes without a word; the model cuts, and says so
TOY_NAMES = {"d_model": "d_model", "heads": "heads", "layers": "layers", "seed": "seed"}
TRAINED = "trained_models"  # session state: id → name of the models that were trained or opened in this session
SEGMENTS = 16  # more choices than this go on a slider
SHARED = (
    "text",
    "model",
    *mask_choice.KEYS,
    *(f"toy_{name}" for name in (*TOY_DEFAULTS, "positions")),
)  # session state

_is_new_page: ContextVar[bool] = ContextVar("is_new_page", default=False)
_places: ContextVar[dict[str, DeltaGenerator]] = ContextVar("places")  # of this run's controls in the sidebar


def begin(*, is_new_page: bool) -> None:
    """In the sidebar, before the page: reads the link at a session's first run, and lets it say what is chosen now."""
    _places.set({name: st.container() for name in ("sentence", "model", "mask")})
    _is_new_page.set(is_new_page)
    for key in SHARED if is_new_page else ():  # on another page it is another widget, which would begin anew
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]
    if "text" not in st.session_state:
        examples.opening()
        st.session_state["text"] = links.read("text", str, examples.examples()[0].text)
    _first_model()
    mask_choice.begin(_own_mask())
    is_bare = not set(st.query_params) - {"lang", "text"} and examples.opens_on() is not None
    links.write("text", sentence(), "" if is_bare else examples.examples()[0].text)
    links.write("model", _model_id(), default_id())


def end() -> None:
    """After the page, where its run wasn't broken off by the next one."""
    mask_choice.followed(_own_mask())


def show(*names: str) -> None:
    """Draws "sentence", "model" or "mask" in the sidebar: a page shows those that do something on it, others stay."""
    draw = {"sentence": _sentence, "model": _model, "mask": mask_choice.draw}
    for name in names:
        with _places.get()[name]:
            draw[name]()


def sentence() -> str:
    """The text in the sidebar."""
    return str(st.session_state["text"])


def model() -> str:
    """The canonical id of the chosen model.

    Raises:
        HeadworkError: what was typed names no model that this server offers.
    """
    return resolve(_model_id()).id


def mask() -> Mask:
    """The mask in the sidebar."""
    return mask_choice.now()


def take(text: str, model_id: str, mask: Mask) -> None:
    """Lets the sidebar say these from the next run on. Only from a callback, before its widgets are drawn."""
    st.session_state["text"], st.session_state["model"] = text, model_id
    st.session_state["model_by_hand"] = True
    mask_choice.unfold(mask)


def layer_head(n_layers: int, n_heads: int, *, menus: bool = False) -> tuple[int, int]:
    """The chosen layer and head, as indices from 0. What a smaller model doesn't have becomes its last.

    Args:
        n_layers: of the model.
        n_heads: of each layer.
        menus: for a row of controls; else all numbers side by side.
    """
    first_layer, first_head = examples.examples()[0].heads[DEFAULT_MODEL]
    layer = _pick(_("Layer"), "layer", n_layers, first_layer, menus)
    head = _pick(_("Head"), "head", n_heads, first_head, menus)
    return layer - 1, head - 1


def _sentence() -> None:
    st.text_area(
        _("Sentence"),
        key="text",
        height=96,
        max_chars=MOST_CHARACTERS,
        help=_("Type or paste any text. Ctrl+Enter, or a click elsewhere, draws it."),
        persist_state="session",
    )
    if len(sentence()) > links.LONGEST_TEXT:
        said = _("Longer than {n:,} characters: the link leaves this text out, and a reload loses it.")
        st.caption(said.format(n=links.LONGEST_TEXT))
    examples.menu()


def _first_model() -> None:
    """The model that the link names, at a session's first run."""
    if "model" in st.session_state:
        return
    st.session_state["model"] = links.read("model", _named_in_link, default_id())
    if st.session_state["model"] == "toy":  # after Back the fields may say other sizes
        usual = {**TOY_DEFAULTS, "positions": TOY_POSITIONS[0]}
        st.session_state.update({f"toy_{name}": first for name, first in usual.items()})
    in_link = "model" in st.query_params
    st.session_state["model_by_hand"] = in_link and not examples.brings(
        st.query_params.get("text"), st.session_state["model"]
    )
    _unfold_toy()


def _names() -> dict[str, str]:
    return {entry.id: entry.label for entry in entries()} | st.session_state.get(TRAINED, {})


def _model() -> None:
    labels = {model_id: _(name) for model_id, name in _names().items()}
    asked = str(st.session_state["model"])
    if asked.startswith(PREFIX) and asked not in labels:  # of another session on this server
        with suppress(HeadworkError):
            labels[asked] = resolve(asked).label
    st.selectbox(
        _("Model"),
        list(dict.fromkeys([*labels, st.session_state["model"] or default_id()])),  # what was typed stays in the list
        key="model",
        format_func=lambda model_id: labels.get(model_id, model_id),
        on_change=_chose_model,
        accept_new_options=allowed_ids() is None,
        help=None
        if allowed_ids()
        else _("Or type the name of a model on the Hugging Face hub (owner/name), or a folder with one."),
        persist_state="session",
    )
    examples.told(labels)
    if st.session_state["model"] == "toy":
        _toy()


def _model_id() -> str:
    """As chosen or typed."""
    chosen = st.session_state["model"]
    if chosen == "toy":
        sizes = {name: int(st.session_state.get(f"toy_{name}", first)) for name, first in TOY_DEFAULTS.items()}
        return toy_id(**sizes, positions=st.session_state.get("toy_positions", TOY_POSITIONS[0]))
    return str(chosen or default_id())


def _own_mask() -> Mask:
    """What the chosen model was trained under; what isn't known is bidirectional.

    A folder, or a model of the hub, says so only once it is read. What can't be read is told by the page.
    """
    with suppress(HeadworkError):
        entry = resolve(_model_id())
        if entry.trained_mask is None and entry.source in ("folder", "hub"):
            loaded = loading.load_any(entry.id)
            if loaded.is_encoder_decoder:
                return loaded.default_mask
            entry = loaded.entry
        if entry.trained_mask is not None:
            return parse_mask(entry.trained_mask)
    return Mask.bidirectional()


def _named_in_link(text: str) -> str:
    """For `links.read`. A model of an earlier session stays, and the page says where it went."""
    return text if text.startswith(PREFIX) else resolve(text).id


def _chose_model() -> None:
    st.session_state["model_by_hand"] = True
    _unfold_toy()


def _unfold_toy() -> None:
    """A toy with its sizes spelled out becomes the entry "toy" and its numbers in the fields below it."""
    model_id = str(st.session_state["model"])
    if not model_id.startswith("toy:"):
        return
    try:
        settings = {**toy_sizes(model_id), "positions": toy_positions(model_id)}
    except HeadworkError:
        return  # stays as typed, and the page says what is wrong with it
    st.session_state["model"] = "toy"
    for name, value in settings.items():
        st.session_state[f"toy_{name}"] = value


def _toy() -> None:
    for column, name in zip([*st.columns(2), *st.columns(2)], TOY_DEFAULTS, strict=True):
        least, most = TOY_BOUNDS[name]
        st.session_state.setdefault(f"toy_{name}", TOY_DEFAULTS[name])
        column.number_input(_(TOY_NAMES[name]), least, most, key=f"toy_{name}", persist_state="session")
    st.selectbox(
        _("Positions"),
        TOY_POSITIONS,
        key="toy_positions",
        format_func=_toy_way,
        persist_state="session",
        width="stretch",
    )


def _toy_way(way: str) -> str:
    return {"sinusoidal": _("sinusoidal"), "rotary": _("rotary (RoPE)"), "alibi": _("ALiBi"), "none": _("none")}.get(
        way, way
    )


def _pick(label: str, name: str, n: int, first: int, menu: bool) -> int:
    """One of 1…n, in the link under `name`; `first` at first. A smaller model shows its last, a larger one it again."""
    # Each kind of widget has a key of its own: under one key the browser hands a slider the buttons' value, and None.
    wish, key = f"{name}_wish", name + ("_menu" if menu else "_slider" if n > SEGMENTS else "")
    asked = st.session_state.get("wanted", {}).pop(name, None)  # by an example, or a click on a picture
    if asked is not None:
        st.session_state[wish] = asked
    elif wish not in st.session_state:
        st.session_state[wish] = links.read(name, lambda text: _one_of_first(text, n), first, key=wish)
    shown = min(max(st.session_state[wish], 1), n)
    if _is_new_page.get() or st.session_state.get(key) != shown:
        st.session_state[key] = shown

    def choose() -> None:
        st.session_state[wish] = st.session_state[key]

    widget: dict[str, Any] = {"key": key, "on_change": choose, "persist_state": "session"}
    numbers = list(range(1, n + 1))
    if menu:
        st.selectbox(label, numbers, width=80, **widget)
    elif n > SEGMENTS:
        st.slider(label, 1, n, **widget)
    else:
        st.segmented_control(label, numbers, required=True, wrap=True, **widget)
    links.write(name, str(shown), str(min(first, n)))
    return shown


def _one_of_first(text: str, n: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= n):
        raise HeadworkError("{value} is not one of {options}.", value=text, options=f"1…{n}")
    return int(text)
