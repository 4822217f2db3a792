"""Which heads follow which dependency relations.

For each relation, direction and head: how often the head's heaviest arrow from a word goes to the right word, among all
other words (Clark et al. 2019, section 4.2, but at the level of UD words). Two directions:
    dep>head  asked from the dependent; right is its head. One question an arc.
    head>dep  asked from the head; right is any of its dependents with that relation. One question a head.
The baseline looks a fixed number of words ahead or back (Voita et al. 2019, section 5.2.1). Under a mask only questions
whose right word can be seen are asked, and the baseline gets the same ones. In text without spaces words can share a
piece (去了); their arcs are left out and counted, since neither word has weights of its own. A head one of whose
dependents is such a word isn't asked for that relation: looking there would be right, and can't be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.arrows import Arrows
from analysis.evidence.corpora.annotated import Sentence, relation
from analysis.evidence.held_out import HeadIntervals, HeldOut, Hits, head_intervals, held_out
from analysis.evidence.intervals import DRAWS, FEWEST_SENTENCES, groups_of, halves
from analysis.evidence.scoring import Run

Direction = Literal["dep>head", "head>dep"]
DIRECTIONS: tuple[Direction, ...] = ("dep>head", "head>dep")
OFFSETS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)  # wider than the −3 … +2 of Clark et al. 2019's code


@dataclass(frozen=True, eq=False)
class RelationScore:
    """One relation in one direction, for every head.

    Attributes:
        n: questions.
        n_unseen: arcs that make no question, since the mask hides the right word.
        accuracy: (L, h), 0 to 1.
        best_offset, offset_accuracy: the baseline chosen and scored on the whole corpus.
        intervals: of every head; None below 30 questions.
        arrow_share: (L, h), the share of all of a head's arrows that are such arcs.
        stable: the corpus is large enough to name the best head.
        hits: question by question.
    """

    relation: str
    direction: Direction
    n: int
    n_unseen: int
    n_sentences: int
    accuracy: NDArray[np.float64]
    best_offset: int
    offset_accuracy: float
    held_out: HeldOut | None
    intervals: HeadIntervals | None
    arrow_share: NDArray[np.float64]
    stable: bool
    hits: Hits


@dataclass(frozen=True, eq=False)
class DependencyScores:
    """All relations with at least one question, the most frequent first, and what else the heads do.

    Attributes:
        unit: what intervals and halves keep together: "sentence" or "document".
        n_arrows: words that were asked.
        no_arc_share: (L, h), the share of a head's arrows between words that no arc links in either direction.
        offset_share: (L, h, 10), the share that go to each of OFFSETS.
        n_arcs: all arcs but roots.
        n_unclear: those of them that are left out since one of their words shares a piece or has none.
        n_incomplete: questions from head to dependent that are left out since another right word is unclear.
        n_unseen: direction → arcs that can't be asked since the mask hides the right word.
    """

    relations: tuple[RelationScore, ...]
    unit: str
    n_arrows: int
    no_arc_share: NDArray[np.float64]
    offset_share: NDArray[np.float64]
    n_arcs: int
    n_unclear: int
    n_incomplete: int
    n_unseen: dict[Direction, int]

    def of(self, relation: str, direction: Direction) -> RelationScore:
        """One of them; KeyError when there is none."""
        for each in self.relations:
            if (each.relation, each.direction) == (relation, direction):
                return each
        raise KeyError((relation, direction))


@dataclass(frozen=True, eq=False)
class Arcs:
    """All arcs of a corpus except roots, flat, in the order of the words (n arcs).

    Attributes:
        sentence: (n,).
        dependent, head: (n,), index in the sentence.
        relation: (n,), number in `names`.
    """

    sentence: NDArray[np.int64]
    dependent: NDArray[np.int64]
    head: NDArray[np.int64]
    relation: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> Arcs:
        """The arcs of `sentences`."""
        names: dict[str, int] = {}
        rows = [
            (i, word, head, names.setdefault(relation(deprel), len(names)))
            for i, sentence in enumerate(sentences)
            for word, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True))
            if head >= 0
        ]
        sentence, dependent, head, kind = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return cls(sentence, dependent, head, kind, tuple(names))

    @property
    def n(self) -> int:
        """How many."""
        return len(self.sentence)

    def unclear(self, arrows: Arrows) -> NDArray[np.bool_]:
        """(n,), True = one of the two words shares a piece with another word or has none."""
        starts = arrows.starts[self.sentence]
        return np.asarray(arrows.unclear[starts + self.dependent] | arrows.unclear[starts + self.head])

    def where(self, kept: NDArray[np.bool_]) -> Arcs:
        """Some of the arcs, kept (n,)."""
        sentence, dependent, head, kind = (
            column[kept] for column in (self.sentence, self.dependent, self.head, self.relation)
        )
        return Arcs(sentence, dependent, head, kind, self.names)


@dataclass(frozen=True, eq=False)
class Questions:
    """All questions of one direction, with who answers them right.

    Attributes:
        relation: (n,), number in `Arcs.names`.
        sentence, asking: (n,), the sentence and the word that is asked.
        right: (n, L, h).
        offset_right: (n, 10), for OFFSETS.
        n_incomplete: those left out since one of their right words is unclear.
        unseen: (relations,), arcs of each relation that are left out since the mask hides the right word.
    """

    relation: NDArray[np.int64]
    sentence: NDArray[np.int64]
    asking: NDArray[np.int64]
    right: NDArray[np.bool_]
    offset_right: NDArray[np.bool_]
    n_incomplete: int
    unseen: NDArray[np.int64]


def ask(arcs: Arcs, arrows: Arrows, direction: Direction) -> Questions:
    """Every question of one direction with who is right, arcs of unclear words left out."""
    n_incomplete = 0
    unclear = arcs.unclear(arrows)
    if direction == "head>dep" and unclear.any():
        # One question is all arcs of one head and relation that it may see: either all of them can be right, or none.
        seen = _is_visible(arcs.sentence, arcs.head, arcs.dependent, arrows)
        _, question = np.unique(np.stack([arcs.sentence, arcs.head, arcs.relation]), axis=1, return_inverse=True)
        question = question.ravel()  # (n,)
        has_unclear, has_clear = (np.bincount(question, weights=seen & which) > 0 for which in (unclear, ~unclear))
        n_incomplete = int((has_unclear & has_clear).sum())
        unclear |= has_unclear[question]
    arcs = arcs.where(~unclear)
    asked, wanted = (arcs.dependent, arcs.head) if direction == "dep>head" else (arcs.head, arcs.dependent)
    seen = _is_visible(arcs.sentence, asked, wanted, arrows)
    unseen = np.bincount(arcs.relation[~seen], minlength=len(arcs.names))
    sentence, asked, wanted, kind = (column[seen] for column in (arcs.sentence, asked, wanted, arcs.relation))
    right = arrows.target[arrows.starts[sentence] + asked] == wanted[:, None, None]  # (n, L, h)
    offset_right = (wanted - asked)[:, None] == np.array(OFFSETS)  # (n, 10)
    if direction == "head>dep" and len(sentence):
        # A head with two dependents of one relation is one question, and either is right.
        order = np.lexsort((kind, asked, sentence))
        key = np.stack([sentence, asked, kind])[:, order]
        starts = np.flatnonzero(np.any(np.diff(key, axis=1, prepend=-1) != 0, axis=0))
        right = np.logical_or.reduceat(right[order], starts, axis=0)
        offset_right = np.logical_or.reduceat(offset_right[order], starts, axis=0)
        sentence, asked, kind = key[:, starts]
    return Questions(kind, sentence, asked, right, offset_right, n_incomplete, unseen)


def score_dependencies(run: Run, *, seed: int = 0, draws: int = DRAWS, by_document: bool = True) -> DependencyScores:
    """The scores of every relation and direction that has a question.

    Args:
        run: of `analysis.evidence.scoring.score`.
        seed: of the halves and of the draws.
        draws: of the bootstrap.
        by_document: keep documents together where they are known; otherwise sentences.
    """
    documents = [(s.place.file, s.doc) if by_document and s.doc is not None else None for s in run.sentences]
    groups, unit = groups_of(documents)
    second = halves(groups, seed) if len(groups) else np.empty(0, dtype=bool)
    every = Arcs.of(run.sentences)
    unclear = every.unclear(run.arrows)  # (n,)
    asked = np.any(run.arrows.target >= 0, axis=(1, 2)) & ~run.arrows.unclear
    n_arrows = int(asked.sum())
    scores = []
    n_incomplete = 0
    n_unseen: dict[Direction, int] = {}
    for direction in DIRECTIONS:
        questions = ask(every, run.arrows, direction)
        n_incomplete += questions.n_incomplete
        n_unseen[direction] = int(questions.unseen.sum())
        for number, name in enumerate(every.names):
            rows = np.flatnonzero(questions.relation == number)
            if len(rows):
                sentence = questions.sentence[rows]
                hits = Hits(
                    heads=questions.right[rows],
                    baselines=questions.offset_right[rows],
                    names=tuple(f"{offset:+d}" for offset in OFFSETS),
                    example=sentence,
                    group=groups[sentence],
                    second_half=second[sentence],
                )
                n_hidden = int(questions.unseen[number])
                scores.append(_relation_score(name, direction, hits, n_hidden, n_arrows, seed, draws))
    scores.sort(key=lambda each: (-each.n, each.relation, each.direction))
    no_arc, offsets = _other_patterns(run, asked)
    return DependencyScores(
        tuple(scores), unit, n_arrows, no_arc, offsets, every.n, int(unclear.sum()), n_incomplete, n_unseen
    )


def _relation_score(
    name: str, direction: Direction, hits: Hits, n_unseen: int, n_arrows: int, seed: int, draws: int
) -> RelationScore:
    offsets = hits.baseline_accuracy()
    best = int(offsets.argmax())
    n_sentences = hits.n_examples
    return RelationScore(
        relation=name,
        direction=direction,
        n=hits.n,
        n_unseen=n_unseen,
        n_sentences=n_sentences,
        accuracy=hits.accuracy(),
        best_offset=OFFSETS[best],
        offset_accuracy=float(offsets[best]),
        held_out=held_out(hits, seed=seed, draws=draws),
        intervals=head_intervals(hits, seed=seed, draws=draws),
        arrow_share=hits.heads.sum(axis=0) / max(1, n_arrows),
        stable=n_sentences >= FEWEST_SENTENCES,
        hits=hits,
    )


def _is_visible(
    sentence: NDArray[np.int64], asked: NDArray[np.int64], wanted: NDArray[np.int64], arrows: Arrows
) -> NDArray[np.bool_]:
    out = np.ones(len(sentence), dtype=bool)
    for i, (s, a, w) in enumerate(zip(sentence.tolist(), asked.tolist(), wanted.tolist(), strict=True)):
        cells = arrows.visible[s]
        if cells is not None:
            out[i] = cells[a, w]
    return out


def _other_patterns(run: Run, asked: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """no_arc_share (L, h) and offset_share (L, h, 10) over the words that were asked."""
    arrows = run.arrows
    shape = (run.n_layers, run.n_heads)
    if not asked.any():
        return np.full(shape, np.nan), np.full((*shape, len(OFFSETS)), np.nan)
    sizes = np.diff(arrows.starts)
    start = np.repeat(arrows.starts[:-1], sizes)[asked]  # (T,)
    word = np.flatnonzero(asked) - start  # index in its sentence
    heads = np.concatenate([np.array(sentence.heads) for sentence in run.sentences])
    target = arrows.target[asked].astype(np.int64)  # (T, L, h)
    to_head = target == heads[asked][:, None, None]
    to_dependent = heads[target + start[:, None, None]] == word[:, None, None]
    distance = target - word[:, None, None]
    offsets = np.stack([(distance == offset).mean(axis=0) for offset in OFFSETS], axis=-1)
    return 1 - (to_head | to_dependent).mean(axis=0), offsets
