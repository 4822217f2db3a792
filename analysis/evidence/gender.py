"""Which heads match a pronoun with the noun of its gender, on a balanced set (analysis.sentences.gender).

A head is right where it gives more of the pronoun's weight to the noun of its gender than to the other noun (between
words: sum over the noun's pieces, mean over the pronoun's). In each cell of the set, a pair of nouns in one template,
there are both orders and both pronouns: going by place, or by one noun, gets exactly half. A cell of which one sentence
can't be scored is left out as a whole, so that this stays true.

Heads are chosen on some pairs and scored on others, see `analysis.evidence.noun_pairs`. Intervals draw whole pairs.

What this shows is that genders match, which is not yet understanding: see `analysis.evidence.meaning`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.coreference import query_control, right_table
from analysis.evidence.corpora.annotated import Cell
from analysis.evidence.held_out import HeadIntervals, Hits, head_intervals
from analysis.evidence.intervals import DRAWS, FEWEST_SENTENCES
from analysis.evidence.noun_pairs import Chosen, choose
from analysis.evidence.scoring import Run

PARTS = (1, 2)
QUESTIONS = [(0, 0), (0, 1), (1, 0), (1, 1)]  # a whole cell: order of the nouns, and which of them is meant
BASELINE = "first"  # every baseline that goes by place is right in half of each cell


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
    """The score of each balanced set of the run; none without such passages.

    Args:
        run: of `analysis.evidence.scoring.score`.
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
        names=(BASELINE,),
        example=found.passage[common],
        group=pair[common],
        second_half=np.zeros(int(common.sum()), dtype=bool),  # `choose` makes its own divisions
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
        chosen=choose(right, pair, found.part == PARTS[1], len(pairs), seed=seed, draws=draws),
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
