"""Division of labour: relations × the heads that serve them, beside controls, and under a causal mask."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from analysis.evidence.intervals import FEWEST_ARCS
from analysis.evidence.records import CONTROLS, GENDER, Record, Table, best_heads
from model.head_id import HeadId
from ui.frame.captions import chart
from ui.frame.choose import translated
from ui.frame.languages import _, plain
from ui.heads import data, gender
from ui.heads.choices import View, choose, choose_head
from ui.heads.main import unit
from ui.heads.words import baseline_label, bounds, chosen_heads, head_claim, origin, points, run_name, short_name
from viz.scores import Scores, score_grid
from viz.theme import percent

MOST_ROWS = 24
MOST_HEADS = 8  # columns that fit on a phone
WAYS = {"heads": "Relations × heads", "controls": "Beside controls", "causal": "Under a causal mask"}
HEADINGS = {"trained": "trained", "untrained": "untrained", "mask": "mask token for words"}
CLEAR = 0.05  # a gain whose whole interval lies above it


def labour_tab(view: View) -> None:
    """One of three tables about all relations."""
    titles = translated(WAYS)
    if view.task == GENDER:
        titles["heads"] = _("Nouns × heads")
    if view.variant in ("trained", *CONTROLS) and view.record.provenance["mask"] == "causal":
        del titles["causal"]  # a decoder is never without it
    way = choose(_("What to compare"), "labour", titles, "heads", wide=True, bare=True)
    if way == "heads":
        _relations(view)
    elif way == "controls":
        _controls(view)
    else:
        _causal(view)


def _tasks(record: Record, direction: str) -> list[tuple[str, str]]:
    return [(task, way) for task, way in record.tasks(fewest=FEWEST_ARCS) if way in (direction or "dep>head", "")]


def _relations(view: View) -> None:
    record = view.record
    if view.task == GENDER:
        _nouns(view)
        return
    tasks = _tasks(record, view.direction)
    names = best_heads(record, tasks)
    if not names:
        st.markdown(plain(_("No head beats the baseline on any relation here.")))
        return
    tables = [table for task, way in tasks if (table := record.table(task, way)) is not None]
    tables.sort(key=lambda table: -_gain(table))
    tables = tables[:MOST_ROWS]
    heads: list[tuple[int, int]] = [HeadId.parse(name) for name in names]
    if len(heads) > MOST_HEADS and not st.toggle(
        _("All {n} heads that were chosen for some relation").format(n=len(heads)), key="heads_all_heads"
    ):
        serve_most = sorted(heads, key=lambda head: -sum(bool(t.beats[head]) for t in tables))[:MOST_HEADS]
        heads = sorted(serve_most)
    values = np.array([[(t.gain if view.quantity == "gain" else t.accuracy)[h] for h in heads] for t in tables])
    scores = Scores(
        values,
        np.array([[t.beats[h] for h in heads] for t in tables]),
        rows=[short_name(t.task) for t in tables],
        columns=[str(HeadId(*head)) for head in heads],
        hovers=[[head_claim(t, h) for h in heads] for t in tables],
        quantity=view.quantity,
    )
    figure = score_grid(scores, corner=_("relation ↓ head →"), height=90 + 24 * len(tables), t=_)
    _draw(figure, heads, _("Relations are rows, heads are columns. Grey cells don't beat the baseline."))
    said = _("Grey: no better than the baseline.") + " " + _("Relations with at least 30 arcs.")
    st.caption(f"{plain(origin(record))} · {unit(view)} {said}")
    st.markdown(plain(busiest(tables, heads)))


def _nouns(view: View) -> None:
    """Of a balanced set: each pair of nouns and each sentence × the heads that do best."""
    (each, *_others) = view.record.raw["gender"]
    parts = [(str(part["pair"]), part) for part in each.get("by_pair", ())]
    parts += [
        (_(gender.TEMPLATES.get(part["template"], part["template"])), part) for part in each.get("by_template", ())
    ]
    if not parts:
        st.markdown(plain(_("Single pairs of nouns come with the trained run only.")))
        return
    heads: list[tuple[int, int]] = [*view.table.ranked()[:MOST_HEADS]]
    if view.head not in heads:
        heads = [*heads[:-1], view.head]
    values = np.array([[part["accuracy"][layer][head] for layer, head in heads] for _name, part in parts])
    rarer = [name for name, part in parts if part.get("rarer")]
    names = [name + (" *" if name in rarer else "") for name, _part in parts]
    says = _("{head}: {share} for {name}")
    scores = Scores(
        values,
        values > view.table.baseline,
        rows=names,
        columns=[str(HeadId(*head)) for head in heads],
        hovers=[
            [
                says.format(head=str(HeadId(*head)), share=percent(float(value)), name=name)
                for head, value in zip(heads, row, strict=True)
            ]
            for name, row in zip(names, values.tolist(), strict=True)
        ],
    )
    figure = score_grid(scores, corner=_("nouns ↓ head →"), height=90 + 24 * len(parts), t=_)
    _draw(
        figure,
        heads,
        _("Pairs of nouns and sentences are rows, heads are columns. Grey cells don't beat the baseline."),
    )
    st.caption(
        plain(origin(view.record))
        + " · "
        + _("In per cent. Grey: half or less, which position alone gets. * rarer nouns, on which no head is chosen.")
    )


def _draw(figure: go.Figure, heads: list[tuple[int, int]], alt: str) -> None:
    """The grid; a click on a cell chooses the head of its column."""
    chart(
        figure,
        "heads_labour_grid",
        on_select=lambda: _clicked(heads),
        selection_mode="points",
        alt=alt,
    )


def _gain(table: Table) -> float:
    return float(table.held_out["gain"]) if table.held_out else -1.0


def busiest(tables: list[Table], heads: list[tuple[int, int]]) -> str:
    """Which head beats the baseline on most relations, if one does so on several."""
    serves = {head: [t.task for t in tables if t.beats[head]] for head in heads}
    head = max(serves, key=lambda head: len(serves[head]))
    if len(serves[head]) < 2:
        return _("No head here beats the baseline on more than one of {total} relations.").format(total=len(tables))
    return _("One head serves several: {head} beats the baseline on {n} of {total} ({list}).").format(
        head=str(HeadId(*head)), n=len(serves[head]), total=len(tables), list=_(", ").join(serves[head])
    )


def _controls(view: View) -> None:
    model_id = str(view.record.provenance["model"]["id"])
    found = {name: data.record(model_id, view.corpus, name) for name in ("trained", *CONTROLS)}
    runs = {name: record for name, record in found.items() if record is not None}
    if len(runs) < 2:
        st.markdown(plain(_("Controls come with the shipped records only; this corpus was scored here.")))
        return
    trained = runs["trained"]
    tasks = _tasks(trained, view.direction)
    rows: list[tuple[float, dict[str, Any]]] = []
    for task, way in tasks:
        table = trained.table(task, way)
        assert table is not None
        row: dict[str, Any] = {_("relation"): short_name(task), "n": table.n}
        for name, record in runs.items():
            row[_(HEADINGS[name])] = _held_out(record.table(task, way))
        row[_("best baseline")] = f"{percent(table.baseline)}, {baseline_label(table.baseline_name)}"
        rows.append((_gain(table), row))
    said = []
    for record in runs.values():
        n_clear = sum(_is_clear(record.table(task, way)) for task, way in tasks)
        said.append(_("{run}: {n} of {total}").format(run=run_name(record), n=n_clear, total=len(tasks)))
    st.markdown(
        plain(_("Tasks whose gain has its whole interval above +5 points — {list}.").format(list=_("; ").join(said)))
    )
    st.dataframe(
        [row for _gain_of, row in sorted(rows, key=lambda pair: -pair[0])], hide_index=True, key="heads_controls"
    )
    st.caption(plain(origin(trained)) + " · " + _("Heads chosen on half of the sentences, scored on the other half."))


def _is_clear(table: Table | None) -> bool:
    bounds_ = table.held_out["gain_interval"] if table and table.held_out else None
    return bounds_ is not None and bounds_[0] > CLEAR


def _held_out(table: Table | None) -> str:
    if table is None or table.held_out is None:
        return "–"
    found = table.held_out
    names = chosen_heads(found)
    interval = f" {bounds(*found['interval'])}" if found["interval"] else ""
    return f"{names}: {percent(found['accuracy'])}{interval}"


def _causal(view: View) -> None:
    model_id = str(view.record.provenance["model"]["id"])
    fair, causal = (data.record(model_id, view.corpus, name) for name in ("fair", "causal"))
    st.markdown(
        plain(
            _(
                "Under a causal mask a word sees only earlier words, so only arcs to an earlier word can be asked. The "
                "fair comparison asks the same arcs of the bidirectional model, and lets it choose among the "
                "same earlier words. Both columns have the same n and the same baseline."
            )
        )
    )
    if fair is None or causal is None:
        st.markdown(plain(_("This corpus was not scored under a causal mask with this model.")))
        return
    rows: list[dict[str, Any]] = []
    for task, way in _tasks(fair, view.direction):
        one, other = fair.table(task, way), causal.table(task, way)
        if one is None or other is None or one.n != other.n or not one.held_out or not other.held_out:
            continue
        change = other.held_out["accuracy"] - one.held_out["accuracy"]
        rows.append(
            {
                _("relation"): short_name(task),
                "n": one.n,
                _("bidirectional"): _held_out(one),
                _("causal mask"): _held_out(other),
                _("change (points)"): points(change),
                _("best baseline"): f"{percent(one.baseline)}, {baseline_label(one.baseline_name)}",
            }
        )
    if not rows:
        st.markdown(plain(_("No relation has 30 arcs to an earlier word in this direction: reverse the direction.")))
        return
    st.dataframe(rows, hide_index=True, key="heads_causal")
    st.caption(plain(origin(fair)))
    st.markdown(
        ":primary[**▲**] "
        + plain(
            _(
                "The weights were trained without a causal mask: this shows what the mask takes from them, not what a "
                "trained decoder's heads do."
            )
        )
    )


def _clicked(heads: list[tuple[int, int]]) -> None:
    cell = data.selected_cells("heads_labour_grid")
    if cell is not None:
        choose_head(heads[cell[1]])
