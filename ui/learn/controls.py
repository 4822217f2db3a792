"""What is to be trained: task, sizes, mask and budget, each kept in the link. A task opens with what suits it."""

from collections.abc import Iterable
from typing import Any

import streamlit as st

from model.tasks import TASKS, Task
from model.training import Settings
from ui.frame import links
from ui.frame.choose import choose, translated
from ui.frame.languages import _

HEADS = ("1", "2", "4", "8")
LAYERS = ("1", "2")
MASKS = {"bidirectional": "bidirectional", "causal": "causal"}
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
SEED_HELP = "Sets the initial weights and the sentences. The same seed gives the same training."


def settings() -> Settings:
    """Draws the row of controls and says what they say.

    Raises:
        HeadworkError: these settings can't be trained together.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", key="learn-controls", gap="xsmall"):
        titles = {name: _(task.title) for name, task in TASKS.items()}
        task = TASKS[_choose(_("Task"), "task", titles, FIRST_TASK, width=215, on_change=_take_task)]
        first = defaults(task)
        heads = _choose(_("Heads"), "heads", _same(HEADS), first["heads"], wide=True, help=_(HEADS_HELP))
        layers = _choose(_("Layers"), "layers", _same(LAYERS), first["layers"], wide=True)
        ffn = _switch(_("FFN"), "ffn", help=_(FFN_HELP))
        masks = translated(MASKS)
        mask = _choose(_("Mask"), "looks", masks, first["looks"], width=140, help=_(MASK_HELP))
        with st.popover(_budget(first)):
            steps = _number(_("Steps"), "steps", STEPS, int(first["steps"]), step=100)
            rate = _choose(_("Learning rate"), "rate", _same(RATES), first["rate"], help=_(RATE_HELP))
            seed = _number(_("Seed"), "seed", SEEDS, 0, help=_(SEED_HELP))
    return Settings(
        task=task.id,
        heads=int(heads),
        layers=int(layers),
        ffn=ffn,
        mask=mask,
        steps=steps,
        learning_rate=float(rate),
        seed=seed,
    )


def defaults(task: Task) -> dict[str, str]:
    """What a task is best watched with, as the controls spell it."""
    size = task.defaults.compare[-1]
    return {
        "heads": str(size.heads),
        "layers": str(size.layers),
        "looks": task.defaults.mask,
        "steps": str(task.defaults.steps),
        "rate": f"{task.defaults.learning_rate:g}",
    }


def _take_task() -> None:
    """Another task opens with its own sizes, mask and budget; the seed stays."""
    first = defaults(TASKS[st.session_state["learn_task"]])
    for name, value in first.items():
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
