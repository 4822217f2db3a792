"""The one place that tells what a model can't read of a text, and offers the model that can."""

import streamlit as st

from model import AttentionTrace
from model.catalogue import local_folder, reader_of_chinese
from model.entry import Entry
from model.tokenizers.tokenizer_json import is_han
from ui.frame.captions import caution
from ui.frame.downloads import megabytes
from ui.frame.languages import _, _n, plain

# From this share of a text's pieces on, the map is about nothing. In 200 Chinese sentences (UD GSDSimp dev) all-MiniLM
# can't read 25 % to 88 % of the pieces, median 62 %; in 869 English ones (EWT, GUM dev) 0 %.
# tests/ui/frame/test_unread.py
UNREADABLE = 0.25
LATIN = 0x24F  # the last code point of Latin Extended-B


def unread(trace: AttentionTrace, *, offers: bool = True) -> None:
    """Says how many tokens are [UNK]; from `UNREADABLE` on, offers a model that reads the text with one click.

    Args:
        trace: of the text.
        offers: False for a trace that isn't the sidebar's sentence and model: one click couldn't mend it.
    """
    n = trace.tokenized.n_unknown
    if not n:
        return
    said = _n(
        "{n} of {total} tokens is [UNK]: a piece of text that {model} can't read.",
        "{n} of {total} tokens are [UNK]: pieces of text that {model} can't read.",
        n,
    )
    total = trace.n_tokens - sum(trace.tokenized.is_padding)
    said = said.format(n=n, total=total, model=_(trace.model_label))
    if not offers or (entry := _reader(trace)) is None:
        caution(said)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="unread"):
        caution(said)
        st.button(plain(_offer(entry)), key="read_with", type="primary", on_click=_read_with, args=(entry.id,))


def _reader(trace: AttentionTrace) -> Entry | None:
    """The model to offer for this text; None where it isn't needed, or none that this server offers reads it."""
    tokens = trace.tokenized
    if tokens.n_unknown < UNREADABLE * sum(not special for special in tokens.is_special):
        return None
    entry = reader_of_chinese()
    if entry is None or entry.id == trace.model_id:
        return None
    is_multilingual = "mul" in entry.languages
    reads = any(is_han(c) or (is_multilingual and c.isalpha() and ord(c) > LATIN) for c in trace.text)
    return entry if reads else None  # a text of emoji is no better off with another model


def _offer(entry: Entry) -> str:
    said = _("Read it with {model}").format(model=_(entry.label))
    if entry.source == "hub" and entry.download_bytes and local_folder(entry) is None:
        said += " " + _("({size} to download)").format(size=megabytes(entry.download_bytes))
    return said


def _read_with(model_id: str) -> None:
    st.session_state["model"] = model_id
    st.session_state["model_by_hand"] = False  # it came with this text; the next example may bring another
