"""Everything known about one head: what it is good at, and what else it does."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from analysis.evidence.dependencies import OFFSETS
from analysis.evidence.intervals import FEWEST_ARCS
from analysis.evidence.records import GENDER, Record, Table, patterns
from ui.frame import remarks
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain
from ui.heads import data, gender
from ui.heads.choices import View
from ui.heads.words import baseline_label, corpus_name, head_claim, origin, points, scored, short_name, task_name
from viz.scores import Bar, head_bars
from viz.theme import percent

MOST_BARS = 10
MOST_ELSEWHERE = 4
CAUTION = (
    "A head is not a fixed label: it is a pattern, measured on this corpus, and may differ on yours. High weight is "
    "not proof of use: most single heads can be switched off at little cost (Michel et al. 2019; Kovaleva et al. 2019)."
    " “In a sentence” has a switch to try it."
)


def card_tab(view: View) -> None:
    """The head's relations with their gains, and what else it does."""
    st.subheader(_("Head {name}").format(name=view.name))
    st.caption(plain(origin(view.record)))
    tables = _tables(view)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        better = [table for table in tables if table.beats[view.head] and not table.is_thin]
        st.markdown(plain(_summary(view, tables, better)))
        bars = [_bar(view, table) for table in (better or tables)[:MOST_BARS]]
        if view.task == GENDER:
            bars = _pronouns(view)
        chart(
            head_bars(bars, t=_),
            "heads_bars",
            alt=_("Accuracy of head {name} for each task, with intervals and the best baseline.").format(
                name=view.name
            ),
        )
        st.caption(
            _("Pronouns on each corpus. Whiskers: 95 % intervals. Point at a bar for more.")
            if view.task == GENDER
            else _("↓: the governing word looks at its dependent. Whiskers: 95 % intervals. Point at a bar for more.")
        )
        worse = [table for table in tables if not table.beats[view.head] and not table.is_thin]
        if worse:
            listed = _(", ").join(_short(table) for table in worse[:12])
            small(_("No better than the baseline: {list}.").format(list=listed))
    with right:
        st.markdown(f"**{plain(_('What else it does'))}**")
        for line in _else(view, tables):
            st.markdown(f"- {plain(line)}")
        for line in _elsewhere(view):
            st.markdown(f"- {plain(line)}")
        for record in _genders(view):
            st.markdown(f":primary[**▲**] {plain(gender.is_no_understanding(record, view.head))}")
        st.markdown(f":primary[**▲**] {plain(_(CAUTION))}")


def _pronouns(view: View) -> list[Bar]:
    """What the head does with pronouns on each corpus of the model: a balanced set has no other task to show."""
    model_id = str(view.record.provenance["model"]["id"])
    bars = []
    for corpus in data.corpora(model_id, data.language_of(view.record)):
        record = data.record(model_id, corpus, view.variant)
        found = [record.table(task, "") for task in (GENDER, "coref-noun", "coref")] if record is not None else []
        table = next((table for table in found if table is not None), None)
        if record is not None and table is not None:
            bars.append(replace(_bar(view, table), name=corpus_name(record)))
    return bars


def _tables(view: View) -> list[Table]:
    return _by_gain(view.record, view.head)


def _by_gain(record: Record, head: tuple[int, int]) -> list[Table]:
    """All tasks with enough arcs, the largest gain of this head first."""
    found = [
        table
        for task, direction in record.tasks(fewest=FEWEST_ARCS)
        if (table := record.table(task, direction)) is not None
    ]
    return sorted(found, key=lambda table: -float(table.gain[head]))


def _elsewhere(view: View) -> list[str]:
    """What the head is best at on the other corpora, in the same run."""
    model_id = str(view.record.provenance["model"]["id"])
    says = []
    for corpus in data.corpora(model_id):
        record = data.record(model_id, corpus, view.variant)
        if record is None or corpus == view.corpus:
            continue
        better = [table for table in _by_gain(record, view.head) if table.beats[view.head]][:MOST_ELSEWHERE]
        listed = _(", ").join(
            f"{_short(table)} {percent(float(table.accuracy[view.head]))} ({points(float(table.gain[view.head]))})"
            for table in better
        )
        said = _("{corpus}: {list}.") if better else _("{corpus}: never better than the baseline.")
        says.append(said.format(corpus=corpus_name(record), list=listed))
    return says


def _genders(view: View) -> list[Record]:
    """The balanced set on which this head matches genders, if it does so on one; that of the page says so above."""
    model_id = str(view.record.provenance["model"]["id"])
    language = data.language_of(view.record)
    record = data.record(model_id, f"gender_{language}", view.variant)
    table = None if record is None else record.table(GENDER, "")
    if view.task == GENDER or record is None or table is None or not table.beats[view.head]:
        return []
    return [record]


def _summary(view: View, tables: list[Table], better: list[Table]) -> str:
    if not better:
        return _("No clear role: {name} beats the baseline on none of {total} tasks.").format(
            name=view.name, total=len(tables)
        )
    sentence = _("{name} beats the baseline on {n} of {total} tasks; most on {task}: {gain} points.")
    best = better[0]
    return sentence.format(
        name=view.name,
        n=len(better),
        total=len(tables),
        task=task_name(best.task, best.direction),
        gain=scored(best, view.head)[1],
    )


def _short(table: Table) -> str:
    return short_name(table.task) + (" ↓" if table.direction == "head>dep" else "")


def _bar(view: View, table: Table) -> Bar:
    head = view.head
    return Bar(
        name=_short(table),
        accuracy=float(table.accuracy[head]),
        low=None if table.low is None else float(table.low[head]),
        high=None if table.high is None else float(table.high[head]),
        baseline=table.baseline,
        beats=bool(table.beats[head]),
        thin=table.is_thin,
        says=f"{task_name(table.task, table.direction)}<br>{head_claim(table, head)}",
    )


def _else(view: View, tables: list[Table]) -> list[str]:
    """Sentences about the rest of what the head does."""
    head = view.head
    says = []
    no_arc = view.record.no_arc()
    if no_arc is not None:
        says.append(_("{share} of its arrows join words that no arc links.").format(share=percent(float(no_arc[head]))))
    shown = view.table
    if shown.arrow_share is not None:
        says.append(
            _("{share} of all its arrows are {task}; it gets {accuracy} of those right.").format(
                share=f"{100 * float(shown.arrow_share[head]):.1f} %",
                task=task_name(shown.task, shown.direction),
                accuracy=percent(float(shown.accuracy[head])),
            )
        )
    offsets = view.record.offset_share()
    if offsets is not None:
        of_head = offsets[head]
        best = int(np.argmax(of_head))
        says.append(
            _("Most common offset: {step}, {share} of its arrows.").format(
                step=baseline_label(f"{OFFSETS[best]:+d}"), share=percent(float(of_head[best]))
            )
        )
    if shown.query_control is not None:
        says.append(
            _(
                "Asked from other words of the passage it finds {share} of the antecedents, from the pronoun {own}."
            ).format(share=percent(float(shown.query_control[head])), own=percent(float(shown.accuracy[head])))
        )
    says += _measured_patterns(view)
    n_objects = [table for table in tables if head_ties(table, view.name)]
    if n_objects:
        says.append(
            _("Can't be told from the best head of: {list}.").format(
                list=_(", ").join(_short(t) for t in n_objects[:8])
            )
        )
    return says


def head_ties(table: Table, name: str) -> bool:
    """Whether the head is among those that can't be told from the best one, and beats the baseline."""
    layer, _dash, head = name.partition("-")
    return name in table.ties and bool(table.beats[int(layer) - 1, int(head) - 1])


def _measured_patterns(view: View) -> list[str]:
    """Sinks, neighbours and similar heads, on sentences of the own corpus."""
    model_id = str(view.record.provenance["model"]["id"])
    found = patterns(model_id)
    if found is None or view.variant in ("untrained", "mask"):
        return []
    layer, head = view.head
    metrics = {name: float(values[layer][head]) for name, values in found["metrics"].items()}
    says = [
        _rests_on(found["special"], metrics),
        _beside(metrics),
    ]
    near = found["nearest"][layer * view.record.shape[1] + head]
    says.append(
        _("Nearest heads: {list} (divergence in bits, 0 = the same).").format(
            list=_(", ").join(f"{name} ({bits:.2f})" for name, bits in near)
        )
    )
    says.append(
        _("The last three: {n} of Headwork's own sentences, {date}.").format(
            n=found["provenance"]["n"], date=found["provenance"]["date"]
        )
    )
    twice = found["repetition"]
    previous, induction = (float(twice[name][layer][head]) for name in ("previous", "induction"))
    return [*says, remarks.in_repetition(twice["sequences"], twice["length"], twice["mask"], previous, induction)]


def _beside(metrics: dict[str, float]) -> str:
    """How often the largest weight is on a neighbour; under a causal mask there is no next one."""
    if "next_is_top" not in metrics:
        said = _("Its largest weight is on the previous word in {previous} of the rows.")
        return said.format(previous=percent(metrics["previous_is_top"]))
    return _("Its largest weight is on the previous word in {previous} of the rows, on the next in {next}.").format(
        previous=percent(metrics["previous_is_top"]), next=percent(metrics["next_is_top"])
    )


def _rests_on(special: Sequence[str | None], metrics: dict[str, float]) -> str:
    """The shares of weight on the special tokens that the model puts around a text, or that were put before it."""
    first, last = special
    if first and last:
        return _("{start} of its weight rests on {first}, {separator} on {last}.").format(
            start=percent(metrics["start_mass"]), separator=percent(metrics["separator_mass"]), first=first, last=last
        )
    return _("{start} of its weight rests on {first}.").format(start=percent(metrics["start_mass"]), first=first)
