"""The controls in the sidebar that all pages share (sentence, model, mask), and the choice of a layer and a head."""

from contextlib import suppress
from dataclasses import dataclass, replace

import streamlit as st

from model import AttentionTrace, HeadworkError, Mask, parse_mask
from model.catalogue import (
    DEFAULT_MODEL,
    allowed_ids,
    default_id,
    entries,
    resolve,
)
from model.tokenizers.tokens import MAX_CHARACTERS
from model.weights.toy import TOY_BOUNDS, TOY_DEFAULTS, toy_id, toy_sizes
from model.weights.trained import PREFIX
from ui.frame import examples, links
from ui.frame.languages import _, spoken_names

MOST_CHARACTERS = 5 * MAX_CHARACTERS  # the browser drops longer pastes without a word; the model cuts, and says so
TOY_NAMES = {"d_model": "d_model", "heads": "heads", "layers": "layers", "seed": "seed"}
BASES = {
    "bidirectional": "bidirectional: every token",
    "causal": "causal: itself and before",
    "window": "window: nearby tokens",
    "causal+window": "causal window: just before",
    "prefix": "prefix: all see the start",
}
FROM_LINK = "link"  # the mask of a link that these choices can't express; session state "mask_link" spells it
LONGEST_SPELLING = 40  # characters of a mask in a menu
NUMBER_BOUNDS = {"window": (0, 511, 2), "prefix": (0, 512, 4), "padding": (1, 512, 16)}  # least, most, at first
TRAINED = "trained_models"  # session state: id → name of the models that were trained or opened in this session
SEGMENTS = 16  # more choices than this go on a slider


@dataclass(frozen=True)
class Choice:
    """What the sidebar says."""

    text: str
    model_id: str
    mask: Mask


def sidebar() -> None:
    """Draws the shared controls and keeps what they say for `sentence`, `model` and `mask`."""
    if "text" not in st.session_state:
        examples.opening()
    st.session_state["choice"] = Choice(_sentence(), _model(), _mask())


def sentence() -> str:
    """The text in the sidebar."""
    return _choice().text


def model() -> str:
    """The canonical id of the chosen model.

    Raises:
        HeadworkError: what was typed names no model that this server offers.
    """
    return resolve(_choice().model_id).id


def mask() -> Mask:
    """The mask in the sidebar."""
    return _choice().mask


def take(text: str, model_id: str, mask: Mask) -> None:
    """Lets the sidebar say these from the next run on. Only from a callback, before its widgets are drawn."""
    st.session_state["text"], st.session_state["model"] = text, model_id
    st.session_state["model_by_hand"] = True
    st.session_state.pop("mask_link", None)
    _unfold_mask(mask)


def layer_head(trace: AttentionTrace) -> tuple[int, int]:
    """The chosen layer and head, as indices from 0. What a smaller model doesn't have becomes its last."""
    first_layer, first_head = examples.examples()[0].heads[DEFAULT_MODEL]
    layer = _pick(_("Layer"), "layer", trace.n_layers, first_layer)
    head = _pick(_("Head"), "head", trace.n_heads, first_head)
    return layer - 1, head - 1


def _choice() -> Choice:
    choice: Choice = st.session_state["choice"]
    return choice


def _sentence() -> str:
    first = examples.examples()[0].text
    if "text" not in st.session_state:
        st.session_state["text"] = links.read("text", str, first)
    text = st.text_area(
        _("Sentence"),
        key="text",
        height=96,
        max_chars=MOST_CHARACTERS,
        help=_("Type or paste any text. Ctrl+Enter, or a click elsewhere, draws it."),
    )
    if len(text) > links.LONGEST_TEXT:
        said = _("Longer than {n:,} characters: the link leaves this text out, and a reload loses it.")
        st.caption(said.format(n=links.LONGEST_TEXT))
    examples.menu()
    links.write("text", text, first)
    return text


def _model() -> str:
    names = {entry.id: entry.label for entry in entries()} | st.session_state.get(TRAINED, {})
    labels = {model_id: _(name) for model_id, name in names.items()}
    if "model" not in st.session_state:
        st.session_state["model"] = links.read("model", _named_in_link, default_id())
        in_link = "model" in st.query_params
        st.session_state["model_by_hand"] = in_link and not examples.brings(
            st.query_params.get("text"), st.session_state["model"]
        )
        _unfold_toy()
    elif (said := spoken_names(names).get(st.session_state["model"])) is not None:
        st.session_state["model"] = said
    asked = str(st.session_state["model"])
    if asked.startswith(PREFIX) and asked not in labels:  # of another session on this server
        with suppress(HeadworkError):
            labels[asked] = resolve(asked).label
    chosen = st.selectbox(
        _("Model"),
        list(dict.fromkeys([*labels, st.session_state["model"] or default_id()])),  # what was typed stays in the list
        key="model",
        format_func=lambda model_id: labels.get(model_id, model_id),
        on_change=_chose_model,
        accept_new_options=allowed_ids() is None,
        help=None
        if allowed_ids()
        else _("Or type the name of a model on the Hugging Face hub (owner/name), or a folder with one."),
    )
    examples.told(labels)
    model_id = _toy() if chosen == "toy" else str(chosen or default_id())
    links.write("model", model_id, default_id())
    return model_id


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
        sizes = toy_sizes(model_id)
    except HeadworkError:
        return  # stays as typed, and the page says what is wrong with it
    st.session_state["model"] = "toy"
    for name, value in sizes.items():
        st.session_state[f"toy_{name}"] = value


def _toy() -> str:
    sizes = {}
    for column, name in zip([*st.columns(2), *st.columns(2)], TOY_DEFAULTS, strict=True):
        least, most = TOY_BOUNDS[name]
        st.session_state.setdefault(f"toy_{name}", TOY_DEFAULTS[name])
        sizes[name] = int(
            column.number_input(_(TOY_NAMES[name]), least, most, key=f"toy_{name}", persist_state="session")
        )
    return toy_id(**sizes)


def _mask() -> Mask:
    if "mask_base" not in st.session_state:
        _unfold_mask(links.read("mask", parse_mask, Mask.bidirectional()))
    names = {base: _(name) for base, name in BASES.items()}
    linked = parse_mask(st.session_state.get("mask_link", "bidirectional"))
    if "mask_link" in st.session_state:
        names[FROM_LINK] = _("from the link: {mask}").format(mask=short(str(linked)))
    base = st.selectbox(
        _("Mask"),
        list(names),
        key="mask_base",
        format_func=lambda base: names.get(base, base),
        help=_("What a query may look at. Padding fills the sentence up to a length and hides the filling."),
    )
    if base == FROM_LINK and linked.padded_length is not None:  # a length that the field below doesn't take
        links.write("mask", str(linked), str(Mask.bidirectional()))
        return linked
    chosen = Mask.causal() if base.startswith("causal") else Mask.bidirectional()
    if base.endswith("window"):
        chosen &= Mask.window(_number("window", _("Tokens to each side")))
    if base == FROM_LINK:
        chosen = linked
    if base == "prefix":
        chosen &= Mask.prefix(_number("prefix", _("Tokens in the prefix")))
    if st.toggle(_("Pad the sentence"), key="mask_pads"):
        chosen &= Mask.padding(_number("padding", _("Length with padding")))
    links.write("mask", str(chosen), str(Mask.bidirectional()))
    return chosen


def _unfold_mask(mask: Mask) -> None:
    """Sets the widgets to a mask from a link. One that they can't express becomes an entry of its own in the menu."""
    if fits("padding", mask.padded_length):
        st.session_state["mask_pads"] = mask.padded_length is not None
        if mask.padded_length is not None:
            st.session_state["mask_padding"] = mask.padded_length
        mask = replace(mask, padded_length=None)
    sizes = {"window": mask.window_size, "prefix": mask.prefix_length}
    named = [name for name, size in sizes.items() if size is not None]
    base = "+".join((["causal"] if mask.is_causal else []) + named) or "bidirectional"
    is_plain = (
        all(fits(name, size) for name, size in sizes.items()) and mask.padded_length is None and mask.custom is None
    )
    if base not in BASES or not is_plain:
        st.session_state["mask_base"] = FROM_LINK
        st.session_state["mask_link"] = str(mask)
        return
    st.session_state["mask_base"] = base
    for name in named:
        st.session_state[f"mask_{name}"] = sizes[name]


def fits(name: str, size: int | None) -> bool:
    """Whether the field for the number of such a mask takes this one; there is nothing to take when it is None."""
    least, most, _first = NUMBER_BOUNDS[name]
    return size is None or least <= size <= most


def short(spelled: str) -> str:
    """A mask's spelling for a menu: a drawn one can have hundreds of digits."""
    return spelled if len(spelled) <= LONGEST_SPELLING else spelled[: LONGEST_SPELLING - 1] + "…"


def _number(name: str, label: str) -> int:
    least, most, first = NUMBER_BOUNDS[name]
    st.session_state.setdefault(f"mask_{name}", first)
    return int(st.number_input(label, least, most, key=f"mask_{name}", persist_state="session"))


def _pick(label: str, key: str, n: int, first: int) -> int:
    """One of 1…n, kept in the link under `key`; `first` at first. What an example asks for goes before."""
    now = st.session_state.get(key)
    wish, shown = st.session_state.get(f"{key}_wish", (None, None))
    if now is not None and now != shown:
        wish = now  # chosen by hand, or in the link; a smaller model shows its last, and a larger one this again
    wish = st.session_state.get("wanted", {}).pop(key, wish)
    if wish is not None and (fitting := min(max(wish, 1), n)) != now:
        st.session_state[key] = fitting
        default = None  # Streamlit warns when a widget has both a default and a value
    else:
        default = min(first, n)
    if n > SEGMENTS:
        picked = int(st.slider(label, 1, n, default, key=key, bind="query-params"))
    else:
        segments = list(range(1, n + 1))
        chosen = st.segmented_control(
            label, segments, default=default, required=True, key=key, bind="query-params", wrap=True
        )
        picked = int(chosen or 1)
    st.session_state[f"{key}_wish"] = (picked if wish is None else wish, picked)
    return picked
