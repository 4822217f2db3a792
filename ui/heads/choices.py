"""What a person has chosen on the page of heads, as one value. Every choice lives in the link.

Keys of the session begin with "heads_", names in the link don't: other pages have a head and a view of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import streamlit as st

from analysis.evidence.records import COREFERENCE, GENDER, Record, Table
from model.head_id import HeadId
from ui.frame import links
from ui.frame.choose import choose as frame_choose
from ui.frame.languages import _
from ui.heads import data
from ui.heads.words import CORPORA, VARIANTS, clause, run_name, task_name
from viz.scores import Quantity

DIRECTIONS = ("dep>head", "head>dep")
QUANTITIES = {"accuracy": "accuracy", "gain": "gain over the baseline"}
FIRST_TASK = {"en": "obj", "zh": GENDER}  # by the language of the sentence in the sidebar


@dataclass(frozen=True, eq=False)
class View:
    """What is shown: a task of a record, and the head chosen (from 0)."""

    record: Record
    table: Table
    task: str
    direction: str
    corpus: str
    variant: str
    quantity: Quantity
    head: tuple[int, int]

    @property
    def name(self) -> str:
        """The head as it is written: 3-1."""
        return str(HeadId(*self.head))


def choose(label: str, name: str, options: dict[str, str], default: str, **more: Any) -> str:
    """One of the options, as `ui.frame.choose` takes them; `name` is its name in the link."""
    return frame_choose(label, name, options, default, key=f"heads_{name}", **more)


def read_controls(model_id: str, language: str) -> View:
    """Draws the row of controls and says what they say. Corpora in the sentence's language come first."""
    about = (model_id, data.corpora(model_id, language)[0])
    if st.session_state.setdefault("heads_corpus_for", about) != about:
        # Another model, or a sentence in another language: its own corpora come first.
        st.session_state["heads_corpus_for"] = about
        if not links.went_back():
            st.session_state.pop("heads_corpus", None)
            st.query_params.pop("corpus", None)
    with st.container(horizontal=True, key="heads-controls", gap="small"):
        task_place, corpus_place, run_place = st.container(width=400), st.container(width=230), st.container(width=245)
    tasks = _all_tasks(model_id, language)
    first = FIRST_TASK[language] if FIRST_TASK[language] in tasks else next(iter(tasks))
    task = links.choice("relation", tasks, first, key="heads_relation")
    with corpus_place:
        corpus = _corpus(model_id, task, language)
    with run_place:
        variant = _variant(model_id, corpus)
    record = data.record(model_id, corpus, variant)
    assert record is not None  # _corpus and _variant offer what is there
    with task_place:
        task = _task(tasks, first)
    with st.container(horizontal=True, vertical_alignment="center", key="heads-second", gap="small"):
        direction = _direction(record, task)
        titles = {name: _("Show {quantity}").format(quantity=_(title)) for name, title in QUANTITIES.items()}
        quantity = choose(_("Show"), "show", titles, "accuracy", bare=True, width=240)
        head = head_choice(record, task, direction)
    table = data.table(record, task, direction)
    return View(record, table, task, direction, corpus, variant, cast(Quantity, quantity), head)


def choose_head(head: tuple[int, int]) -> None:
    """Lets the page show another head from the next run on."""
    st.session_state["heads_at"] = str(HeadId(*head))


def head_choice(record: Record, task: str, direction: str) -> tuple[int, int]:
    """The head: what was picked for this task, else the task's best."""
    n_layers, n_heads = record.shape
    names = [str(HeadId(a, b)) for a in range(n_layers) for b in range(n_heads)]
    table = data.table(record, task, direction)
    best = data.best_head(table)
    now = (task, direction, record.provenance.get("corpus"), record.provenance["model"]["id"])
    before = st.session_state.get("heads_at_task")
    if before is not None and before != now and not links.went_back():
        st.session_state["heads_at"] = best  # another task opens on its own best head
    st.session_state["heads_at_task"] = now
    default = best if best in names else names[0]
    titles = {name: _("Head {name}").format(name=name) for name in names}
    name = choose(_("Head"), "at", titles, default, bare=True, width=140)
    layer, _dash, head = name.partition("-")
    return int(layer) - 1, int(head) - 1


def _all_tasks(model_id: str, language: str) -> list[str]:
    """What any corpus of this model has: pronouns, then relations, the frequent ones of the language first."""
    found: dict[str, None] = {}
    for corpus in data.corpora(model_id, language):
        record = data.record(model_id, corpus, "trained")
        if record is not None:
            found |= dict.fromkeys(task for task, _direction in record.tasks())
    pronouns = [name for name in (GENDER, *COREFERENCE) if name in found]
    return [*pronouns, *(name for name in found if name not in pronouns)]


def _corpus(model_id: str, task: str, language: str) -> str:
    """The corpora that have the task."""
    names = [
        name
        for name in data.corpora(model_id, language)
        if (found := data.record(model_id, name, "trained")) is not None
        and any(task == each for each, _direction in found.tasks())
    ]
    if st.session_state.get("heads_corpus") not in [*names, None]:
        # The corpus shown has no such arcs: go where they are, rather than to nothing.
        st.session_state["heads_corpus"] = names[0]
    labels = {name: _(CORPORA[name]) if name in CORPORA else name for name in names}
    return choose(_("Corpus"), "corpus", labels, names[0], help=_("The sentences on which the heads were scored."))


def _variant(model_id: str, corpus: str) -> str:
    runs = {name: run_name(found) for name in VARIANTS if (found := data.record(model_id, corpus, name)) is not None}
    help_ = _("Controls show what is left without training, or without words.")
    if "fair" in runs:
        help_ += " " + _(
            "Under a causal mask a word sees only earlier words: compare it with the run in which only those are asked."
        )
    return choose(_("Weights and mask"), "run", runs, "trained", help=help_)


def _task(tasks: Sequence[str], first: str) -> str:
    direction = str(st.session_state.get("heads_direction") or "dep>head")
    return choose(_("Relation"), "relation", {name: task_name(name, direction) for name in tasks}, first)


def _direction(record: Record, task: str) -> str:
    if task in COREFERENCE or task == GENDER:
        return ""
    there = [name for name in DIRECTIONS if record.table(task, name) is not None]
    options = {name: clause(task, name) for name in there or ["dep>head"]}
    return choose(_("Who looks"), "direction", options, next(iter(options)), wide=True, bare=True)
