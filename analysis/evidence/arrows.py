"""Where each word looks: the word that gets most of its weight, for every head, many sentences at once.

The maps of a batch become word-level maps by two matrix products, so that scoring costs little beside the forward pass.
The definitions are those of analysis.words.units: weight to a word is the sum over its pieces, weight from a word the
mean over its pieces, special tokens are left out and nothing is rescaled (Clark et al. 2019, section 4.1).
Shape letters: see model.attention; W words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from analysis.words.units import word_units
from model.tokenizers.tokens import Tokens

NOWHERE = -1


@dataclass(frozen=True)
class EncodedText:
    """One text ready for a batch.

    Attributes:
        ids: token ids (N).
        pieces: the tokens of each word; words that share their only piece both have it; () = no piece stands for it.
    """

    ids: tuple[int, ...]
    pieces: tuple[tuple[int, ...], ...]

    @property
    def unclear(self) -> NDArray[np.bool_]:
        """(W,), True for words that have a piece in common with another word, or none: their weight is not known."""
        times = Counter(piece for word in self.pieces for piece in word)
        return np.array([not word or max(times[piece] for piece in word) > 1 for word in self.pieces], dtype=bool)


def word_pieces(tokens: Tokens, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The pieces of each word, given its characters.

    A piece belongs to the word that holds most of its characters, the earlier in a tie (analysis.words.units). A word
    left with none shares the pieces that hold its characters: "cannot" is one piece, so "can" and "not" both have it.
    A piece without characters, the bare mark ▁ before Chinese text, is no part of a word (`word_spans.is_bare`).
    """
    units = word_units(tokens, spans)
    owned = {word: units.pieces[unit] for word, unit in units.unit_of_word().items()}
    out = []
    for word, (start, end) in enumerate(spans):
        pieces = owned.get(word, ())
        if not pieces:
            pieces = tuple(
                i
                for i, (first, last) in enumerate(tokens.spans)
                if not tokens.is_special[i] and first < end and start < last
            )
        out.append(pieces)
    return tuple(out)


@dataclass(frozen=True, eq=False)
class Batch:
    """Texts padded to one length.

    Attributes:
        ids: (B, N).
        is_padding: (B, N).
        members: (B, N, W) float, 1 where the piece belongs to the word.
    """

    ids: Tensor
    is_padding: Tensor
    members: Tensor

    @classmethod
    def of(cls, texts: Sequence[EncodedText]) -> Batch:
        """`texts`, padded to the longest."""
        n_tokens = max(len(text.ids) for text in texts)
        n_words = max(len(text.pieces) for text in texts)
        ids = np.zeros((len(texts), n_tokens), dtype=np.int64)
        is_padding = np.ones((len(texts), n_tokens), dtype=bool)
        members = np.zeros((len(texts), n_tokens, n_words), dtype=np.float32)
        for b, text in enumerate(texts):
            ids[b, : len(text.ids)] = text.ids
            is_padding[b, : len(text.ids)] = False
            for word, pieces in enumerate(text.pieces):
                members[b, list(pieces), word] = 1
        return cls(torch.from_numpy(ids), torch.from_numpy(is_padding), torch.from_numpy(members))


def word_maps(attention: Tensor, members: Tensor) -> Tensor:
    """Maps between pieces → maps between words.

    Args:
        attention: (L, B, h, N, N).
        members: (B, N, W), see Batch.

    Returns:
        (B, W, L·h, W): query word, head, key word.
    """
    n_layers, n_batch, n_heads, n_tokens, _ = attention.shape
    n_words = members.shape[-1]
    maps = attention.transpose(0, 1).reshape(n_batch, n_layers * n_heads * n_tokens, n_tokens)
    keys = torch.bmm(maps, members).view(n_batch, n_layers * n_heads, n_tokens, n_words)  # sum over the key's pieces
    keys = keys.transpose(1, 2).reshape(n_batch, n_tokens, -1)  # (B, N, L·h·W)
    share = members / members.sum(dim=1, keepdim=True).clamp(min=1)  # mean over the query's pieces
    return torch.bmm(share.transpose(1, 2), keys).view(n_batch, n_words, n_layers * n_heads, n_words)


def visible_words(allowed: Tensor, members: Tensor) -> Tensor:
    """(B, W, W), True = some piece of the query word may attend to some piece of the key word.

    Args:
        allowed: (B, 1, N, N) or (N, N), as Mask.allowed makes it.
        members: (B, N, W).
    """
    cells = allowed.squeeze(1) if allowed.dim() == 4 else allowed  # (B, N, N) or (N, N)
    return (members.transpose(1, 2) @ cells.to(members.dtype) @ members) > 0


def sharing(members: Tensor) -> Tensor:
    """(B, W, W), True = the two words have a piece in common, as every word has with itself."""
    return (members.transpose(1, 2) @ members) > 0


def heaviest(maps: Tensor, candidates: Tensor) -> Tensor:
    """The candidate with most weight for each query; the first of equals; NOWHERE without candidates.

    Args:
        maps: (B, W, L·h, W), or any (…, L·h, W).
        candidates: (B, W, W), or (…, W), True = may be chosen.

    Returns:
        (B, W, L·h) int16.
    """
    weights = maps.masked_fill(~candidates.unsqueeze(-2), -1.0)  # weights are never negative
    best = weights.argmax(dim=-1)  # the first maximum (torch.max)
    return best.masked_fill_(~candidates.any(dim=-1)[..., None], NOWHERE).to(torch.int16)


@dataclass(frozen=True, eq=False)
class Arrows:
    """Each word's heaviest other word, for every head, over a whole corpus. Nothing else of a map is kept.

    Attributes:
        starts: (S + 1,), where each sentence's words begin; T = starts[-1] words.
        target: (T, L, h) int16, index in the sentence; NOWHERE when the word may look at no other.
        visible: for each sentence (W, W), True = may be looked at and has a piece; None = everything.
        unclear: (T,), True = the word shares a piece with another or has none, see `EncodedText.unclear`.
    """

    starts: NDArray[np.int64]
    target: NDArray[np.int16]
    visible: tuple[NDArray[np.bool_] | None, ...]
    unclear: NDArray[np.bool_]

    @property
    def n_sentences(self) -> int:
        """S."""
        return len(self.starts) - 1

    def of_sentence(self, number: int) -> NDArray[np.int16]:
        """(W, L, h), the arrows of one sentence of the run."""
        return self.target[self.starts[number] : self.starts[number + 1]]


@dataclass(frozen=True, eq=False)
class Choices:
    """Which candidate each head picks, asked from the pronoun and, as a control, from other words.

    Attributes:
        passage: (Q,), the passage of each question. The first of each passage is asked from its pronoun, the others
            from the words of the query control.
        picks: subset → (Q, L, h) int16, position in `Passage.candidates`; NOWHERE when there is nothing to choose.
        visible: (Q, C) per question which candidates may be seen, filled up with False.
        mean: (Q,) int16, the candidate that gets most weight in the mean of all heads' maps, of all candidates.
        unclear: (P,), True = the pronoun or a candidate is an unclear word, see `EncodedText.unclear`.
    """

    passage: NDArray[np.int64]
    picks: dict[str, NDArray[np.int16]]
    visible: NDArray[np.bool_]
    mean: NDArray[np.int16]
    unclear: NDArray[np.bool_]
