"""The mask in the sidebar, and how masks are called on screen.

Each model opens under the mask that it was trained under, its own: an encoder sees both ways, a decoder what came
before. The link keeps another one as `mask=`. A model that is chosen in place of another brings its own mask along,
unless the mask was another than the last model's own.
"""

from dataclasses import replace

import streamlit as st

from analysis.maps.mask_runs import without_padding
from model import Mask, parse_mask
from ui.frame import links
from ui.frame.languages import _

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

OWN = "mask_own"  # session state: the own mask of the model that the choice was made for
KEYS = ("mask_base", "mask_pads", *(f"mask_{name}" for name in NUMBER_BOUNDS))  # session state


def begin(own: Mask) -> None:
    """Reads the link at a session's first run, follows the model, and lets the link say what is chosen now.

    Args:
        own: what the model of the sidebar was trained under.
    """
    before = st.session_state.get(OWN, str(own))
    if "mask_base" not in st.session_state:
        unfold(links.read("mask", parse_mask, own, key="mask_base"))
    elif before != str(own) and str(without_padding(now())) == before:
        unfold(replace(own, padded_length=now().padded_length))
    st.session_state[OWN] = before  # until `followed`
    links.write("mask", str(now()), str(own))


def followed(own: Mask) -> None:
    """At the end of a run: the choice is now made for this model.

    Not at its beginning: when somebody types before the run is over, the next one comes with the menus as the browser
    last had them, and the mask has to follow once more.
    """
    st.session_state[OWN] = str(own)


def now() -> Mask:
    """The mask that is chosen."""
    base, linked = st.session_state["mask_base"], _linked()
    if base == FROM_LINK and linked.padded_length is not None:  # a length that the field doesn't take
        return linked
    chosen = Mask.causal() if base.startswith("causal") else Mask.bidirectional()
    if base.endswith("window"):
        chosen &= Mask.window(_number("window"))
    if base == FROM_LINK:
        chosen = linked
    if base == "prefix":
        chosen &= Mask.prefix(_number("prefix"))
    return chosen & Mask.padding(_number("padding")) if st.session_state.get("mask_pads") else chosen


def draw() -> None:
    """The menu, and the fields of what it says."""
    names = {base: _(name) for base, name in BASES.items()}
    if "mask_link" in st.session_state:
        names[FROM_LINK] = _("from the link: {mask}").format(mask=short(str(_linked())))
    base = st.selectbox(
        _("Mask"),
        list(names),
        key="mask_base",
        format_func=lambda base: names.get(base, base),
        help=_("What a query may look at. Padding fills the sentence up to a length and hides the filling."),
        persist_state="session",
    )
    if base == FROM_LINK and _linked().padded_length is not None:
        return
    if base.endswith("window"):
        _field("window", _("Tokens to each side"))
    if base == "prefix":
        _field("prefix", _("Tokens in the prefix"))
    if st.toggle(_("Pad the sentence"), key="mask_pads", persist_state="session"):
        _field("padding", _("Length with padding"))


def unfold(mask: Mask) -> None:
    """Sets the widgets to a mask. One that they can't express becomes an entry of its own in the menu."""
    st.session_state.pop("mask_link", None)
    st.session_state.pop(OWN, None)  # it stays, also where another model comes with it
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


def name(mask: Mask) -> str:
    """A mask in a word or two: "causal", "window 2"."""
    parts = [_("causal")] if mask.is_causal else []
    if mask.window_size is not None:
        parts.append(_("window {n}").format(n=mask.window_size))
    if mask.prefix_length is not None:
        parts.append(_("prefix {n}").format(n=mask.prefix_length))
    if mask.custom is not None:
        parts.append(_("drawn"))
    if mask.padded_length is not None:
        parts.append(_("padding"))
    return " + ".join(parts) or _("bidirectional")


def spelled(mask: Mask | str) -> str:
    """A mask as links spell it, its words in the language of the session: "causal+padding:8"."""
    parts = (part.partition(":") for part in str(mask).split("+"))
    return "+".join(f"{_(word)}{colon}{number}" for word, colon, number in parts)


def short(spelled: str) -> str:
    """A mask's spelling for a menu: a drawn one can have hundreds of digits."""
    return spelled if len(spelled) <= LONGEST_SPELLING else spelled[: LONGEST_SPELLING - 1] + "…"


def _linked() -> Mask:
    return parse_mask(st.session_state.get("mask_link", "bidirectional"))


def _number(name: str) -> int:
    return int(st.session_state.get(f"mask_{name}", NUMBER_BOUNDS[name][2]))


def _field(name: str, label: str) -> None:
    least, most, first = NUMBER_BOUNDS[name]
    st.session_state.setdefault(f"mask_{name}", first)
    st.number_input(label, least, most, key=f"mask_{name}", persist_state="session")
