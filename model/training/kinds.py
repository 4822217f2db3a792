"""The three kinds of training by the name of a task: which settings it takes, and which run it makes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from model.errors import HeadworkError
from model.tasks import PEEK, TASKS, TRANSLATIONS, Peek, Task, Translation, find_task
from model.training.peek import MASKS, Peeking, PeekSettings
from model.training.settings import Settings
from model.training.training import Training
from model.training.translate import COMPARE, TranslateSettings, Translating

AnySettings = Settings | TranslateSettings | PeekSettings
AnyRun = Training | Translating | Peeking
ALL_TASKS: dict[str, Task | Translation | Peek] = {**TASKS, **TRANSLATIONS, PEEK.id: PEEK}


def settings_class(task: str) -> type[AnySettings]:
    """The class of a task's settings.

    Raises:
        HeadworkError: there is no such task.
    """
    find_task(ALL_TASKS, task)
    return Settings if task in TASKS else TranslateSettings if task in TRANSLATIONS else PeekSettings


def settings_of(task: str, **changes: Any) -> AnySettings:
    """The run that a task is best watched with, with some settings changed.

    Raises:
        HeadworkError: there is no such task, it has no such setting, or a setting is out of bounds.
    """
    kind = settings_class(task)
    known = [field.name for field in fields(kind) if field.name != "task"]
    for name in changes:
        if name not in known:
            raise HeadworkError(
                "The task {task} has no option {option}. It takes {options}.",
                task=task,
                option=name.replace("_", "-"),
                options=", ".join(name.replace("_", "-") for name in known),
            )
    return Settings.of(task, **changes) if kind is Settings else kind(task, **changes)


def run_class(settings: AnySettings) -> type[AnyRun]:
    """The kind of run that settings make."""
    if isinstance(settings, Settings):
        return Training
    return Translating if isinstance(settings, TranslateSettings) else Peeking


def new_run(settings: AnySettings) -> AnyRun:
    """A run with its first weights."""
    return run_class(settings)(settings)  # type: ignore[arg-type]  # the settings of its own kind


def recorded_settings(task: str, **changes: Any) -> list[AnySettings]:
    """What a record of a task holds: the sizes of network that it compares, or the masks. Raises as `settings_of`."""
    if task in TASKS:
        compared: list[dict[str, Any]] = [
            {"heads": size.heads, "layers": size.layers} for size in TASKS[task].defaults.compare
        ]
    elif task == PEEK.id:
        compared = [{"mask": mask} for mask in MASKS]
    else:
        compared = [{"heads": heads} for heads in COMPARE]
    return [settings_of(task, **(changes | chosen)) for chosen in compared]
