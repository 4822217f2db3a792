"""What is to be trained: task, sizes, mask and budget, each kept in the link. A task opens with what suits it."""

from collections.abc import Iterable
from typing import Any

import streamlit as st

from model.tasks import PEEK, TASKS, TRANSLATIONS
from model.training import Settings
from model.training.kinds import ALL_TASKS, AnySettings, settings_of
from model.training.peek import PeekSettings
from model.training.translate import TranslateSettings
from ui.frame import links
from ui.frame.choose import choose, translated
from ui.frame.languages import _
from ui.learn import depth
from ui.learn.words import mask_name

HEADS = ("1", "2", "4", "8")
LAYERS = ("1", "2")
MASKS = {"bidirectional": "bidirectional", "causal": "causal"}
PEEK_MASKS = ("bidirectional", "prefix:5", "causal")
RATES = ("0.001", "0.003", "0.01", "0.03")
STEPS = (100, 4000)
SEEDS = (0, 9999)
FIRST_TASK = next(iter(TASKS))
HEADS_HELP = (
    "d_model stays the same, so every number of heads has the same number of parameters: one wide head, or several "
    "narrow ones."
)
FFN_HELP = "Off: attention only. An FFN after attention tells unequal weights apart, which helps a single head."
MASK_HELP = "What a query may look at while it learns. The mask in the sidebar is for the other pages."
RATE_HELP = "The highest rate of a one-cycle schedule, which rises to it and falls again. AdamW, 64 sentences per step."
PEEK_HELP = (
    "What a second network may look at while it learns; the first one reads under a causal mask. Prefix: the first 5 "
    "places are read both ways, and what they show isn't asked. Texts have one to three sentences, so batches are "
    "padded, and padding is hidden under every mask."
)
SEED_HELP = "Sets the initial weights and the sentences. The same seed gives the same training."


def settings() -> AnySettings | depth.Asked:
    """Draws the row of controls and says what they say.

    Raises:
        HeadworkError: these settings can't be trained together.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", key="learn-controls", gap="xsmall"):
        titles = {name: _(task.title) for name, task in ALL_TASKS.items()} | {depth.ID: _(depth.TITLE)}
        chosen = _choose(_("Task"), "task", titles, FIRST_TASK, width=215, on_change=_take_task)
        if chosen == depth.ID:
            return depth.controls()
        if chosen in TRANSLATIONS:
            return _translation(chosen)
        if chosen == PEEK.id:
            return _peek()
        task = TASKS[chosen]
        first = defaults(task.id)
        heads = _choose(_("Heads"), "heads", _same(HEADS), first["heads"], wide=True, help=_(HEADS_HELP))
        layers = _choose(_("Layers"), "layers", _same(LAYERS), first["layers"], wide=True)
        ffn = _switch(_("FFN"), "ffn", help=_(FFN_HELP))
        masks = translated(MASKS)
        mask = _choose(_("Mask"), "looks", masks, first["looks"], width=140, help=_(MASK_HELP))
        budget = _budget_of(first)
    return Settings(task=task.id, heads=int(heads), layers=int(layers), ffn=ffn, mask=mask, **budget)


def chosen_task() -> str:
    """The task of the menu, before it is drawn."""
    named = st.session_state.get("learn_task")
    known = [*ALL_TASKS, depth.ID]
    return str(named) if named in known else links.read("task", links.one_of(known), FIRST_TASK)


def _translation(task: str) -> TranslateSettings:
    first = defaults(task)
    heads = _choose(_("Heads"), "heads", _same(HEADS), first["heads"], wide=True, help=_(HEADS_HELP))
    layers = _choose(_("Encoder layers"), "layers", _same(LAYERS), first["layers"], wide=True)
    return TranslateSettings(task, heads=int(heads), layers=int(layers), **_budget_of(first))


def _peek() -> PeekSettings:
    first = defaults(PEEK.id)
    heads = _choose(_("Heads"), "heads", _same(HEADS), first["heads"], wide=True, help=_(HEADS_HELP))
    masks = {mask: mask_name(mask) for mask in PEEK_MASKS}
    mask = _choose(_("Beside causal"), "looks", masks, first["looks"], wide=True, help=_(PEEK_HELP))
    return PeekSettings(heads=int(heads), mask=mask, **_budget_of(first))


def _budget_of(first: dict[str, str]) -> dict[str, Any]:
    """Steps, learning rate and seed, behind one button."""
    with st.popover(_budget(first)):
        steps = _number(_("Steps"), "steps", STEPS, int(first["steps"]), step=100)
        rate = _choose(_("Learning rate"), "rate", _same(RATES), first["rate"], help=_(RATE_HELP))
        seed = _number(_("Seed"), "seed", SEEDS, 0, help=_(SEED_HELP))
    return {"steps": steps, "learning_rate": float(rate), "seed": seed}


def defaults(task: str) -> dict[str, str]:
    """What a task is best watched with, as the controls spell it."""
    best = settings_of(task)
    looks = "bidirectional" if isinstance(best, PeekSettings) else getattr(best, "mask", "bidirectional")
    return {
        "heads": str(best.heads),
        "layers": str(best.layers),
        "looks": looks,
        "steps": str(best.steps),
        "rate": f"{best.learning_rate:g}",
    }


def _take_task() -> None:
    """Another task opens with its own sizes, mask and budget; the seed stays."""
    chosen = st.session_state["learn_task"]
    for name, value in defaults(chosen).items() if chosen in ALL_TASKS else ():
        st.session_state[f"learn_{name}"] = int(value) if name == "steps" else value


def _budget(first: dict[str, str]) -> str:
    """What the popover holds, in its label: nobody has to open it to know."""
    steps = _chosen_number("steps", STEPS, int(first["steps"]))
    seed = _chosen_number("seed", SEEDS, 0)
    return _("{steps} steps · seed {seed}").format(steps=steps, seed=seed)


def _choose(label: str, name: str, options: dict[str, str], default: str, **more: Any) -> str:
    return choose(label, name, options, default, key=f"learn_{name}", **more)


def _switch(label: str, name: str, *, help: str) -> bool:
    with st.container(height=40, border=False, vertical_alignment="center", width="content"):
        return links.switch(label, name, key=f"learn_{name}", help=help, width="content")


def _number(label: str, name: str, bounds: tuple[int, int], default: int, *, step: int = 1, **more) -> int:
    _chosen_number(name, bounds, default)
    chosen = st.number_input(label, *bounds, step=step, key=f"learn_{name}", persist_state="session", **more)
    links.write(name, str(int(chosen)), str(default))
    return int(chosen)


def _chosen_number(name: str, bounds: tuple[int, int], default: int) -> int:
    """What an earlier run or the link says; the default when that is no whole number within the bounds."""
    key = f"learn_{name}"
    if key not in st.session_state:
        asked = links.read(name, str, "", key=key)
        is_good = asked.isascii() and asked.isdigit() and bounds[0] <= int(asked[:9]) <= bounds[1]
        st.session_state[key] = int(asked[:9]) if is_good else default
    return int(st.session_state[key])


def _same(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}
