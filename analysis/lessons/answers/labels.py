"""What a head's name leaves out: its other arrows, and its other jobs. From shipped records."""

from __future__ import annotations

from analysis.lessons.answer import Answer, answers
from analysis.lessons.answers.recorded import head_in, record_of, source_of, table_of
from analysis.lessons.numbers import percent
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars
from model import HeadworkError


@answers("share_of_arrows")
def share_of_arrows(
    setup: Setup, *, corpus: str, relation: str, layer: int, head: int, direction: str = "dep>head"
) -> Answer:
    """number: of all arrows of a head between words, the share that are right arcs of one relation, in %.

    Says head, accuracy and n (of the relation), baseline; then share, and no_arc: the share that no arc links.
    """
    table = table_of(setup.model_id, corpus, relation, direction)
    name = head_in(table.accuracy.shape, layer, head)
    no_arc = record_of(setup.model_id, corpus).no_arc()
    if table.arrow_share is None or no_arc is None:
        raise HeadworkError("The record {corpus} has no shares of arrows. Choose another corpus.", corpus=corpus)
    share, none = float(table.arrow_share[name]), float(no_arc[name])
    bars = (
        Bar({"en": "this relation", "zh": "这种关系"}, share, is_right=True),
        Bar({"en": "another relation", "zh": "其他关系"}, max(0.0, 1 - share - none)),
        Bar({"en": "no relation at all", "zh": "没有任何关系"}, none),
    )
    return Answer(
        right=100 * share,
        given={
            "head": str(name),
            "n": str(table.n),
            "accuracy": percent(float(table.accuracy[name])),
            "baseline": percent(table.baseline),
        },
        said={"share": percent(share), "no_arc": percent(none)},
        picture="bars",
        shown=Bars(bars, "%", note=source_of(setup.model_id, corpus)),
    )


@answers("jobs")
def jobs(setup: Setup, *, corpus: str, layer: int, head: int) -> Answer:
    """number: for how many relations, from dependent to head, a head beats the best fixed offset; of those with n ≥ 30.

    It beats it where the whole interval of the gain lies above 0. Says head and total; then n and the best three
    relations with their gains: names.
    """
    record = record_of(setup.model_id, corpus)
    tables = [record.table(task, way) for task, way in record.tasks(30) if way == "dep>head"]
    kept = [table for table in tables if table is not None and table.gain_low is not None]
    name = head_in(record.shape, layer, head)
    won = sorted((table for table in kept if table.beats[name]), key=lambda table: -float(table.gain[name]))
    bars = tuple(Bar(table.task, float(table.accuracy[name])) for table in won[:6])
    return Answer(
        right=float(len(won)),
        given={"head": str(name), "total": str(len(kept))},
        said={"n": str(len(won)), "names": ", ".join(table.task for table in won)},
        picture="bars",
        shown=Bars(bars, "%", note=source_of(setup.model_id, corpus)),
    )
