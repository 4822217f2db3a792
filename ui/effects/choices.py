"""What a person has chosen on the page Does it matter?, as one value. Every choice lives in the link.

Keys of the session begin with "effects_", names in the link don't: other pages have a head and a view of their own.
"""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from analysis.effects.questions import Question
from analysis.effects.runs import Off
from model.catalogue import SMOLLM2, default_id
from model.head_id import HeadId
from ui.effects import data, own, runs
from ui.effects.data import Asked, Head, Measured
from ui.effects.words import OFF, OFF_ABOUT, SETS
from ui.frame import controls, links, loading
from ui.frame.choose import choose, translated
from ui.frame.examples import is_here
from ui.frame.languages import _

OWN = "own"
LENT_FOR = "effects_lent_for"  # session state: the model in whose place one that predicts stands on this page


@dataclass(frozen=True, eq=False)
class View:
    """What is shown.

    Attributes:
        asked: model, prompts, and what stands in for a head that is off.
        measured: their effects; None = nobody has measured them here yet.
        head: layer and head, from 0.
        is_off: the head is switched off for the prompt that is looked at.
    """

    asked: Asked
    measured: Measured | None
    head: Head
    is_off: bool

    @property
    def name(self) -> str:
        """The head as it is written: 24-4."""
        return str(HeadId(*self.head))

    @property
    def prompt(self) -> int:
        """The one that is looked at, from 0."""
        chosen = int(st.session_state.get("effects_prompt") or first_prompt(self))
        return min(chosen, len(self.asked.questions)) - 1

    @property
    def question(self) -> Question:
        """The prompt that is looked at."""
        return self.asked.questions[self.prompt]


def first_prompt(view: View) -> int:
    """The prompt that is looked at first, from 1: the one on which the head that matters most does most."""
    measured = view.measured
    return 1 if measured is None else int(np.argmin(measured.each[(slice(None), *measured.matters)])) + 1


def model() -> str:
    """The model of the sidebar. Who hasn't chosen one finds one that predicts here, and on other pages theirs again.

    Raises:
        HeadworkError: what was typed names no model that this server offers.
    """
    if not st.session_state.get("model_by_hand") and st.session_state["model"] != SMOLLM2 and is_here(SMOLLM2):
        st.session_state[LENT_FOR] = st.session_state["model"]
        st.session_state["model"] = SMOLLM2
    return controls.model()


def give_back() -> None:
    """On another page the model is what it was, unless one was chosen meanwhile."""
    before = st.session_state.pop(LENT_FOR, None)
    if before is not None and not st.session_state.get("model_by_hand"):
        st.session_state["model"] = before
        links.write("model", str(before), default_id())


def read(model_id: str) -> View | None:
    """Draws the controls and says what they say; None where there is no prompt to measure, which is told."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="effects-controls", gap="small"):
        set_place, off_place, head_place = st.container(width=340), st.container(width=170), st.container(width=110)
        switch_place = st.container(height=40, border=False, vertical_alignment="center", width="content")
    with set_place:
        sets = {name: _(SETS[name]) for name in data.sets()} | {OWN: _("Prompts of your own")}
        chosen = choose(_("Prompts"), "set", sets, next(iter(sets)), key="effects_set", on_change=_other_prompts)
    with off_place:
        about = "\n\n".join(_(each) for each in OFF_ABOUT.values())
        off: Off = choose(_("Switched off to"), "off", translated(OFF), "zero", key="effects_off", help=about)
    measured = None if chosen == OWN else data.shipped(chosen, off, model_id)
    if measured is not None:
        questions = measured.questions
    else:
        questions = own.questions(model_id) if chosen == OWN else data.questions_of(chosen, model_id)
    if not questions:
        return None
    asked = Asked(model_id, questions, off)
    if measured is None:
        measured = runs.found(runs.of_heads(asked)[0])
    with head_place:
        head = head_choice(shape_of(model_id, measured), (0, 0) if measured is None else measured.matters)
    with switch_place:
        said = _("Switch {head} off").format(head=HeadId(*head))
        is_off = links.switch(said, "switched", key="effects_switched", width="content")
    return View(asked, measured, head, is_off)


def _other_prompts() -> None:
    """Another set opens on a prompt of its own."""
    st.session_state.pop("effects_prompt", None)
    st.query_params.pop("prompt", None)


def shape_of(model_id: str, measured: Measured | None) -> tuple[int, int]:
    """Layers, and heads in each. What is measured says so without loading the model."""
    if measured is not None:
        n_layers, n_heads = measured.mean.shape
        return int(n_layers), int(n_heads)
    model = loading.load_model(model_id)
    return model.n_layers, model.n_heads


def head_choice(shape: tuple[int, int], first: Head) -> Head:
    """The head: what was picked, else the first. Another set or model opens on its own first head."""
    n_layers, n_heads = shape
    names = [str(HeadId(layer, head)) for layer in range(n_layers) for head in range(n_heads)]
    default = str(HeadId(*first))
    if st.session_state.setdefault("effects_first", default) != default and not links.went_back():
        st.session_state["effects_at"] = default
    st.session_state["effects_first"] = default
    name = choose(_("Head"), "at", {name: name for name in names}, default, key="effects_at")
    return named_head(name)


def named_head(name: str) -> Head:
    """24-4 as indices from 0."""
    layer, _dash, head = name.partition("-")
    return int(layer) - 1, int(head) - 1


def choose_head(head: Head) -> None:
    """Lets the page show another head from the next run on: for callbacks."""
    st.session_state["effects_at"] = str(HeadId(*head))


def clicked(key: str, n_heads: int) -> None:
    """Takes the head that was clicked in a figure: a cell of a grid, or a point."""
    points = (st.session_state.get(key) or {}).get("selection", {}).get("points", [])
    if points and points[0].get("point_index") is not None:
        layer, head = divmod(int(points[0]["point_index"]), n_heads)
        choose_head((layer, head))
