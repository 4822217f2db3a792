"""Which mask the sidebar's mask is compared with. The link keeps it as `with=`."""

from dataclasses import replace

import streamlit as st

from model import AttentionTrace, HeadworkError, Mask, parse_mask
from ui.frame import links
from ui.frame.choose import translated
from ui.frame.languages import _
from ui.frame.loading import load_model
from ui.frame.mask_choice import NUMBER_BOUNDS, fits, name
from ui.masks import grid

KINDS = {
    "causal": "causal",
    "bidirectional": "bidirectional",
    "window": "window",
    "prefix": "prefix",
    "drawn": "drawn",
}
SIZED = ("window", "prefix")  # with a number, in the bounds that the sidebar has
FROM_LINK = "link"  # a mask of a link that these choices can't express; session state "with_link" spells it
DEFAULT = "with_default"  # session state: the spelling of what is compared with unless a person or link says otherwise


def make(kind: str, size: int, n_tokens: int) -> Mask:
    """A mask from its kind, its number and the number of tokens.

    Raises:
        HeadworkError: a sentence too long to draw for.
    """
    if kind == "drawn":
        if n_tokens > grid.MOST_DRAWN:
            raise too_long(n_tokens)
        return grid.drawn(n_tokens)
    if kind == FROM_LINK:
        return parse_mask(st.session_state["with_link"])
    if kind == "window":
        return Mask.window(size)
    if kind == "prefix":
        return Mask.prefix(size)
    return Mask(is_causal=kind == "causal")


def too_long(n_tokens: int) -> HeadworkError:
    """The error for a sentence that no mask can be drawn for."""
    return HeadworkError(
        "A mask can be drawn for up to {most} tokens; this sentence has {n}. Shorten it, or choose another mask.",
        most=grid.MOST_DRAWN,
        n=n_tokens,
    )


def query_row(trace: AttentionTrace, key: str) -> int:
    """One token as the query whose row is looked at; the middle one at first."""
    tokens = trace.tokens
    chosen = st.selectbox(
        _("Query (row)"),
        range(len(tokens)),
        index=len(tokens) // 2,
        format_func=lambda i: f"{i + 1}: {tokens[i]}",
        key=key,
        width=170,
    )
    return int(chosen or 0)


def second_mask(first: AttentionTrace) -> Mask:
    """Draws the choice of the mask to compare with. A sentence padded by the first mask is padded by the second too."""
    other = _other(first)
    before = st.session_state.get(DEFAULT)
    if "with_kind" not in st.session_state:
        _unfold(links.read("with", parse_mask, other, key="with_kind"))
    elif before is not None and before != str(other) and st.session_state["with_kind"] == before:
        _unfold(other)  # it came with the model before
    st.session_state[DEFAULT] = str(other)
    st.markdown(_("Compare **{mask}** with").format(mask=name(first.mask)), width="content")
    names = translated(KINDS)
    if "with_link" in st.session_state:
        names[FROM_LINK] = _("from the link: {mask}").format(mask=name(parse_mask(st.session_state["with_link"])))
    kind = st.selectbox(
        _("Compare with"),
        list(names),
        key="with_kind",
        format_func=lambda kind: names.get(kind, kind),
        on_change=lambda: st.session_state.update(shown_kind=st.session_state["with_kind"]),
        persist_state="session",
        label_visibility="collapsed",
        width=170,
    )
    size = _size(kind) if kind in SIZED else 0
    chosen = make(kind, size, first.n_tokens)
    links.write("with", str(chosen), str(other))
    padded = first.mask.padded_length
    return chosen if padded is None else chosen & Mask.padding(padded)


def _other(first: AttentionTrace) -> Mask:
    """What a model is compared under at first: a decoder as if it saw both ways, others as if they were decoders."""
    own = load_model(first.model_id).default_mask
    return Mask.bidirectional() if own.hides_later_tokens else Mask.causal()


def use(mask: Mask) -> None:
    """Makes `mask` the one to compare with; for a button's `on_click`."""
    _unfold(mask)


def _size(kind: str) -> int:
    key = f"with_{kind}"
    least, most, first = NUMBER_BOUNDS[kind]
    st.session_state.setdefault(key, first)
    label = _("Tokens to each side") if kind == "window" else _("Tokens in the prefix")
    shown = st.number_input(
        label, least, most, key=key, persist_state="session", label_visibility="collapsed", width=110
    )
    st.markdown(label.lower(), width="content")
    return int(shown)


def _unfold(mask: Mask) -> None:
    """Sets the widgets to a mask. One that they can't express becomes an entry of its own in the menu.

    Its padding is left out: both sentences are padded as the sidebar's mask says.
    """
    mask = replace(mask, padded_length=None)
    sizes = {"window": mask.window_size, "prefix": mask.prefix_length}
    simple = {str(Mask.bidirectional()): "bidirectional", str(Mask.causal()): "causal"}
    simple |= {f"{kind}:{size}": kind for kind, size in sizes.items() if size is not None and fits(kind, size)}
    if mask.custom is not None and mask == Mask.matrix(mask.custom):
        kind = "drawn"
        grid.put(mask)
    elif (kind := simple.get(str(mask), FROM_LINK)) == FROM_LINK:
        st.session_state["with_link"] = str(mask)
    elif kind in SIZED:
        st.session_state[f"with_{kind}"] = sizes[kind]
    st.session_state["with_kind"] = kind
