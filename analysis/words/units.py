"""From pieces to words: which pieces make a unit, and the maps between units.

A unit is one row and one column of a map: a piece of the vocabulary, or a word. Weight to a word is the sum over its
pieces, weight from a word the mean over its pieces (Clark et al. 2019, section 4.1), so rows still sum to 1. Special
tokens are units of their own, and so is a piece without characters, the bare ▁ before Chinese text.
Shape letters: see model.attention; U units.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.words.chinese import SPACES
from analysis.words.spans import By, Span, deal_out, in_common, is_bare, segmenter_spans, space_spans
from model import AttentionTrace, HeadworkError, Tokens
from model.tokenizers.tokens import SPACE, visible
from model.trace import HeadMaps

Kind = Literal["word", "punctuation", "start", "separator", "padding", "special"]
Level = Literal["pieces", "words"]

START = frozenset({"[CLS]", "<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>"})
SEPARATOR = frozenset({"[SEP]", "</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"})
CONTENT: frozenset[Kind] = frozenset({"word", "punctuation"})


@dataclass(frozen=True)
class Units:
    """The rows and columns of a map, each with the pieces it is made of.

    Attributes:
        labels: what axes show; not unique.
        kinds: "word" and "punctuation" are content; the others are special tokens, "start" being [CLS] and its like,
            or whichever special token stands first (OPT's </s>), and "separator" [SEP] and its like. Between words a
            bare ▁ (`word_spans.is_bare`) is "special" too.
        pieces: the indices of each unit's pieces among the N tokens.
        word_ids: index of the word in `Tokens.words`, or of the span that was given; None for special tokens and for
            text outside every span.
        segmenter: who parted words other than the tokenizer: "jieba", "spaces" (the person's), both or none.
    """

    labels: tuple[str, ...]
    kinds: tuple[Kind, ...]
    pieces: tuple[tuple[int, ...], ...]
    word_ids: tuple[int | None, ...]
    level: Level
    segmenter: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_special(self) -> NDArray[np.bool_]:
        """(U,), True for [CLS], [SEP], [PAD] and their like."""
        return np.array([kind not in CONTENT for kind in self.kinds], dtype=bool)

    def of_kind(self, kind: Kind) -> NDArray[np.bool_]:
        """(U,), True for units of one kind."""
        return np.array([each == kind for each in self.kinds], dtype=bool)

    def unit_of_word(self) -> dict[int, int]:
        """Word index → unit index. A word that shares its only piece with another word, or was cut off, is missing."""
        return {word: unit for unit, word in enumerate(self.word_ids) if word is not None}


@dataclass(frozen=True, eq=False)
class UnitTrace(HeadMaps):
    """Every head's map between units. In cross-attention the columns are another text's; then (U, U) reads (U_q, U_k).

    Attributes:
        units: the rows; in self-attention the columns too.
        attention: (L, h, U, U), [layer, head, query, key].
        allowed: (U, U), or (L, U, U) where layers have masks of their own; True = some piece of the query may attend
            to some piece of the key.
        is_complete: False once columns with weight were dropped: rows then sum to less than 1.
        context: the columns, in cross-attention; None in self-attention.
    """

    units: Units
    attention: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    is_complete: bool = True
    context: Units | None = None

    @property
    def key_units(self) -> Units:
        """The columns."""
        return self.units if self.context is None else self.context

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the rows."""
        return self.units.labels

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return self.key_units.labels

    @property
    def is_special(self) -> NDArray[np.bool_]:
        """(U,), of the rows."""
        return self.units.is_special

    def rows_with(self, least: int) -> NDArray[np.bool_]:
        """(U,), True for queries that may attend to so many keys at least, in every layer."""
        return np.asarray((self.allowed.sum(axis=-1) >= least).reshape(-1, len(self.units)).all(axis=0))


def by_pieces(trace: AttentionTrace) -> UnitTrace:
    """The trace as it is: every piece a unit. Nothing is copied."""
    context = None if trace.context is None else piece_units(trace.context)
    return UnitTrace(piece_units(trace.tokenized), trace.attention, trace.allowed, context=context)


def by_words(trace: AttentionTrace, by: By | Sequence[Span] = "segmenter") -> UnitTrace:
    """The trace between words.

    Args:
        trace: the maps between pieces.
        by: whose words: "segmenter", Chinese ones by jieba or the person's spaces (`words.chinese.part`) and all
            others as the tokenizer has them; "tokenizer"; "spaces", whatever stands between spaces; or spans of the
            queries' text.

    Raises:
        NoSegmenter: there is Chinese to part, and no segmenter installed.
    """
    units = word_units(trace.tokenized, by)
    context = None if trace.context is None else word_units(trace.context, by if isinstance(by, str) else "segmenter")
    return UnitTrace(
        units,
        aggregate(trace.attention, trace.allowed, units, context),
        aggregate_allowed(trace.allowed, units.pieces, None if context is None else context.pieces),
        context=context,
    )


def piece_units(tokens: Tokens) -> Units:
    """Every piece a unit."""
    return Units(
        labels=tokens.labels,
        kinds=tuple(_kind(tokens, (i,)) for i in range(len(tokens))),
        pieces=tuple((i,) for i in range(len(tokens))),
        word_ids=tokens.word_ids,
        level="pieces",
    )


def word_units(tokens: Tokens, by: By | Sequence[Span] = "segmenter") -> Units:
    """The pieces dealt out to words, in the order of each word's first piece. Arguments as in `by_words`.

    A piece goes to the span that holds most of its characters, the earlier one in a tie; a piece outside every span or
    without characters is a unit of its own. So every piece is in exactly one unit. A Chinese word without a piece left
    is named in the label of the unit that has its piece: 因为他.
    """
    if isinstance(by, str) and by not in ("tokenizer", "spaces", "segmenter"):
        raise HeadworkError("Words come from the tokenizer, a segmenter or spaces, not from {by}.", by=by)
    segmenter: tuple[str, ...] = (SPACES,) if by == "spaces" else ()
    spans = by if not isinstance(by, str) else space_spans(tokens.text) if by == "spaces" else None
    if by == "segmenter":
        found, segmenter = segmenter_spans(tokens)
        spans = found if segmenter else None
    bare = [is_bare(tokens, piece) for piece in range(len(tokens))]
    if spans is None:
        ids = tuple(None if bare[piece] else word for piece, word in enumerate(tokens.word_ids))
    else:
        ids = deal_out(tokens, spans)

    members: dict[tuple[str, int], list[int]] = {}
    for piece, word in enumerate(ids):
        members.setdefault(("piece", piece) if word is None else ("word", word), []).append(piece)
    shown = spans if spans is None or by != "segmenter" else _with_words_left_out(tokens, spans, ids)
    labels = []
    for (what, number), pieces in members.items():
        if what == "piece":
            labels.append(tokens.labels[number])
        elif shown is None:
            text = tokens.words[number]
            labels.append(tokens.labels[pieces[0]] if text == SPACE else visible(text))
        else:
            labels.append(visible(tokens.text[slice(*shown[number])].strip() or tokens.labels[pieces[0]]))
    return Units(
        labels=tuple(labels),
        kinds=tuple("special" if bare[pieces[0]] else _kind(tokens, pieces) for pieces in members.values()),
        pieces=tuple(tuple(pieces) for pieces in members.values()),
        word_ids=tuple(number if what == "word" else None for what, number in members),
        level="words",
        segmenter=segmenter,
    )


def aggregate(
    maps: NDArray[np.floating], allowed: NDArray[np.bool_], units: Units, context: Units | None = None
) -> NDArray[np.float32]:
    """Maps between pieces → maps between units: sum over the key's pieces, mean over the query's.

    Pieces that may attend to nothing don't take part in the mean, so that a unit's row sums to 1 if any of its pieces'
    rows does.

    Args:
        maps: (…, N, N); (L, h, N, N) with masks per layer.
        allowed: (N, N) or (L, N, N), between pieces.
        units: made from the same tokens.
        context: the columns, made from the other text's tokens; None = `units`.

    Returns:
        (…, U, U) float32; `maps` itself where every piece is a unit.
    """
    columns = units if context is None else context
    if (len(units), len(columns)) == maps.shape[-2:]:
        return maps.astype(np.float32, copy=False)
    order, starts = _layout(units.pieces)
    key_order, key_starts = _layout(columns.pieces)
    rows = np.asarray(allowed.any(axis=-1))[..., order]  # (N,) or (L, N)
    share = 1 / np.maximum(np.add.reduceat(rows.astype(np.float32), starts, axis=-1), 1)  # (U,) or (L, U)
    share = share[..., None] if share.ndim == 1 else share[:, None, :, None]
    keys = np.add.reduceat(maps[..., key_order], key_starts, axis=-1)  # (…, N, U)
    queries = np.add.reduceat(keys[..., order, :], starts, axis=-2)  # (…, U, U)
    return (queries * share).astype(np.float32, copy=False)


def aggregate_allowed(
    allowed: NDArray[np.bool_], pieces: Sequence[Sequence[int]], key_pieces: Sequence[Sequence[int]] | None = None
) -> NDArray[np.bool_]:
    """(…, N, N) → (…, U, U): a cell is allowed if any pair of pieces is. `key_pieces` where the columns differ."""
    order, starts = _layout(pieces)
    key_order, key_starts = _layout(key_pieces or pieces)
    keys = np.logical_or.reduceat(allowed[..., key_order], key_starts, axis=-1)  # (…, N, U)
    return np.asarray(np.logical_or.reduceat(keys[..., order, :], starts, axis=-2))  # (…, U, U)


def select(trace: UnitTrace, kept: NDArray[np.bool_], kept_keys: NDArray[np.bool_] | None = None) -> UnitTrace:
    """The trace with only the rows and columns where `kept` (U,) is True. Weights stay as they are.

    `kept_keys` (U_k,) says which columns stay where they differ from the rows.
    """
    kept_keys = kept if kept_keys is None else kept_keys
    if kept.all() and kept_keys.all():
        return trace
    rows, columns = np.flatnonzero(kept), np.flatnonzero(kept_keys)
    return UnitTrace(
        units=_some(trace.units, rows),
        attention=trace.attention[..., rows[:, None], columns],
        allowed=trace.allowed[..., rows[:, None], columns],
        is_complete=trace.is_complete and not trace.allowed[..., rows, :][..., ~kept_keys].any(),
        context=None if trace.context is None else _some(trace.context, columns),
    )


def _some(units: Units, index: NDArray[np.intp]) -> Units:
    """The units at `index`, in that order."""
    return replace(
        units,
        labels=tuple(units.labels[i] for i in index),
        kinds=tuple(units.kinds[i] for i in index),
        pieces=tuple(units.pieces[i] for i in index),
        word_ids=tuple(units.word_ids[i] for i in index),
    )


def drop_special(trace: UnitTrace) -> UnitTrace:
    """W: content only, not rescaled. A row sums to the weight that it leaves on content."""
    return select(trace, ~trace.is_special, ~trace.key_units.is_special)


def drop_padding(trace: UnitTrace) -> UnitTrace:
    """Without [PAD]. No row loses weight, since a padding mask blocks these columns."""
    return select(trace, ~trace.units.of_kind("padding"), ~trace.key_units.of_kind("padding"))


def others(content: NDArray[np.floating]) -> NDArray[np.float32]:
    """Wn from W: self set to 0 and rows rescaled to 1. A row with no weight on others is 0 throughout.

    Args:
        content: (…, U, U), rows and columns of the same content units.
    """
    size = content.shape[-1]
    return rescale(np.where(np.eye(size, dtype=bool), 0, content))


def rescale(maps: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows divided by their sum; a row that sums to 0 stays 0."""
    sums = maps.sum(axis=-1, keepdims=True, dtype=np.float64).astype(np.float32)
    return np.asarray(np.divide(maps, np.where(sums > 0, sums, 1), dtype=np.float32))


def is_punctuation(text: str) -> bool:
    """Whether a text is punctuation throughout, in Unicode's sense (categories P*): "$" and "=" are symbols."""
    return bool(text) and all(unicodedata.category(c).startswith("P") for c in text)


def _kind(tokens: Tokens, pieces: Sequence[int]) -> Kind:
    first = pieces[0]
    if tokens.is_padding[first]:
        return "padding"
    if tokens.is_special[first]:
        name = tokens.pieces[first]
        return "start" if name in START or first == 0 else "separator" if name in SEPARATOR else "special"
    text = "".join(tokens.text[slice(*tokens.spans[i])] for i in pieces)
    return "punctuation" if is_punctuation("".join(text.split())) else "word"


def _with_words_left_out(tokens: Tokens, spans: Sequence[Span], ids: Sequence[int | None]) -> list[Span]:
    """The spans, each widened to the words that have no piece but one of its own."""
    shown, touches = list(spans), in_common(tokens, spans) > 0
    for word in set(range(len(spans))).difference(each for each in ids if each is not None):
        owner = next(
            (ids[piece] for piece in np.flatnonzero(touches[:, word]).tolist() if ids[piece] is not None), None
        )
        if owner is not None:
            (first, last), (start, end) = shown[owner], spans[word]
            shown[owner] = min(first, start), max(last, end)
    return shown


def _layout(pieces: Sequence[Sequence[int]]) -> tuple[list[int] | slice, NDArray[np.intp]]:
    """Piece indices unit by unit, and where each unit starts in that order."""
    order = [i for each in pieces for i in each]
    counts = np.array([len(each) for each in pieces], dtype=np.intp)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
    # Words are almost always runs of pieces: then nothing has to be moved.
    return (slice(None) if order == list(range(len(order))) else order), starts
