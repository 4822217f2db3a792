"""The three kinds of training as the picture takes them: what the rows and columns are, and what is looked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from model.tasks.translate import CLASSES
from model.training import Training
from model.training.kinds import AnyRun
from model.training.peek import PeekFrame, Peeking
from model.training.translate import Translating
from ui.frame.languages import _
from ui.learn.words import relation_names, spoken
from viz.learning import Bools, Checkpoint, Lesson, Look


def lesson_of(run: AnyRun) -> Lesson:
    """The sentence whose maps are shown, and what is to be found in it."""
    if isinstance(run, Training):
        return Lesson(
            labels=run.words,
            relations=relation_names(run.task),
            keys=run.example.keys[0].numpy(),
            n_answers=run.n_answers,
            chance=run.task.chance,
        )
    return _translation(run) if isinstance(run, Translating) else _peek(run)


def _translation(run: Translating) -> Lesson:
    links, classes = np.array(run.links), run.example.classes[0].numpy()
    keys = np.stack([np.where(classes == kind, links, -1) for kind in range(len(CLASSES))], axis=-1)
    return Lesson(
        labels=run.source,
        relations=[_(name) for name in CLASSES],
        keys=keys,
        n_answers=128,
        chance=None,
        rows=run.rows,
        gold=links.tolist(),
        shows=("hit",),
        says={
            "of": _("of {n} held-out sentences, written by itself"),
            "right": _("{network}: {share} of sentences right"),
            "none": _("No head looks at the aligned word for half of any word class yet."),
            "none_at_end": _("No head looks at the aligned word for half of any word class."),
            "also": "",  # where one head is aligned, most are
            "each": _("Each word class has a head of its own."),
            "about_hit": _(
                "How often, in %, the largest weight is on the aligned source word, by class of target word"
            ),
            "table": _("Word classes"),
            "all_gold": _(
                "Outlined: the true alignment. Solid: the row's largest weight is there. Dashed: it is elsewhere."
            ),
            "gold": _("Outlined: where each {relation} of the target comes from, in every map."),
        },
    )


def _peek(run: Peeking) -> Lesson:
    n = len(run.words)
    rows = np.arange(n)
    verbs = rows % 4 == 2
    keys = np.stack([np.where(rows + 1 < n, rows + 1, -1), np.where(verbs, rows - 1, -1)], axis=-1)
    return Lesson(
        labels=spoken(run.words),
        relations=[_("next word, +1"), _("subject, −1")],
        keys=keys,
        n_answers=128,
        chance=run.task.best_accuracy,
        gold=keys[:, 0].tolist(),
        floor=run.task.floor,
        opens_on="loss",
        shows=("weight",),
        says={
            "of": _(
                "of next words in {n} fresh texts, the words before given; the past alone allows {chance} on average"
            ),
            "baseline": _("the past alone: {chance}"),
            "about_weight": _("Mean weight on the next word, one to the right, and from a verb on its subject"),
            "all_gold": _(
                "Outlined: the next word, which each row must foretell, where the mask shows it. Solid: the row's "
                "largest weight is there."
            ),
            "none": _("No head gives half of its weight to the next word, or from a verb to its subject, yet."),
            "none_at_end": _("No head gives half of its weight to the next word, or from a verb to its subject."),
            "some": "",
            "some_at_end": "",
            "gold": _("Outlined: {relation}, for each row that has one."),
        },
    )


def looks_of(run: AnyRun, frames: Sequence[Any]) -> list[Checkpoint]:
    """Its checkpoints as the picture takes them."""
    if isinstance(run, Training):
        return list(frames)
    if isinstance(run, Translating):
        found = [(frame, frame.alignment.by_class) for frame in frames]
        return [Look(frame.step, frame.cross, shares, shares) for frame, shares in found]
    return [_look(frame) for frame in frames]


def _look(frame: PeekFrame) -> Look:
    shares = np.stack([frame.answer, frame.before], axis=-1)
    return Look(frame.step, frame.maps, shares, shares)


def allowed_of(run: AnyRun) -> Bools:
    """(N_q, N_k), True = the query may attend to the key in the maps that are shown."""
    if isinstance(run, Translating):
        allowed: Bools = np.ones(run.frames[0].cross.shape[-2:], dtype=bool)
        return allowed
    n = len(run.words)
    seen: Bools = run.settings.allowed.allowed(n).numpy()
    return seen
