"""What a page says about Chinese words: who parted them, and which pronouns have no token of their own."""

from collections.abc import Callable, Sequence

import streamlit as st

from analysis.evidence.one_sentence import Link, WordMaps
from analysis.words import chinese
from analysis.words.shared_pieces import (
    SharedPiece,
    may_hold_pronouns,
    part_from_others,
    part_pronouns,
    pronouns_of,
    shared_pieces,
    shared_pronouns,
)
from model import AttentionTrace, Tokens
from ui.frame.captions import caution
from ui.frame.languages import _, _n, plain, words_of
from ui.frame.loading import load_model

MOST_NAMED = 3
PARTERS = {
    ("jieba",): "Chinese words by jieba.",
    ("spaces",): "Words by your spaces.",
    ("jieba", "spaces"): "Chinese words by your spaces and jieba.",
}


def get_ready(text: str) -> None:
    """Loads the segmenter behind a spinner, where the text needs it and nobody has loaded it yet.

    Raises:
        NoSegmenter: it is not installed.
    """
    if not chinese.is_ready() and chinese.has_chinese(text):
        with st.spinner(_("Loading the dictionary of Chinese words…")):
            chinese.load()


def who_parted(segmenter: tuple[str, ...]) -> str:
    """Whose words are shown; nothing where they are the tokenizer's."""
    return _(PARTERS[segmenter]) if segmenter in PARTERS else ""


def standing_together(tokens: Tokens) -> str:
    """Which words have one row and column between them, because one piece holds them."""
    names = list(dict.fromkeys(_together(tokens, shared) for shared in shared_pieces(tokens) if shared.left_out))
    if not names:
        return ""
    said = _n("One token holds several words: “{list}”.", "Some tokens hold several words: “{list}”.", len(names))
    return said.format(list=_listed(names))


def shares_piece(maps: WordMaps, link: Link) -> str:
    """Says that a linked word has its row and column with others. Of pronouns `pronouns_without_token` says so."""
    for word in (link.asking, link.wanted):
        for shared in maps.shared:
            if maps.spans[word] in shared.words and not chinese.is_pronoun(maps.words[word]):
                names = [maps.words[maps.spans.index(span)] for span in shared.words]
                said = _("“{words}” are read as one token “{piece}”: no weight tells them apart.")
                return said.format(words=_listed(names), piece=shared.text)
    return ""


def pronouns_without_token(trace: AttentionTrace, *, offers: bool = True) -> None:
    """Says which pronouns a longer piece holds, so that no row is theirs alone, and what parts them.

    Args:
        trace: of the text.
        offers: False for a trace that isn't of the sidebar's sentence: one click couldn't mend it.
    """
    tokens = trace.tokenized
    entry = load_model(trace.model_id).entry
    if not may_hold_pronouns(tokens) or entry.source == "trained here":
        return  # the words of a task are the task's own: they can't be parted
    try:
        get_ready(tokens.text)
        found = shared_pronouns(tokens)
    except chinese.NoSegmenter as error:
        caution(words_of(error))
        return
    if not found:
        return
    parted = part_from_others(_reader(trace.model_id), tokens.text, pronouns_of(tokens, found[0])[0])
    said = _without_row(tokens, found)
    if parted is None:
        caution(said + " " + _("Neither a space nor a comma beside it helps; other words around it may."))
        return
    start, end = tokens.spans[found[0].piece]
    helps = parted[start : end + len(parted) - len(tokens.text)]
    if not offers:
        caution(said + " " + _("Written “{text}”, it has one.").format(text=helps))
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="swallowed"):
        caution(said)
        label = _n("Write “{text}”", "Write “{text}” and so on", len(found)).format(text=helps)
        st.button(plain(label), key="part_pronouns", on_click=_part_in_sentence, args=(trace.model_id, tokens.text))


def _without_row(tokens: Tokens, found: Sequence[SharedPiece]) -> str:
    pronouns = [tokens.text[slice(*word)] for shared in found for word in pronouns_of(tokens, shared)]
    said = _n(
        "“{pronouns}” has no row of its own: the model reads “{pieces}” as one token.",
        "“{pronouns}” have no rows of their own: the model reads “{pieces}” as one token each.",
        len(pronouns),
    )
    pieces = dict.fromkeys(shared.text for shared in found)
    return said.format(pronouns=_listed(list(dict.fromkeys(pronouns))), pieces=_listed(list(pieces)))


def _part_in_sentence(model_id: str, text: str) -> None:
    st.session_state["text"] = part_pronouns(_reader(model_id), text)


def _reader(model_id: str) -> Callable[[str], Tokens]:
    """The tokenizer of a model."""
    loaded = load_model(model_id)
    return lambda text: loaded.tokenizer.encode(text, limit=loaded.token_limit)


def _together(tokens: Tokens, shared: SharedPiece) -> str:
    """The words of a piece, from the first one's start to the last one's end."""
    return tokens.text[min(start for start, _end in shared.words) : max(end for _start, end in shared.words)]


def _listed(names: Sequence[str]) -> str:
    return _("”, “").join(names[:MOST_NAMED]) + ("…" if len(names) > MOST_NAMED else "")
