"""Lesson "Who asks, who answers": cross-attention of encoder and decoder, in a sentence whose translation is known.

The networks are those that ship with the app as records of the task Translate (model/training/record.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from analysis.lessons.answer import Answer, answers
from analysis.lessons.numbers import percent
from analysis.lessons.setup import Setup
from model import HeadworkError
from model.cache import DecoderCache
from model.decoder_block import DecoderBlock, DecoderBlockSteps
from model.encoder_decoder import EncoderDecoder, EncoderDecoderOutput
from model.tasks import NO_KEY, NOTHING_ASKED, TRANSLATIONS, Translation
from model.training.alignment import straight_across
from model.training.record import read_record, shipped
from model.training.run import HELD_OUT, stream
from model.training.translate import N_HELD_OUT, Translating
from model.transformer import Record

MOVED = 1e-6  # a change of a number: less is float32's rounding


@dataclass(frozen=True, eq=False)
class CrossMap:
    """A map from target words (rows) to source words (columns) (picture "cross_map").

    Attributes:
        weights: (N_q, N_k).
        queries: what the decoder writes in each row, the end mark last.
        keys: source words.
        row: the query that is asked about.
        links: (row, column) of the true alignment, outlined; () = none.
    """

    weights: NDArray[np.float32]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    row: int | None = None
    links: tuple[tuple[int, int], ...] = ()


@answers("moved_by_source")
def moved_by_source(setup: Setup, *, task: str, source: str, other: str) -> Answer:
    """choice: what moves in the first cross-attention when the source changes: "queries", "keys" (and values), "both".

    Says source, other, target; then n_queries, n_keys.
    """
    of = _task(task)
    one, two = _pair(of, source), _pair(of, other)
    first, second = (_steps(of, pair.source, one.target) for pair in (one, two))
    assert first.cross.queries is not None and second.cross.queries is not None
    assert first.cross.keys is not None and second.cross.keys is not None
    has_queries = bool(((first.cross.queries - second.cross.queries).abs() > MOVED).any())
    has_keys = bool(((first.cross.keys - second.cross.keys).abs() > MOVED).any())
    right = "both" if has_queries and has_keys else "keys" if has_keys else "queries" if has_queries else "none"
    given = {"source": source, "other": other, "target": of.translate(source)}
    said = {"n_queries": f"{one.target.size(1)}", "n_keys": f"{one.source.size(1)}"}
    return Answer(right, said, given, picture="cross_map", shown=_map(of, one))


@answers("cross_cells")
def cross_cells(setup: Setup, *, task: str, source: str) -> Answer:
    """number: cells of one map of cross-attention: a row for each target token, a column for each source word.

    Says source, target, n_source, n_target; then cells, own (of the decoder's map of itself).
    """
    of = _task(task)
    pair = _pair(of, source)
    shown = _map(of, pair)
    n_queries, n_keys = shown.weights.shape
    given = {"source": source, "target": of.translate(source), "n_source": f"{n_keys}", "n_target": f"{n_queries}"}
    said = {"cells": f"{n_queries * n_keys}", "own": f"{n_queries * n_queries}"}
    return Answer(float(n_queries * n_keys), said, given, picture="cross_map", shown=shown)


@answers("first_row_sees")
def first_row_sees(setup: Setup, *, task: str, source: str) -> Answer:
    """choice: how many source words the first row of cross-attention looks at: "all", "first" or "none".

    Says source, target, n_source; then n_seen, n_own (in the decoder's map of itself).
    """
    of = _task(task)
    pair = _pair(of, source)
    output = _run(of, pair.source, pair.target)
    cross, own = output.cross[0, 0, 0, 0], output.decoder.attention[0, 0, 0, 0]  # the first row of a head each
    n_seen, n_own = int((cross > 0).sum()), int((own > 0).sum())
    right = "all" if n_seen == len(cross) else "first" if n_seen == 1 else "none"
    given = {"source": source, "target": of.translate(source), "n_source": f"{len(cross)}"}
    shown = _map(of, pair, row=0)
    return Answer(right, {"n_seen": f"{n_seen}", "n_own": f"{n_own}"}, given, picture="cross_map", shown=shown)


@answers("true_link")
def true_link(setup: Setup, *, task: str, source: str, word: str) -> Answer:
    """token: the source word that a target word translates, as the two languages are made.

    Says source, target, word; then key, distance (words between their places).
    """
    of = _task(task)
    pair = _pair(of, source)
    written = of.target_words(pair.answers)
    if word not in written:
        raise HeadworkError(
            "The translation has no word {word}. It is: {target}.", word=word[:40], target=of.translate(source)
        )
    row = written.index(word)
    key = dict(pair.links).get(row)
    if key is None:
        raise HeadworkError("{word} translates no word of the source.", word=word)
    keys = of.source_words(pair.source[0])
    given = {"source": source, "target": of.translate(source), "word": word}
    said = {"key": keys[key], "row": f"{row + 1}", "column": f"{key + 1}"}
    shown = replace(_map(of, pair, row), links=pair.links)
    return Answer(key, said, given, keys, picture="cross_map", shown=shown)


@answers("aligned_share")
def aligned_share(setup: Setup, *, task: str) -> Answer:
    """number: target words of held-out sentences for which the one head looks most at their true source word, in %.

    Says n, sentences, baseline (looking at the same place), seed; then share, heads, best, worst (of the network with
    several heads).
    """
    one, several = _trained(_task(task).id)
    pair = one.task.batch(stream(one.settings.seed, HELD_OUT), N_HELD_OUT, held_out=True)
    shares = [1 - run.frames[-1].alignment.error for run in (one, several)]  # (L, h) each
    given = {"n": f"{int((pair.links != NO_KEY).sum())}", "sentences": f"{len(pair.source)}"}
    given |= {"baseline": percent(1 - straight_across(pair)), "seed": f"{one.settings.seed}"}
    said = {"share": percent(float(shares[0].max())), "heads": f"{shares[1].size}"}
    said |= {"best": percent(float(shares[1].max())), "worst": percent(float(shares[1].min()))}
    links = tuple((row, key) for row, key in enumerate(one.links) if key != NO_KEY)
    shown = CrossMap(one.frames[-1].cross[0, 0], one.rows, one.source, None, links)
    return Answer(100 * float(shares[0].max()), said, given, picture="cross_map", shown=shown)


@answers("source_keys_made")
def source_keys_made(setup: Setup, *, task: str, source: str) -> Answer:
    """number: source words that the first cross-attention turns into keys while the whole target is written.

    Counted where W_k is applied, with the cache of keys and values. Says source, target, n_source, n_rows; then n, and
    without (what it would be if nothing were kept).
    """
    of = _task(task)
    pair = _pair(of, source)
    n_rows, n_source = pair.target.size(1), pair.source.size(1)
    made = _keys_made(_network(task), pair)
    given = {"source": source, "target": of.translate(source), "n_source": f"{n_source}", "n_rows": f"{n_rows}"}
    said = {"n": f"{made}", "without": f"{n_rows * n_source}"}
    return Answer(float(made), said, given, picture="cross_map", shown=_map(of, pair))


@torch.inference_mode()
def _keys_made(model: EncoderDecoder, pair: _Pair) -> int:
    """Runs the decoder row by row with its cache, and counts the rows that go through the first W_k of the source."""
    made: list[int] = []
    encoded, cache = model.encoder(pair.source).hidden, DecoderCache(len(model.decoder.blocks))
    block = model.decoder.blocks[0]
    assert isinstance(block, DecoderBlock)
    hook = block.cross_attention.W_k.register_forward_hook(
        lambda _module, inputs, _output: made.append(inputs[0].size(1))
    )
    try:
        for row in range(pair.target.size(1)):
            model.decoder(pair.target[:, row : row + 1], encoded, cache=cache)
    finally:
        hook.remove()
    return sum(made)


@dataclass(frozen=True, eq=False)
class _Pair:
    """A sentence and its translation, without room beyond their ends.

    Attributes:
        source: (1, N_k).
        target: (1, N_q), from the start mark on: what the decoder reads.
        answers: (N_q,), what it writes in each row, the end mark last.
        links: (row, source word) of the true alignment.
    """

    source: Tensor
    target: Tensor
    answers: Tensor
    links: tuple[tuple[int, int], ...]


def _pair(of: Translation, source: str) -> _Pair:
    found = of.of(source)
    has_answer = found.answers[0] != NOTHING_ASKED
    links = enumerate(found.links[0][has_answer].tolist())
    return _Pair(
        found.source[:, found.is_source[0]],
        found.target[:, has_answer],
        found.answers[0][has_answer],
        tuple((row, key) for row, key in links if key != NO_KEY),
    )


def _task(name: str) -> Translation:
    if name not in TRANSLATIONS:
        raise HeadworkError(
            "There is no translation task {name}. Choose {names}.", name=name[:40], names=", ".join(TRANSLATIONS)
        )
    return TRANSLATIONS[name]


@lru_cache(maxsize=2)
def _trained(task: str) -> tuple[Translating, Translating]:
    """The shipped runs of a task: one head, then several."""
    one, several = read_record(shipped(task), Translating).trainings
    return one, several


def _network(task: str) -> EncoderDecoder:
    """The trained network with one head in each attention."""
    network: EncoderDecoder = _trained(_task(task).id)[0].network
    return network


@torch.inference_mode()
def _run(of: Translation, source: Tensor, target: Tensor, record: Record = "maps") -> EncoderDecoderOutput:
    return _network(of.id)(source, target, record=record)  # type: ignore[no-any-return]


def _steps(of: Translation, source: Tensor, target: Tensor) -> DecoderBlockSteps:
    """Every step of the first decoder block."""
    steps = _run(of, source, target, "steps").decoder.blocks
    assert steps is not None and isinstance(steps[0], DecoderBlockSteps)
    return steps[0]


def _map(of: Translation, pair: _Pair, row: int | None = None) -> CrossMap:
    """The first head's map in the first layer."""
    weights = _run(of, pair.source, pair.target).cross[0, 0, 0].numpy()
    return CrossMap(weights, of.target_words(pair.answers), of.source_words(pair.source[0]), row)
