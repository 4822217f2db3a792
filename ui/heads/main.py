"""The main picture: every head's score for one task, and beside it the ranked heads in sentences."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from analysis.evidence.coreference import BASELINES
from analysis.evidence.records import CONTROLS, GENDER, Record, Table, shipped
from model.head_id import HeadId
from ui.frame.captions import chart, page_title, small
from ui.frame.languages import _, plain
from ui.heads import data, gender
from ui.heads.choices import View, choose_head
from ui.heads.words import (
    CUES,
    baseline_label,
    chosen_heads,
    column_names,
    corpus_name,
    head_claim,
    held_out_claim,
    origin,
    scored,
    task_name,
)
from viz.scores import Scores, score_grid
from viz.theme import percent

LISTED = 5
WIDTHS = (64, 132, 132)  # pixels of the table's columns: together they fit on a phone
STYLE = """<style>
.st-key-heads-direction .stSelectbox { max-width: 7rem; }
.st-key-heads-list .stButton button { min-height: 2rem; }
.st-key-heads-list .stButton button, .st-key-heads-list .stButton button * { justify-content: flex-start; }
.st-key-heads-list [class*="st-key-heads-row"] { flex-wrap: nowrap; font-variant-numeric: tabular-nums; }
.st-key-heads-strip { overflow-x: auto; }
@media (max-width: 640px) {  /* the picture on a phone's first screen: controls in pairs, named by what they hold */
  :is(.st-key-heads-controls, .st-key-heads-second) > * { flex: 1 1 45%; min-width: 0; width: auto; }
  :is(.st-key-heads-controls, .st-key-heads-second) > :first-child { flex-basis: 100%; }
  .st-key-heads-controls [data-testid="stWidgetLabel"] { display: none; }
}
</style>"""


TALLEST = 400  # pixels of the grid: with what stands above it, it ends within 720


def title(n_heads: int) -> None:
    """The page's question, and how to read the answer.

    Args:
        n_heads: of the model, in all layers.
    """
    st.html(STYLE)
    with (
        page_title(_("Which head does what, and how sure are we?")),
        st.popover(_("How to read this"), icon=":material/help:"),
    ):
        st.markdown(
            _(
                "- A head's **arrow** goes from each word to the other word with the largest weight. The "
                "**accuracy** is how often it goes to the right one.\n"
                "- The **baseline** needs no attention: always look the same number of words ahead or back, or "
                "take the nearest, the first, … mention.\n"
                "- **Grey** cells are no better than the baseline: their gain's 95 % interval reaches 0. "
                "**Hollow** cells have fewer than 30 arcs.\n"
                "- Square brackets hold 95 % intervals (bootstrap over sentences or documents).\n"
                "- The best of {n} heads is partly luck. So the best is chosen on one half of the sentences and "
                "scored on the other, both ways; two names mean that the halves chose two heads.\n"
                "- Heads are named layer-head, counted from 1. A name of a relation is Universal Dependencies'."
            ).format(n=n_heads)
        )


def no_record(label: str) -> None:
    """The state of a model that nobody has scored yet."""
    st.info(
        _("{model} has no scores yet. Score it on sentences below, or choose a built-in model in the sidebar.").format(
            model=plain(_(label))
        )
    )


def picture(view: View) -> None:
    """The heatmap and the ranking."""
    table = view.table
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.markdown(f"**{plain(task_name(table.task, table.direction))}** :small[{plain(origin(view.record))}]")
        n_layers, n_heads = table.accuracy.shape
        scores = Scores(
            table.gain if view.quantity == "gain" else table.accuracy,
            table.beats,
            rows=[str(layer + 1) for layer in range(n_layers)],
            columns=[str(head + 1) for head in range(n_heads)],
            hovers=data.hovers(table, _hover),
            hollow=[table.is_thin] * n_layers,
            quantity=view.quantity,
        )
        figure = score_grid(
            scores,
            selected=view.head,
            corner=_("layer ↓ head →"),
            height=max(min(80 + 37 * n_layers, TALLEST), 80 + 20 * n_layers),
            t=_,
        )
        chart(
            figure,
            "heads_grid",
            on_select=_clicked,
            selection_mode="points",
            alt=_("Scores of all heads: layers are rows, heads are columns. Grey cells don't beat the baseline."),
        )
        st.caption(f"{unit(view)} {meaning(table)} " + _("Click a cell to choose the head."))
    with right, st.container(key="heads-list", gap="xsmall"):
        _claims(view)


def unit(view: View) -> str:
    """What the numbers in cells are."""
    return _("In percentage points above the baseline.") if view.quantity == "gain" else _("In per cent.")


def meaning(table: Table) -> str:
    """What a cell without colour means."""
    return _("Hollow: fewer than 30 arcs.") if table.is_thin else _("Grey: no better than the baseline.")


def _claims(view: View) -> None:
    table = view.table
    if view.variant in CONTROLS:
        st.markdown(f":primary[**▲**] {plain(_control_says(view))}")
    st.markdown(f"**{plain(held_out_claim(table))}**")
    st.caption(plain(_how_chosen(table)))
    if table.task == GENDER and view.variant not in CONTROLS:
        st.markdown(f":primary[**▲**] {plain(gender.is_no_understanding(view.record, view.head))}")
    _ranking(view)
    if table.task == GENDER:
        gender.about(view)
    elif table.direction == "":
        _about_coreference(view)
    left_out = _left_out(view.record) if table.direction else ""
    for said in (_where_it_fails(view.record, table), _not_in_sight(table), left_out):
        if said:
            small(said)


def _ranking(view: View) -> None:
    """The best heads, and the chosen one if it isn't among them, as a table; a press on a name chooses that head."""
    table = view.table
    best = table.ranked()[:LISTED]
    _row("heads-row", [_("head"), *column_names(table)])
    for head in best if view.head in best else [*best, view.head]:
        name = str(HeadId(*head))
        with st.container(horizontal=True, vertical_alignment="center", key=f"heads-row-{name}", gap="small"):
            st.button(
                ("◆ " if head == view.head else "") + name,
                key=f"heads_pick_{name}",
                on_click=choose_head,
                args=(head,),
                type="tertiary",
                width=WIDTHS[0],
                help=None if table.beats[head] else _("No better than the baseline: the gain's interval reaches 0."),
            )
            _cells(scored(table, head))


def _row(key: str, cells: Sequence[str]) -> None:
    with st.container(horizontal=True, key=key, gap="small"):
        for cell, width in zip(cells, WIDTHS, strict=True):
            st.markdown(f":small[{plain(cell)}]", width=width)


def _cells(cells: Sequence[str]) -> None:
    for cell, width in zip(cells, WIDTHS[1:], strict=True):
        st.markdown(plain(cell), width=width)


def _how_chosen(table: Table) -> str:
    if table.held_out is None or table.held_out["gain_interval"] is None:
        return _("Too few to choose a head by: read these as examples.")
    if table.task == GENDER:
        return gender.how_chosen(table)
    says = _("Chosen on half of the sentences, scored on the other half. Below: each head as if asked alone.")
    if len(table.ties) > 1:
        says += " " + _("Can't be told from the best: {heads}.").format(heads=_(", ").join(table.ties[1:6]))
    if not table.stable:
        says += " " + _("From fewer than 50 sentences, so the name of the best may change.")
    return says


def _about_coreference(view: View) -> None:
    table = view.table
    known = {name: value for name, value in table.baselines.items() if name in BASELINES}
    listed = _(", ").join(f"{baseline_label(name)} {percent(value)}" for name, value in known.items())
    said = _("Baselines: {list}; chance {chance}.").format(list=listed, chance=percent(table.chance or 0))
    if table.query_control is not None:
        said += " " + _("{head} asked from other words of the passage finds {share}.").format(
            head=view.name, share=percent(float(table.query_control[view.head]))
        )
    small(said)
    if cues := view.record.raw.get("cues"):
        small(_by_cue(view, cues))
    small(_other_corpora(view))


def _by_cue(view: View, cues: list[dict[str, Any]]) -> str:
    """Where the head fails: its accuracy by what decides the pronoun, the best cue first."""
    layer, head = view.head
    found = sorted(((float(each["accuracy"][layer][head]), each) for each in cues), key=lambda pair: -pair[0])
    listed = _(", ").join(
        _("{cue} {share} of {n}").format(cue=_(CUES.get(each["cue"], each["cue"])), share=percent(share), n=each["n"])
        for share, each in found
    )
    return _("{head} by cue: {list}.").format(head=view.name, list=listed)


def _other_corpora(view: View) -> str:
    """The chosen head on the other corpora: a head is a pattern measured on one."""
    found = []
    for corpus in data.corpora(str(view.record.provenance["model"]["id"])):
        record = data.record(str(view.record.provenance["model"]["id"]), corpus, view.variant)
        if record is None or corpus == view.corpus:
            continue
        table = record.table(view.table.task, "") or record.table("coref", "")
        if table is not None:
            best = chosen_heads(table.held_out) if table.held_out else "–"
            found.append(
                _("{corpus}: {share} of {n}, best {best}").format(
                    corpus=corpus.upper() if corpus in ("gum", "gap") else corpus_name(record),
                    share=percent(float(table.accuracy[view.head])),
                    n=table.n,
                    best=best,
                )
            )
    return _("{head} elsewhere — {list}.").format(head=view.name, list=_("; ").join(found)) if found else ""


def _where_it_fails(record: Record, table: Table) -> str:
    """Frequent tasks of this corpus in which no head is clearly better than the baseline."""
    failed = []
    for task, direction in record.tasks(fewest=50):
        other = record.table(task, direction)
        if other is None or other.held_out is None or direction != table.direction:
            continue
        interval = other.held_out["gain_interval"]
        if interval is not None and interval[0] <= 0:
            failed.append(task if direction else task_name(task, ""))
    if not failed or not table.direction:
        return ""
    return _("On this corpus no head clearly beats position on: {list}.").format(list=_(", ").join(failed[:8]))


def _left_out(record: Record) -> str:
    """The arcs that can't be asked since two words share a piece."""
    unclear = record.raw["skipped"].get("unclear")
    if not unclear or not unclear["arcs"]:
        return ""
    return _(
        "{n} of {total} arcs are left out: in text without spaces one of their words shares a token with another."
    ).format(n=unclear["arcs"], total=unclear["of_arcs"])


def _not_in_sight(table: Table) -> str:
    """The arcs of a relation, or the passages, that a mask keeps from being asked."""
    if not table.n_unseen:
        return ""
    said = _("{n} arcs of this relation can't be asked this way round: the right word comes later, out of sight.")
    if not table.direction:
        said = _("{n} passages can't be asked: of two mentions one comes after the pronoun, out of sight.")
    return said.format(n=table.n_unseen)


def _control_says(view: View) -> str:
    table = view.table
    trained = shipped(view.corpus, "trained", str(view.record.provenance["model"]["id"]))
    other = trained.table(table.task, table.direction) if trained else None
    best = percent(float(table.accuracy.max()))
    if view.variant == "untrained":
        said = _("Control: the same model with random weights. Its best head reaches {best}.").format(best=best)
    else:
        said = _(
            "Control: the mask token for every word, so only positions are left. Its best head reaches {best}."
        ).format(best=best)
    if other is not None:
        trained_best = percent(float(other.accuracy.max()))
        said += " " + _("Trained, with words, the best reaches {best}.").format(best=trained_best)
    return said


def _hover(table: Table, head: tuple[int, int]) -> str:
    return f"{head_claim(table, head)}<br>" + _("gain {gain} points").format(gain=scored(table, head)[1])


def _clicked() -> None:
    cell = data.selected_cells("heads_grid")
    if cell is not None:
        choose_head(cell)
