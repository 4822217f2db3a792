"""Which heads match a pronoun with the noun of its gender, on a balanced set (analysis.gender_sentences).

A head is right where it gives more of the pronoun's weight to the noun of its gender than to the other noun (between
words: sum over the noun's pieces, mean over the pronoun's). In each cell of the set, a pair of nouns in one template,
there are both orders and both pronouns: going by place, or by one noun, gets exactly half. A cell of which one sentence
can't be scored is left out as a whole, so that this stays true.

A head is chosen on half of the pairs in one part of the templates, and scored on the other half of the pairs: in the
same templates ("other nouns") and in those of the other part ("new templates"). With a dozen pairs one such division is
luck, so all of them are made, both parts in turn, and their mean is taken: every sentence is scored by heads that were
chosen without its nouns. Intervals draw whole pairs.

What this shows is that genders match, which is not yet understanding: see `analysis.meaning`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.coreference import query_control, right_table
from analysis.corpus import Cell
from analysis.held_out import Head, HeadIntervals, Hits, head_intervals
from analysis.intervals import DRAWS, FEWEST_ARCS, FEWEST_SENTENCES, Interval, bootstrap, interval
from analysis.scoring import Run

PARTS = (1, 2)
QUESTIONS = [(0, 0), (0, 1), (1, 0), (1, 1)]  # a whole cell: order of the nouns, and which of them is meant
MOST_DIVISIONS = 1000  # of the pairs in two halves; 12 pairs have 924
GUESS = "first"  # of the baselines; every guess by place is right in half of each cell


@dataclass(frozen=True)
class Share:
    """How many of n sentences were right, with an interval over pairs of nouns."""

    n: int
    accuracy: float
    interval: Interval | None


@dataclass(frozen=True, eq=False)
class Chosen:
    """What heads reach that were chosen on other sentences.

    Attributes:
        heads: those that were chosen, the most often chosen first, and in which share of the divisions.
        other_nouns: other pairs, in the templates that the head was chosen on.
        new_templates: other pairs, in the other templates.
        rarer_nouns: pairs on which no head is chosen, in the other templates; None without any.
    """

    heads: tuple[tuple[Head, float], ...]
    other_nouns: Share
    new_templates: Share
    rarer_nouns: Share | None


@dataclass(frozen=True, eq=False)
class GenderScore:
    """One set, for every head. Grids are over the pairs on which heads are chosen, in all templates.

    Attributes:
        file: the set.
        n: sentences scored, those of rarer nouns left out.
        n_unclear: sentences left out since a pronoun or noun of their cell shares a piece with another word (因为他).
        n_incomplete: sentences left out since another of their cell is missing, or a noun can't be seen under the mask.
        pairs, rarer, templates: names, in the order of the set.
        accuracy: (L, h), 0 to 1.
        follows_noun: (L, h), of two sentences with the nouns swapped, how often the choice goes to the other place.
        follows_pronoun: (L, h), of two sentences with the other pronoun, how often the choice changes.
        query_control: (L, h), the right noun found from the words that are asked besides the pronoun.
        by_pair: (pairs + rarer, L, h), accuracy.
        by_template: (templates, L, h), accuracy.
        mean_map: accuracy of the mean of all heads' maps.
        chosen: None when a part or half of the set is missing.
        hits: sentence by sentence, grouped by pair.
    """

    file: str
    n: int
    n_unclear: int
    n_incomplete: int
    pairs: tuple[str, ...]
    rarer: tuple[str, ...]
    templates: tuple[str, ...]
    accuracy: NDArray[np.float64]
    follows_noun: NDArray[np.float64]
    follows_pronoun: NDArray[np.float64]
    query_control: NDArray[np.float64]
    by_pair: NDArray[np.float64]
    by_template: NDArray[np.float64]
    mean_map: float
    chosen: Chosen | None
    intervals: HeadIntervals | None
    stable: bool
    hits: Hits

    @property
    def mean_of_heads(self) -> float:
        """The mean of all heads' accuracies."""
        return float(self.accuracy.mean())


@dataclass(frozen=True, eq=False)
class _Sentences:
    """The sentences of complete cells (n of them).

    Attributes:
        passage: (n,), number in the run.
        place: (n,), position of the right noun among the candidates, in the order of the text.
        pick: (n, L, h), position of the one chosen.
        mean_right: (n,), whether the mean map is right.
    """

    cells: tuple[Cell, ...]
    passage: NDArray[np.int64]
    place: NDArray[np.int64]
    pick: NDArray[np.int64]
    mean_right: NDArray[np.bool_]

    @property
    def right(self) -> NDArray[np.bool_]:
        """(n, L, h)."""
        return np.asarray(self.pick == self.place[:, None, None])

    @property
    def rarer(self) -> NDArray[np.bool_]:
        """(n,)."""
        return np.array([cell.rarer for cell in self.cells], dtype=bool)

    @property
    def part(self) -> NDArray[np.int64]:
        """(n,)."""
        return np.array([cell.part for cell in self.cells], dtype=np.int64)

    def number(self, names: Sequence[str], what: str) -> NDArray[np.int64]:
        """(n,), the place of each sentence's pair or template in `names`."""
        places = {name: place for place, name in enumerate(names)}
        return np.array([places[getattr(cell, what)] for cell in self.cells], dtype=np.int64)


def score_gender(run: Run, *, seed: int = 0, draws: int = DRAWS) -> tuple[GenderScore, ...]:
    """Scores each balanced set of the run; none without such passages.

    Args:
        run: of `analysis.scoring.score`.
        seed: of the halves and of the draws.
        draws: of the bootstrap.
    """
    files = dict.fromkeys(passage.place.file for passage in run.passages if passage.cell is not None)
    scores = (_score_file(run, file, seed, draws) for file in files)
    return tuple(score for score in scores if score is not None)


def _score_file(run: Run, file: str, seed: int, draws: int) -> GenderScore | None:
    kept, n_unclear, n_incomplete = _complete(run, file)
    found = _sentences(run, kept)
    common = ~found.rarer
    if not common.any():
        return None
    pairs = tuple(dict.fromkeys(cell.pair for cell in found.cells if not cell.rarer))
    rarer = tuple(dict.fromkeys(cell.pair for cell in found.cells if cell.rarer))
    templates = tuple(dict.fromkeys(cell.template for cell in found.cells))
    pair = found.number(pairs + rarer, "pair")
    template = found.number(templates, "template")
    right = found.right
    hits = Hits(
        heads=right[common],
        baselines=(found.place == 0)[common, None],
        names=(GUESS,),
        example=found.passage[common],
        group=pair[common],
        second_half=np.zeros(int(common.sum()), dtype=bool),  # `_choose` makes its own divisions
    )
    starts = np.searchsorted(run.choices.passage, np.arange(len(run.passages)))
    return GenderScore(
        file=file,
        n=hits.n,
        n_unclear=n_unclear,
        n_incomplete=n_incomplete,
        pairs=pairs,
        rarer=rarer,
        templates=templates,
        accuracy=hits.accuracy(),
        follows_noun=_follows(found, common, by_order=True),
        follows_pronoun=_follows(found, common, by_order=False),
        query_control=query_control(
            run, run.choices.picks["all"], right_table(run.passages), found.passage[common], starts
        ),
        by_pair=np.array([right[pair == i].mean(axis=0) for i in range(len(pairs + rarer))]),
        by_template=np.array([right[common & (template == i)].mean(axis=0) for i in range(len(templates))]),
        mean_map=float(found.mean_right[common].mean()),
        chosen=_choose(found, pair, len(pairs), seed, draws),
        intervals=head_intervals(hits, seed=seed, draws=draws),
        stable=hits.n >= FEWEST_SENTENCES,
        hits=hits,
    )


def _complete(run: Run, file: str) -> tuple[list[int], int, int]:
    """The passages of complete cells, and how many were left out: for shared pieces, and for other reasons."""
    cells: dict[tuple[str, str], list[int]] = {}
    for i, passage in enumerate(run.passages):
        if passage.cell is not None and passage.place.file == file:
            cells.setdefault((passage.cell.pair, passage.cell.template), []).append(i)
    starts = np.searchsorted(run.choices.passage, np.arange(len(run.passages)))
    seen = np.asarray(run.choices.visible[starts, :2].all(axis=1))  # (P,)
    kept: list[int] = []
    n_unclear = n_incomplete = 0
    for members in cells.values():
        if run.choices.unclear[members].any():
            n_unclear += len(members)
        elif seen[members].all() and sorted(_question(run, i) for i in members) == QUESTIONS:
            kept += members
        else:
            n_incomplete += len(members)
    return kept, n_unclear, n_incomplete


def _question(run: Run, number: int) -> tuple[int, int]:
    """Order of the nouns, and which of the pair is meant."""
    cell = run.passages[number].cell
    assert cell is not None
    place = _place(run, number)
    return cell.order, place if cell.order == 0 else 1 - place


def _place(run: Run, number: int) -> int:
    """0 = the noun that comes first in the text is meant."""
    passage = run.passages[number]
    return int(passage.antecedents[0] != min(passage.candidates))


def _sentences(run: Run, kept: Sequence[int]) -> _Sentences:
    starts = np.searchsorted(run.choices.passage, np.array(kept, dtype=np.int64))
    in_order = np.array([run.passages[i].candidates[0] == min(run.passages[i].candidates) for i in kept], dtype=bool)
    pick = run.choices.picks["all"][starts].astype(np.int64)  # position in `candidates`
    mean = run.choices.mean[starts].astype(np.int64)
    place = np.array([_place(run, i) for i in kept], dtype=np.int64)
    return _Sentences(
        cells=tuple(cell for i in kept if (cell := run.passages[i].cell) is not None),
        passage=np.array(kept, dtype=np.int64),
        place=place,
        pick=np.where(in_order[:, None, None], pick, 1 - pick),
        mean_right=np.where(in_order, mean, 1 - mean) == place,
    )


def _follows(found: _Sentences, common: NDArray[np.bool_], *, by_order: bool) -> NDArray[np.float64]:
    """(L, h): how often the place that is chosen differs between sentences with swapped nouns, or the other pronoun."""
    order = np.array([cell.order for cell in found.cells], dtype=np.int64)
    meant = np.where(order == 0, found.place, 1 - found.place)
    differs, same = (order, meant) if by_order else (meant, order)
    key = [(cell.pair, cell.template, int(value)) for cell, value in zip(found.cells, same, strict=True)]
    twins: dict[tuple[str, str, int], dict[int, int]] = {}
    for i in np.flatnonzero(common):
        twins.setdefault(key[i], {})[int(differs[i])] = int(i)
    first, second = (np.array([two[which] for two in twins.values()]) for which in (0, 1))
    return np.asarray((found.pick[first] != found.pick[second]).mean(axis=0))


def _choose(found: _Sentences, pair: NDArray[np.int64], n_pairs: int, seed: int, draws: int) -> Chosen | None:
    """Chooses a head on each half of the pairs in each part of the templates, and scores it elsewhere.

    Args:
        found: the n sentences.
        pair: (n,), number of each one's pair; from `n_pairs` on, the rarer ones.
        n_pairs: how many a head may be chosen on.
        seed: of the divisions, where there are too many to make them all, and of the draws.
        draws: of the bootstrap.
    """
    is_second = (found.part == PARTS[1]).astype(np.int64)  # (n,)
    right = found.right.reshape(len(found.cells), -1).astype(np.float64)  # (n, L·h)
    sums = np.zeros((pair.max() + 1, len(PARTS), right.shape[1]))  # (pairs, parts, L·h)
    np.add.at(sums, (pair, is_second), right)
    counts = np.zeros(sums.shape[:2])
    np.add.at(counts, (pair, is_second), 1)
    if n_pairs < 2 or (counts[:n_pairs] == 0).any():
        return None
    inside = _halves(n_pairs, seed)  # (D, pairs), True = the head is chosen on the pair
    totals = (
        np.einsum("dp,ptk->dtk", inside, sums[:n_pairs]) / np.einsum("dp,pt->dt", inside, counts[:n_pairs])[..., None]
    )
    head = totals.argmax(axis=-1)  # (D, parts), the first of equals
    chosen = Counter(head.ravel().tolist())
    outside = np.concatenate([~inside, np.ones((len(inside), len(counts) - n_pairs), dtype=bool)], axis=1)
    shares = []
    for new in (False, True):
        # A pair's expected hits in a part, over the divisions that left the pair out.
        by_part = [sums[:, t][:, head[:, t if not new else 1 - t]] for t in range(len(PARTS))]  # (pairs, D) each
        hits = np.stack([np.einsum("pd,dp->p", each, outside.astype(float)) for each in by_part], axis=1)
        shares.append(hits / outside.sum(axis=0)[:, None])  # (pairs, parts)
    n_heads = found.pick.shape[2]
    rest = slice(n_pairs, None)
    return Chosen(
        heads=tuple((divmod(number, n_heads), times / head.size) for number, times in chosen.most_common()),
        other_nouns=_share(shares[0][:n_pairs], counts[:n_pairs], seed, draws),
        new_templates=_share(shares[1][:n_pairs], counts[:n_pairs], seed, draws),
        rarer_nouns=_share(shares[1][rest], counts[rest], seed, draws) if len(counts) > n_pairs else None,
    )


def _halves(n_pairs: int, seed: int) -> NDArray[np.bool_]:
    """(D, pairs): every way to take half of the pairs, or MOST_DIVISIONS drawn ones where there are more."""
    half = n_pairs // 2
    if math.comb(n_pairs, half) <= MOST_DIVISIONS:
        taken = np.array(list(itertools.combinations(range(n_pairs), half)))  # (D, half)
    else:
        generator = np.random.default_rng(seed)
        taken = np.stack([generator.permutation(n_pairs)[:half] for _ in range(MOST_DIVISIONS)])
    inside = np.zeros((len(taken), n_pairs), dtype=bool)
    np.put_along_axis(inside, taken, True, axis=1)
    return inside


def _share(hits: NDArray[np.float64], counts: NDArray[np.float64], seed: int, draws: int) -> Share:
    """The share of all sentences, given (pairs, parts) hits and sentences; an interval from FEWEST_ARCS of them on."""
    sums = np.stack([hits.sum(axis=1), counts.sum(axis=1)], axis=1)  # (pairs, 2), as of group_sums
    total = sums.sum(axis=0)
    bounds = None
    if total[1] >= FEWEST_ARCS and len(sums) > 1:
        bounds = interval(bootstrap(sums, draws=draws, seed=seed)[:, 0])
    return Share(int(total[1]), float(total[0] / total[1]), bounds)
