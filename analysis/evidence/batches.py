"""Batches of a run: which texts run together, one forward pass, and what of its maps is kept.

What is kept of a batch is a few flat arrays, example after example, so that it can be written to disk as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.evidence.arrows import (
    NOWHERE,
    Arrows,
    Batch,
    Choices,
    EncodedText,
    heaviest,
    sharing,
    visible_words,
    word_maps,
)
from analysis.evidence.corpora.annotated import Passage, Sentence
from analysis.evidence.resume import Arrays
from model.masks import Mask
from model.tracing import AttentionModel

BATCH_SENTENCES, BATCH_TOKENS = 16, 1024  # fewer than 16 where they are long


def questions(passage: Passage) -> list[int]:
    """The words that are asked for an antecedent: the pronoun, then for the query control each other word after the
    last candidate.
    """
    after = max(passage.candidate_ends) + 1
    return [passage.pronoun, *(word for word in range(after, len(passage.words)) if word != passage.pronoun)]


def batches(texts: Mapping[int, EncodedText], n_sentences: int) -> Iterator[list[int]]:
    """Which examples run together: sentences, then passages, each sorted by length."""
    for group in (
        [i for i in texts if i < n_sentences],
        [i for i in texts if i >= n_sentences],
    ):
        group.sort(key=lambda i: (len(texts[i].ids), i))
        batch: list[int] = []
        for i in group:
            if batch and (len(batch) == BATCH_SENTENCES or (len(batch) + 1) * len(texts[i].ids) > BATCH_TOKENS):
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch


@dataclass(frozen=True, eq=False)
class Runner:
    """One batch at a time through the model, under a mask."""

    model: AttentionModel
    mask: Mask
    restrict: Mask | None
    head_mask: NDArray[np.float32] | None

    @torch.inference_mode()
    def run(self, examples: Sequence[Sentence | Passage], texts: Sequence[EncodedText]) -> Arrays:
        """All examples of one kind → arrays whose first axis runs over words (or questions), example after example."""
        batch = Batch.of(texts)
        allowed = self.allowed(self.mask, batch)  # (B, 1, N, N)
        head_mask = None if self.head_mask is None else torch.from_numpy(self.head_mask)
        output = self.model.transformer(batch.ids, allowed, head_mask=head_mask, record="maps")
        maps = word_maps(output.attention, batch.members)  # (B, W, L·h, W)
        visible = visible_words(allowed, batch.members)  # (B, W, W)
        if self.restrict is not None:
            visible &= visible_words(self.allowed(self.restrict, batch), batch.members)
        sentences = [each for each in examples if isinstance(each, Sentence)]
        if sentences:
            best = heaviest(maps, visible & ~sharing(batch.members)).numpy()  # (B, W, L·h)
            return _pack_sentences(sentences, best, visible.numpy())
        return _pack_passages([each for each in examples if isinstance(each, Passage)], maps, visible)

    def allowed(self, mask: Mask, batch: Batch) -> torch.Tensor:
        """(B, 1, N, N), True = may attend. Padding to M tokens is left out: a batch is padded anyway."""
        return replace(mask, padded_length=None).allowed(batch.ids.shape[1], batch.is_padding)


def _pack_sentences(sentences: Sequence[Sentence], best: NDArray[np.int16], visible: NDArray[np.bool_]) -> Arrays:
    sizes = [len(sentence.words) for sentence in sentences]
    return {
        "sizes": np.array(sizes),
        "target": np.concatenate([best[b, :n] for b, n in enumerate(sizes)]),  # (words, L·h)
        "visible_sizes": np.array([n * n for n in sizes]),
        "visible": np.concatenate([visible[b, :n, :n].ravel() for b, n in enumerate(sizes)]),
    }


def _pack_passages(passages: Sequence[Passage], maps: torch.Tensor, visible: torch.Tensor) -> Arrays:
    sizes, picks, nouns, means, seen = [], [], [], [], []
    for b, passage in enumerate(passages):
        asking = torch.tensor(questions(passage))  # (Q,)
        words = torch.tensor(passage.candidates)  # (C,)
        weights = maps[b, asking][:, :, words]  # (Q, L·h, C)
        can = visible[b, asking][:, words]  # (Q, C)
        sizes.append(len(asking))
        seen.append(can.numpy().ravel())
        picks.append(_pick(passage, weights, can))
        means.append(_pick(passage, weights.mean(dim=1, keepdim=True), can)[:, 0])
        if passage.nouns is None:
            nouns.append(np.full_like(picks[-1], NOWHERE))
        else:
            noun = torch.zeros(len(words), dtype=torch.bool)  # (C,)
            noun[list(passage.nouns)] = True
            nouns.append(_pick(passage, weights, can & noun))
    return {
        "sizes": np.array(sizes),
        "all": np.concatenate(picks),  # (questions, L·h)
        "noun": np.concatenate(nouns),
        "mean": np.concatenate(means),  # (questions,)
        "visible_sizes": np.array([len(each) for each in seen]),
        "visible": np.concatenate(seen),
    }


def _pick(passage: Passage, weights: torch.Tensor, can: torch.Tensor) -> NDArray[np.int16]:
    """(Q, L·h, C), (Q, C) → (Q, L·h): position of the heaviest candidate, the first in the text of equals."""
    order = np.argsort(passage.candidates, kind="stable")
    places = heaviest(weights[:, :, torch.from_numpy(order)], can[:, torch.from_numpy(order)]).numpy()
    return np.where(places == NOWHERE, NOWHERE, order[places]).astype(np.int16)


def split(members: Sequence[int], arrays: Arrays) -> dict[int, Arrays]:
    """The arrays of a batch, dealt out to its examples."""
    ends = np.cumsum(arrays["sizes"].astype(np.int64))
    visible_ends = np.cumsum(arrays["visible_sizes"].astype(np.int64))
    out: dict[int, Arrays] = {i: {} for i in members}
    for name, array in arrays.items():
        if name.endswith("sizes"):
            continue
        for i, part in zip(members, np.split(array, (visible_ends if name == "visible" else ends)[:-1]), strict=True):
            out[i][name] = part
    return out


def gather_arrows(results: Sequence[Arrays], texts: Sequence[EncodedText], shape: tuple[int, int]) -> Arrows:
    """The arrows of all sentences, given each one's arrays and text, and (L, h)."""
    sizes = [len(each["target"]) for each in results]
    target = np.concatenate([each["target"] for each in results]) if results else np.empty((0, shape[0] * shape[1]))
    visible = [
        None if each["visible"].all() else each["visible"].astype(np.bool_).reshape(n, n)
        for each, n in zip(results, sizes, strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    unclear = np.concatenate([text.unclear for text in texts]) if texts else np.empty(0, dtype=bool)
    return Arrows(starts, target.astype(np.int16).reshape(-1, *shape), tuple(visible), unclear)


def gather_choices(
    results: Sequence[Arrays], passages: Sequence[Passage], texts: Sequence[EncodedText], shape: tuple[int, int]
) -> Choices:
    """The choices of all passages, given each one's arrays and text, and (L, h)."""
    sizes = [len(each["all"]) for each in results]
    picks = {
        subset: np.concatenate([each[subset] for each in results]).astype(np.int16).reshape(-1, *shape)
        if results
        else np.empty((0, *shape), dtype=np.int16)
        for subset in ("all", "noun")
    }
    seen = [each["visible"].astype(np.bool_).reshape(n, -1) for each, n in zip(results, sizes, strict=True)]
    widest = max((each.shape[1] for each in seen), default=0)
    visible = np.zeros((sum(sizes), widest), dtype=bool)
    start = 0
    for each in seen:
        visible[start : start + len(each), : each.shape[1]] = each
        start += len(each)
    mean = np.concatenate([each["mean"] for each in results]) if results else np.empty(0)
    unclear = [
        bool(text.unclear[[passage.pronoun, *passage.candidates]].any())
        for passage, text in zip(passages, texts, strict=True)
    ]
    numbers = np.repeat(np.arange(len(results)), sizes)
    return Choices(numbers, picks, visible, mean.astype(np.int16), np.array(unclear, dtype=bool))
