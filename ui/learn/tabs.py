"""What a run taught, in detail: curves of each relation, entropy of each head, and what one head is needed for."""

from collections.abc import Iterable, Sequence

import numpy as np
import streamlit as st

from model.head_id import HeadId
from model.training import SwitchedOff, Training
from ui.frame.captions import chart
from ui.frame.languages import _, plain
from ui.learn.runs import Shown
from ui.learn.words import network_names, relation_names
from viz.learning import owners
from viz.learning_curves import Answers, entropy_figure, relations_figure, switched_off_figure
from viz.theme import percent

NEEDED = 0.5  # a relation needs a head when at most half of its right answers are left without it
LITTLE = 0.9  # and loses little when at least nine tenths are left
LEARNT = 0.1  # of the way from the baseline to all right, at least


def curves_tab(shown: Shown) -> None:
    """Right answers by relation, and how widely each head looks."""
    runs = shown.of(Training)
    main = runs[-1]
    names = network_names([training.settings for training in runs])
    answers = [
        Answers(name, [point.step for point in run.curve], np.array([point.by_relation for point in run.curve]))
        for name, run in zip(names, runs, strict=True)
    ]
    left, right = st.columns(2, gap="medium")
    with left:
        beside = answers[0] if len(answers) > 1 else None
        figure = relations_figure(answers[-1], beside, relation_names(main.task), chance=main.task.chance, t=_)
        chart(figure, "learn_relations")
        st.caption(_("On 128 sentences that are never trained on. Click on a name to hide its line."))
    with right:
        n_keys = int(main.settings.allowed.allowed(main.task.n_tokens).sum(dim=-1).max())
        figure = entropy_figure([frame.step for frame in main.frames], main.entropy, n_keys, t=_)
        chart(figure, "learn_entropy")
        st.caption(
            _("0 = all weight on one token. It falls when a head finds its place; a low entropy alone names no role.")
        )


def off_tab(shown: Shown) -> None:
    """Each head off alone, on sentences that no curve has seen."""
    main = shown.of(Training)[-1]
    found = _switched_off(shown.name, main.step_number, main)
    relations = relation_names(main.task)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        figure = switched_off_figure(found.without, found.unharmed, relations, chance=main.task.chance, t=_)
        chart(figure, "learn_off")
    with right:
        for sentence in says(found, owners(main.frames[-1].share), relations, main.task.chance):
            st.markdown(plain(sentence))
        st.caption(
            _(
                "A head is off when its slice of the input to W_o is 0; nothing is trained again. Measured on 1,024 "
                "fresh sentences. A relation needs a head when at most half of its right answers are left without it; "
                "heads do the same when nine tenths are left without any one of them. Not learnt: less than a tenth of "
                "the way from the baseline to all right."
            )
        )


def says(
    found: SwitchedOff, taken: Sequence[Sequence[tuple[int, int]]], relations: Sequence[str], chance: float
) -> list[str]:
    """Which relation needs which head, where a copy steps in, and what was not learnt at all.

    Args:
        found: what is left with each head off.
        taken: for each of the R relations the heads (layer, head) that have taken it.
        relations: their R names; one that is never asked is left out.
        chance: the share right by chance, the baseline.
    """
    said = []
    for number, relation in enumerate(relations):
        whole, left = found.unharmed[number], found.without[..., number]  # left: (L, h)
        if np.isnan(whole):
            continue
        is_needed = left <= NEEDED * whole
        if whole < chance + LEARNT * (1 - chance):
            sentence = _("{relation} was not learnt: {whole} of its answers are right, the baseline gets {chance}.")
        elif is_needed.any():
            sentence = _(
                "{relation} needs {heads}: without it {rest} of its answers are right, with every head {whole}."
            )
        elif left.min() < LITTLE * whole:
            sentence = _(
                "{relation} needs no single head, but loses something: without {worst} {least} of its answers are "
                "right, with every head {whole}."
            )
        elif len(taken[number]) > 1:
            sentence = _(
                "{relation}: {heads} do the same, so it needs no single one (at least {least} right without any one "
                "head, {whole} with all)."
            )
        else:
            sentence = _(
                "{relation} needs no single head (at least {least} right without any one head, {whole} with all)."
            )
        values = {
            "relation": relation,
            "heads": _names(np.argwhere(is_needed)) or _names(taken[number]),
            "rest": _(", ").join(percent(value) for value in left[is_needed]),
            "worst": _names(np.argwhere(left == left.min())[:1]),
            "least": percent(left.min()),
            "whole": percent(whole),
            "chance": percent(chance),
        }
        said.append(sentence.format(**values))
    return said


def _names(heads: Iterable[Sequence[int]]) -> str:
    return _(", ").join(str(HeadId(layer, head)) for layer, head in heads)


@st.cache_resource(max_entries=32, show_spinner=False)
def _switched_off(name: str, step: int, _training: Training) -> SwitchedOff:
    return _training.switched_off()
