"""A target as a decoder reads it: a start before its tokens, and no end after them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.tokenizers.tokens import Tokens

_ONE_EACH = ("pieces", "labels", "ids", "spans", "word_ids", "is_special", "is_padding", "segments", "token_types")


def started(id_: int, label: str, tokens: Tokens | None = None) -> Tokens:
    """The tokens after one more, which is special and of no text; None = that one alone.

    Args:
        id_: of the new token.
        label: likewise.
        tokens: of the text.
    """
    start = Tokens("", (label,), (label,), (id_,), ((0, 0),), (None,), (), (True,), (False,), (0,), (0,))
    if tokens is None:
        return start
    joined: dict[str, Any] = {name: getattr(start, name) + getattr(tokens, name) for name in _ONE_EACH}
    return replace(tokens, **joined)


def without(tokens: Tokens, place: int) -> Tokens:
    """The tokens but for a special one, counted from 0."""
    kept: dict[str, Any] = {}
    for name in _ONE_EACH:
        entries = getattr(tokens, name)
        kept[name] = entries[:place] + entries[place + 1 :]
    return replace(tokens, **kept)
