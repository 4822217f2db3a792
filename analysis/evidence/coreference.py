"""Which heads find what a pronoun stands for.

For each head: how often, of the mentions that may be meant, the one whose head word gets most of the pronoun's weight
is right (Clark et al. 2019, section 4.3: "antecedent selection", here with one pronoun a passage). Baselines know
nothing of attention. The query control asks the same head from other words of the passage: a head that finds the right
mention from there too looks at a topic and not at what the pronoun means.
Passages of a balanced set are scored by analysis.evidence.gender. A passage whose pronoun or candidate shares a piece
with another word (因为他) is left out: `left_out` counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.arrows import NOWHERE
from analysis.evidence.corpora.annotated import Passage
from analysis.evidence.held_out import HeadIntervals, HeldOut, Hits, head_intervals, held_out
from analysis.evidence.intervals import DRAWS, FEWEST_SENTENCES, groups_of, halves
from analysis.evidence.scoring import Run

Subset = Literal["all", "noun"]
SUBSETS: tuple[Subset, ...] = ("all", "noun")


@dataclass(frozen=True, eq=False)
class CoreferenceScore:
    """One subset of mentions, for every head.

    Attributes:
        subset: "all" mentions, or "noun": only mentions that are no pronouns may be chosen, and be right.
        n: passages with a right and a wrong mention to choose from.
        n_unseen: passages that have both, but not among the mentions that the mask shows.
        chance: what choosing blindly gets.
        baselines: name → accuracy; "nearest subject" only where relations are known.
        accuracy: (L, h), 0 to 1.
        query_control: (L, h), the same asked from the other words, averaged within a passage; NaN without any.
        held_out: with the best of the baselines, chosen as the head is.
    """

    subset: Subset
    n: int
    n_unseen: int
    n_documents: int | None
    unit: str
    chance: float
    baselines: dict[str, float]
    accuracy: NDArray[np.float64]
    query_control: NDArray[np.float64]
    held_out: HeldOut | None
    intervals: HeadIntervals | None
    stable: bool
    hits: Hits


def score_coreference(run: Run, *, seed: int = 0, draws: int = DRAWS) -> tuple[CoreferenceScore, ...]:
    """The scores of the subsets that have a passage. Arguments as in `score_dependencies`."""
    scores = (_score_subset(run, subset, seed, draws) for subset in SUBSETS)
    return tuple(score for score in scores if score is not None)


def left_out(run: Run) -> int:
    """How many passages outside balanced sets have a pronoun or candidate that shares a piece with another word."""
    return sum(
        bool(unclear) and passage.cell is None
        for passage, unclear in zip(run.passages, run.choices.unclear, strict=True)
    )


def nearest(passage: Passage, choices: Sequence[int]) -> int:
    """The choice whose head word is the fewest words away, before or after; the earlier of two."""
    return min(choices, key=lambda i: (abs(passage.candidates[i] - passage.pronoun), passage.candidates[i]))


def first(passage: Passage, choices: Sequence[int]) -> int:
    """The choice whose head word comes first in the passage."""
    return min(choices, key=lambda i: passage.candidates[i])


def same_word(passage: Passage, choices: Sequence[int]) -> int:
    """The nearest choice that is the pronoun's own word, without regard to capitals; the nearest if there is none."""
    word = passage.words[passage.pronoun].lower()
    return nearest(passage, [i for i in choices if passage.words[passage.candidates[i]].lower() == word] or choices)


def nearest_subject(passage: Passage, choices: Sequence[int]) -> int:
    """The nearest choice that is a subject (nsubj and its subtypes); the nearest if there is none."""
    deprels = passage.candidate_deprels or ("",) * len(passage.candidates)
    return nearest(passage, [i for i in choices if deprels[i].partition(":")[0] == "nsubj"] or choices)


BASELINES: dict[str, Callable[[Passage, Sequence[int]], int]] = {
    "nearest": nearest,
    "first": first,
    "same word": same_word,
    "nearest subject": nearest_subject,
}


def _score_subset(run: Run, subset: Subset, seed: int, draws: int) -> CoreferenceScore | None:
    picks = run.choices.picks[subset]  # (Q, L, h)
    starts = np.searchsorted(run.choices.passage, np.arange(len(run.passages)))
    rows = {}  # passage → what may be chosen there
    n_unseen = 0
    for i, passage in enumerate(run.passages):
        if passage.cell is not None or run.choices.unclear[i]:
            continue
        seen = run.choices.visible[starts[i]]
        within = range(len(passage.candidates)) if subset == "all" else passage.nouns or ()
        choices = [j for j in within if seen[j]]
        if _is_a_choice(passage, choices):
            rows[i] = choices
        else:
            n_unseen += _is_a_choice(passage, within)
    if not rows:
        return None
    kept = np.array(list(rows))
    names = [name for name in BASELINES if name != "nearest subject" or _has_subjects(run, rows)]
    is_right = right_table(run.passages)  # (P, C)
    picked = np.array([[BASELINES[name](run.passages[i], rows[i]) for name in names] for i in rows])  # (n, K)
    documents = [(p.place.file, p.doc) if p.doc is not None else None for p in run.passages]
    plain = np.array([i for i, passage in enumerate(run.passages) if passage.cell is None])
    among, unit = groups_of([documents[i] for i in plain])
    groups, second = np.zeros(len(documents), dtype=np.int64), np.zeros(len(documents), dtype=bool)
    groups[plain], second[plain] = among, halves(among, seed)
    asked = picks[starts[kept]].astype(np.int64)  # (n, L, h); every passage here has something to choose
    hits = Hits(
        heads=is_right[kept[:, None, None], asked],
        baselines=is_right[kept[:, None], picked],
        names=tuple(names),
        example=kept,
        group=groups[kept],
        second_half=second[kept],
    )
    known = {documents[i] for i in rows}
    return CoreferenceScore(
        subset=subset,
        n=hits.n,
        n_unseen=n_unseen,
        n_documents=None if None in known else len(known),
        unit=unit,
        chance=float(np.mean([np.mean(is_right[i, choices]) for i, choices in rows.items()])),
        baselines=dict(zip(names, hits.baseline_accuracy().tolist(), strict=True)),
        accuracy=hits.accuracy(),
        query_control=query_control(run, picks, is_right, kept, starts),
        held_out=held_out(hits, seed=seed, draws=draws),
        intervals=head_intervals(hits, seed=seed, draws=draws),
        stable=hits.n >= FEWEST_SENTENCES,
        hits=hits,
    )


def _is_a_choice(passage: Passage, choices: Iterable[int]) -> bool:
    """Whether there is a right and a wrong one among them."""
    return len({passage.candidates[choice] in passage.antecedents for choice in choices}) == 2


def _has_subjects(run: Run, rows: dict[int, list[int]]) -> bool:
    return all(run.passages[i].candidate_deprels is not None for i in rows)


def right_table(passages: Sequence[Passage]) -> NDArray[np.bool_]:
    """(P, C), whether each candidate is right, filled up with False."""
    table = np.zeros((len(passages), max(len(p.candidates) for p in passages)), dtype=bool)
    for i, passage in enumerate(passages):
        table[i, : len(passage.candidates)] = np.isin(passage.candidates, passage.antecedents)
    return table


def query_control(
    run: Run,
    picks: NDArray[np.int16],
    is_right: NDArray[np.bool_],
    kept: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The right candidate found from the words that are asked besides the pronoun.

    Args:
        run: the run, with P passages.
        picks: (Q, L, h), of one subset.
        is_right: (P, C).
        kept: (n,), the passages that count.
        starts: (P,), each passage's first question, its pronoun.

    Returns:
        (L, h): mean over passages of the mean over their other asking words; NaN where no other word is asked.
    """
    passage = run.choices.passage
    others = np.ones(len(passage), dtype=bool)
    others[starts] = False  # the pronouns
    others &= np.isin(passage, kept)
    chosen = picks[others].astype(np.int64)  # (q, L, h)
    if not len(chosen):
        return np.full(picks.shape[1:], np.nan)
    right = is_right[passage[others][:, None, None], chosen] & (chosen != NOWHERE)
    _, index, counts = np.unique(passage[others], return_inverse=True, return_counts=True)
    weights = 1 / counts[index] / len(counts)
    return np.tensordot(weights, right, axes=1)
