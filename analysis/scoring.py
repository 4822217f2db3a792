"""A run over a corpus: every sentence through the model once, and of its maps only where each word looks.

Sentences are sorted by length and run in batches under a padding mask, so the result does not depend on the order of
the files beyond rounding, and a batch is always made of the same sentences: a run that was stopped goes on to the same
result. What the scores are computed from (`Run`) is small: two bytes a word and head.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.arrows import (
    NOWHERE,
    Arrows,
    Batch,
    Choices,
    Line,
    heaviest,
    sharing,
    visible_words,
    word_maps,
    word_pieces,
)
from analysis.controls import Control, mask_id, untrained, without_words
from analysis.corpus import Corpus, Passage, Problem, Sentence, lay_out
from analysis.resume import Arrays, Store
from model.errors import HeadworkError
from model.masks import Mask, parse_mask
from model.tracing import AttentionModel

Progress = Callable[[int, int], None]
Gate = NDArray[np.float32] | Iterable[Iterable[float]]
Writing = Literal["apart", "written"]
WRITINGS: tuple[Writing, ...] = ("apart", "written")

BATCH_SENTENCES, BATCH_TOKENS = 16, 1024  # of 16 sentences; shorter batches where they are long
FORMAT = 1  # of stored batches: a change of what they hold makes old ones worthless
_EVERY = 200  # sentences tokenised between two calls of progress


@dataclass(frozen=True, eq=False)
class Run:
    """What a model did on a corpus: all that scores need.

    Attributes:
        sentences: those that were run, in the order of the corpus; `arrows` has their words.
        passages: likewise; `choices` numbers them.
        skipped: what could not be run, broken lines of the corpus included.
        writing: how the words were given to the model, see `score`.
        restricted_to: only words visible under this mask too could be chosen; None = all that `mask` shows.
    """

    model_id: str
    model_label: str
    sha256: str | None
    trained: bool
    mask: Mask
    writing: Writing
    restricted_to: Mask | None
    control: Control | None
    seed: int
    n_layers: int
    n_heads: int
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...]
    arrows: Arrows
    choices: Choices
    skipped: tuple[Problem, ...]


def score(
    model: AttentionModel,
    corpus: Corpus,
    mask: Mask | str = "bidirectional",
    *,
    writing: Writing = "apart",
    restrict: Mask | str | None = None,
    control: Control | None = None,
    seed: int = 0,
    gate: Gate | None = None,
    progress: Progress | None = None,
    store: Store | None = None,
) -> Run:
    """Runs a model over a corpus.

    Args:
        model: any model of the catalogue.
        corpus: what to run; nothing in it is changed.
        mask: the mask of the forward pass. Under a causal mask a word can only be scored on earlier words.
        writing: "apart" puts a space between all words, so that each has pieces of its own ("do n ' t"): the way the
            reference numbers of notes/heads.md were measured. "written" gives the model the text as people write it
            ("don ' t"); there, words that share a piece share its weight, and neither can be told from the other.
        restrict: lets heads choose only among words that this mask shows too. With "causal" a bidirectional model
            is scored on the arcs that a causal one can be scored on: the fair comparison.
        control: "untrained" = random weights of the same shape; "mask" = [MASK] in place of every piece.
        seed: of the random weights.
        gate: (L, h), 0 = the head is off.
        progress: called with (examples done, examples in all); what it raises ends the run.
        store: keeps finished batches, and gives those that it has.

    Raises:
        HeadworkError: nothing to run, a mask drawn for one sentence, or a model without [MASK].
    """
    mask, restrict = _mask(mask), None if restrict is None else _mask(restrict)
    if control == "untrained":
        model = untrained(model, seed)
    if not corpus.sentences and not corpus.passages:
        raise HeadworkError(
            "There is no sentence to score: {n_broken} lines are broken.", n_broken=len(corpus.problems)
        )
    report = progress or (lambda done, total: None)
    examples: list[Sentence | Passage] = [*corpus.sentences, *corpus.passages]
    lines, problems = _prepare(model, examples, writing, control, report)
    runner = _Runner(model, mask, restrict, None if gate is None else np.asarray(gate, dtype=np.float32))
    if store is not None:
        store.open(_about(runner, writing, control, seed, examples))

    total, done = len(examples), len(problems)
    results: dict[int, Arrays] = {}
    report(done, total)
    for number, members in enumerate(batches(lines, n_sentences=len(corpus.sentences))):
        arrays = None if store is None else store.load(number)
        if arrays is None:
            arrays = runner.run([examples[i] for i in members], [lines[i] for i in members])
            if store is not None:
                store.save(number, arrays)
        results |= _split(members, arrays)
        done += len(members)
        report(done, total)

    kept = sorted(results)
    sentences = [examples[i] for i in kept if i < len(corpus.sentences)]
    passages = [examples[i] for i in kept if i >= len(corpus.sentences)]
    shape = (model.n_layers, model.n_heads)
    return Run(
        model_id=model.id,
        model_label=model.label,
        sha256=model.sha256,
        trained=model.trained,
        mask=mask,
        writing=writing,
        restricted_to=restrict,
        control=control,
        seed=seed,
        n_layers=model.n_layers,
        n_heads=model.n_heads,
        sentences=tuple(each for each in sentences if isinstance(each, Sentence)),
        passages=tuple(each for each in passages if isinstance(each, Passage)),
        arrows=_arrows([results[i] for i in kept if i < len(corpus.sentences)], shape),
        choices=_choices([results[i] for i in kept if i >= len(corpus.sentences)], shape),
        skipped=corpus.problems + tuple(problems),
    )


def questions(passage: Passage) -> list[int]:
    """The words that are asked for an antecedent: the pronoun, then for the query control each other word after the
    last candidate.
    """
    after = max(passage.candidate_ends) + 1
    return [passage.pronoun, *(word for word in range(after, len(passage.words)) if word != passage.pronoun)]


def batches(lines: dict[int, Line], n_sentences: int) -> Iterator[list[int]]:
    """Which examples run together: sentences, then passages, each sorted by length."""
    for group in (
        [i for i in lines if i < n_sentences],
        [i for i in lines if i >= n_sentences],
    ):
        group.sort(key=lambda i: (len(lines[i].ids), i))
        batch: list[int] = []
        for i in group:
            if batch and (len(batch) == BATCH_SENTENCES or (len(batch) + 1) * len(lines[i].ids) > BATCH_TOKENS):
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch


def _mask(mask: Mask | str) -> Mask:
    mask = parse_mask(mask) if isinstance(mask, str) else mask
    if mask.drawn is not None:
        raise HeadworkError("A drawn mask fits one sentence; a corpus can't be scored under it. Choose another mask.")
    return mask


def _prepare(
    model: AttentionModel,
    examples: Sequence[Sentence | Passage],
    writing: Writing,
    control: Control | None,
    report: Progress,
) -> tuple[dict[int, Line], list[Problem]]:
    """Tokens of every example that can be run, by its number, and why the others can't."""
    lines: dict[int, Line] = {}
    problems: list[Problem] = []
    blank = mask_id(model) if control == "mask" else 0
    for i, example in enumerate(examples):
        if i % _EVERY == 0:
            report(0, len(examples))
        text, spans = example.text, example.spans
        if writing == "apart":
            text, spans = lay_out(example.words, [True] * len(example.words))
        try:
            tokens = model.tokenizer.encode(text, limit=model.token_limit)
        except HeadworkError as error:
            problems.append(Problem(example.place.file, example.place.line, str(error)))
            continue
        if tokens.n_cut or tokens.text != text:
            n_tokens = len(tokens) + tokens.n_cut
            reason = f"it has {n_tokens} tokens; this model reads {model.token_limit}"
            problems.append(Problem(example.place.file, example.place.line, reason))
            continue
        ids = without_words(tokens, blank) if control == "mask" else tokens.ids
        lines[i] = Line(ids, word_pieces(tokens, spans))
    return lines, problems


@dataclass(frozen=True, eq=False)
class _Runner:
    """One batch at a time through the model."""

    model: AttentionModel
    mask: Mask
    restrict: Mask | None
    gate: NDArray[np.float32] | None

    @torch.inference_mode()
    def run(self, examples: Sequence[Sentence | Passage], lines: Sequence[Line]) -> Arrays:
        """All examples of one kind → arrays whose first axis runs over words (or questions), example after example."""
        batch = Batch.of(lines)
        allowed = self._allowed(self.mask, batch)  # (B, 1, N, N)
        gate = None if self.gate is None else torch.from_numpy(self.gate)
        output = self.model.transformer(batch.ids, allowed, gate=gate, record="maps")
        maps = word_maps(output.attention, batch.members)  # (B, W, L·h, W)
        visible = visible_words(allowed, batch.members)  # (B, W, W)
        if self.restrict is not None:
            visible &= visible_words(self._allowed(self.restrict, batch), batch.members)
        sentences = [each for each in examples if isinstance(each, Sentence)]
        if sentences:
            best = heaviest(maps, visible & ~sharing(batch.members)).numpy()  # (B, W, L·h)
            return _pack_sentences(sentences, best, visible.numpy())
        return _pack_passages([each for each in examples if isinstance(each, Passage)], maps, visible)

    def _allowed(self, mask: Mask, batch: Batch) -> torch.Tensor:
        # Padding to M tokens changes nothing for the words: a batch is padded anyway.
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
    sizes, picks, nouns, seen = [], [], [], []
    for b, passage in enumerate(passages):
        asking = torch.tensor(questions(passage))  # (Q,)
        words = torch.tensor(passage.candidates)  # (C,)
        weights = maps[b, asking][:, :, words]  # (Q, L·h, C)
        can = visible[b, asking][:, words]  # (Q, C)
        sizes.append(len(asking))
        seen.append(can.numpy().ravel())
        picks.append(_pick(passage, weights, can))
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
        "visible_sizes": np.array([len(each) for each in seen]),
        "visible": np.concatenate(seen),
    }


def _pick(passage: Passage, weights: torch.Tensor, can: torch.Tensor) -> NDArray[np.int16]:
    """(Q, L·h, C), (Q, C) → (Q, L·h): position of the heaviest candidate, the first in the text of equals."""
    order = np.argsort(passage.candidates, kind="stable")
    places = heaviest(weights[:, :, torch.from_numpy(order)], can[:, torch.from_numpy(order)]).numpy()
    return np.where(places == NOWHERE, NOWHERE, order[places]).astype(np.int16)


def _split(members: Sequence[int], arrays: Arrays) -> dict[int, Arrays]:
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


def _arrows(results: Sequence[Arrays], shape: tuple[int, int]) -> Arrows:
    sizes = [len(each["target"]) for each in results]
    target = np.concatenate([each["target"] for each in results]) if results else np.empty((0, shape[0] * shape[1]))
    visible = [
        None if each["visible"].all() else each["visible"].astype(np.bool_).reshape(n, n)
        for each, n in zip(results, sizes, strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Arrows(starts, target.astype(np.int16).reshape(-1, *shape), tuple(visible))


def _choices(results: Sequence[Arrays], shape: tuple[int, int]) -> Choices:
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
    return Choices(np.repeat(np.arange(len(results)), sizes), picks, visible)


def _about(
    runner: _Runner, writing: Writing, control: Control | None, seed: int, examples: Sequence[Sentence | Passage]
) -> dict[str, object]:
    """What decides a run's batches: two runs with the same description have the same batches."""
    texts = hashlib.sha256()
    for each in examples:
        what: list[object] = [each.text, each.spans, each.words]
        if isinstance(each, Passage):
            what += [each.pronoun, each.candidates, each.candidate_ends, each.nouns]
        texts.update(repr(what).encode())
    model = runner.model
    return {
        "format": [FORMAT, BATCH_SENTENCES, BATCH_TOKENS],
        "model": [model.id, model.label, model.sha256],
        "mask": [str(runner.mask), str(runner.restrict)],
        "writing": writing,
        "control": [control, seed if control == "untrained" else None],
        "gate": None if runner.gate is None else runner.gate.tolist(),
        "texts": texts.hexdigest(),
    }
