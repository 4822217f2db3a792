"""Small tasks that a Transformer learns in seconds, each with the truth known."""

from model.tasks.agreement import AGREEMENT_CHINESE, AGREEMENT_ENGLISH
from model.tasks.letters import INDUCTION, NEIGHBOURS, TWINS
from model.tasks.peek import PEEK, Peek
from model.tasks.task import NO_KEY, NOTHING_ASKED, Batch, Defaults, Relation, Size, Task, find_task
from model.tasks.translate import TRANSLATIONS, Translation

TASKS: dict[str, Task] = {
    task.id: task for task in (NEIGHBOURS, TWINS, AGREEMENT_ENGLISH, AGREEMENT_CHINESE, INDUCTION)
}

__all__ = [
    "NOTHING_ASKED",
    "NO_KEY",
    "PEEK",
    "TASKS",
    "TRANSLATIONS",
    "Batch",
    "Defaults",
    "Peek",
    "Relation",
    "Size",
    "Task",
    "Translation",
    "find_task",
]
