"""One sentence and a link between two of its words: who points there. No percentages: one sentence proves nothing.

For one object arc 12 of MiniLM's 72 heads point at the right word on average, and nearly every sentence has some head
that gets every object right. So a link is told with how many heads find it, whether a fixed offset explains it, and
what the head did on a corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.evidence.arrows import Batch, EncodedText, heaviest, sharing, visible_words, word_maps, word_pieces
from analysis.evidence.corpora.annotated import Sentence, relation
from analysis.words.shared_pieces import SharedPiece, shared_pieces
from analysis.words.spans import Span, segmenter_spans
from model import AttentionTrace

NEAR = 5  # the widest fixed offset that a baseline may look at


@dataclass(frozen=True)
class Link:
    """One word that should look at another: both by index."""

    asking: int
    wanted: int
    relation: str


@dataclass(frozen=True, eq=False)
class WordMaps:
    """A sentence's maps between words, and where each word of it looks.

    Attributes:
        words: the W words.
        maps: (L, h, W, W), special tokens left out, nothing rescaled.
        allowed: (W, W).
        target: (W, L, h), the other word with most weight; −1 where there is none.
        pieces: the tokens of each word, for what needs tokens.
        spans: each word's characters in the text.
        segmenter: who parted Chinese words, of "jieba" and "spaces"; none where the words were given.
        shared: pieces that stand for several words.
    """

    words: tuple[str, ...]
    maps: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    target: NDArray[np.int64]
    pieces: tuple[tuple[int, ...], ...]
    spans: tuple[Span, ...] = ()
    segmenter: tuple[str, ...] = ()
    shared: tuple[SharedPiece, ...] = ()

    @property
    def unclear(self) -> NDArray[np.bool_]:
        """(W,), True for words that share a piece with another word or have none, see `arrows.EncodedText`."""
        return EncodedText((), self.pieces).unclear

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.maps.nbytes + self.target.nbytes

    def content(self) -> NDArray[np.float32]:
        """(L, h, W), the weight that each word leaves on words: how much the head is on."""
        return np.asarray(self.maps.sum(axis=-1))


def word_maps_of(
    trace: AttentionTrace, words: Sequence[str] = (), spans: Sequence[Span] = (), *, start: str = ""
) -> WordMaps:
    """Maps between words, by the rules of the scores.

    Args:
        trace: of the sentence.
        words: none = Chinese words by jieba or the person's spaces, all others as the tokenizer parts them.
        spans: the words' characters in `trace.text`.
        start: the mark that stands before the sentence in `trace.text`; words and spans are of the sentence alone.

    Raises:
        NoSegmenter: no words are given, there is Chinese, and no segmenter is installed.
    """
    tokens = trace.tokenized
    segmenter: tuple[str, ...] = ()
    if words:
        spans = [(first + len(start), last + len(start)) for first, last in spans]
    else:
        spans, segmenter = segmenter_spans(tokens)
        words = tuple(tokens.text[first:last] for first, last in spans)
    pieces = word_pieces(tokens, spans)
    members = Batch.of([EncodedText(tokens.ids, pieces)]).members  # (1, N, W)
    maps = word_maps(torch.tensor(trace.attention[:, None]), members)  # (1, W, L·h, W)
    allowed = visible_words(torch.tensor(trace.allowed), members)  # (1, W, W)
    target = heaviest(maps, allowed & ~sharing(members))[0].numpy()  # (W, L·h)
    shape = (trace.n_layers, trace.n_heads)
    return WordMaps(
        words=tuple(words),
        maps=maps[0].numpy().transpose(1, 0, 2).reshape(*shape, len(words), len(words)),
        allowed=allowed[0].numpy(),
        target=target.astype(np.int64).reshape(-1, *shape),
        pieces=pieces,
        segmenter=segmenter,
        shared=shared_pieces(tokens, spans),
        spans=tuple((first - len(start), last - len(start)) for first, last in spans),
    )


def pointing(maps: WordMaps, link: Link) -> NDArray[np.bool_]:
    """(L, h), True for heads whose heaviest arrow from `link.asking` goes to `link.wanted`."""
    return np.asarray(maps.target[link.asking] == link.wanted)


def offset_of(link: Link) -> int | None:
    """The fixed offset that would find the link too; None where it is too wide for a baseline."""
    offset = link.wanted - link.asking
    return offset if abs(offset) <= NEAR else None


def links_of(sentence: Sentence, direction: str = "dep>head") -> list[Link]:
    """The sentence's arcs as links, in the order of the dependents."""
    found = []
    for word, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True)):
        if head >= 0:
            pair = (word, head) if direction == "dep>head" else (head, word)
            found.append(Link(*pair, relation(deprel)))
    return found


def hits_and_misses(target: NDArray[np.int64], links: Sequence[Link]) -> list[tuple[int, int, bool]]:
    """A head's arrows from every word that one of `links` asks: (asking, where it looks, is right).

    Args:
        target: (W,), the head's arrows.
        links: what is right; of several from one word, any.
    """
    right: dict[int, set[int]] = {}
    for link in links:
        right.setdefault(link.asking, set()).add(link.wanted)
    return [(word, int(target[word]), int(target[word]) in wanted) for word, wanted in sorted(right.items())]
