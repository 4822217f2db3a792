"""The sets of questions that ship with the app, and what was measured on them.

`data/effects/NAME.jsonl` is a set, `data/effects/records/MODEL-NAME-OFF.json` what `python -m analysis.effects` wrote
about it. data/effects/README.md has the commands.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from analysis.effects.reading import Questions, read_questions
from analysis.effects.report import Record
from analysis.effects.runs import OFF, Off
from model.errors import HeadworkError, shown

FOLDER = Path(__file__).parents[2] / "data" / "effects"
RECORDS = FOLDER / "records"
SETS = ("indirect_object", "agreement", "induction", "capitals", "gender")  # in the order in which a page offers them


@cache
def questions(name: str) -> Questions:
    """A set that ships.

    Raises:
        HeadworkError: there is none of that name.
    """
    if name not in SETS:
        raise HeadworkError("There is no set {name}. Use one of {choices}.", name=shown(name), choices=", ".join(SETS))
    return read_questions(FOLDER / f"{name}.jsonl")


@cache
def record(name: str, model_id: str, off: Off = "zero") -> Record | None:
    """What was measured on a set with a model; None where nothing ships."""
    path = record_path(name, model_id, off)
    return Record.read(path) if name in SETS and off in OFF and path.is_file() else None


def record_path(name: str, model_id: str, off: Off = "zero") -> Path:
    """Where the record of a set lies, whether it is there or not."""
    return RECORDS / f"{model_id.replace('/', '--')}-{name}-{off}.json"


def shipped() -> list[tuple[str, str, str]]:
    """The records that there are: (set, model, off)."""
    found: list[tuple[str, str, str]] = []
    for path in sorted(RECORDS.glob("*.json")):
        for name in SETS:
            for off in OFF:
                model_id, end = path.stem[: -len(f"-{name}-{off}")], f"-{name}-{off}"
                if path.stem.endswith(end) and model_id:
                    found.append((name, model_id, off))
    return found
