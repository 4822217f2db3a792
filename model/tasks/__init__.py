"""Small tasks that a Transformer learns in seconds, each with the truth known."""

from model.tasks.letters import NEIGHBOURS
from model.tasks.task import NO_KEY, NOTHING_ASKED, Batch, Defaults, Relation, Size, Task, find_task

TASKS: dict[str, Task] = {task.id: task for task in (NEIGHBOURS,)}

__all__ = ["NOTHING_ASKED", "NO_KEY", "TASKS", "Batch", "Defaults", "Relation", "Size", "Task", "find_task"]
