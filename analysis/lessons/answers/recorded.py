"""What was measured before on whole corpora and comes with the app (data/records): too long to compute in a lesson."""

from __future__ import annotations

from analysis.evidence.records import SHIPPED, Record, Table, shipped
from analysis.lessons.answer import Answer, answers
from analysis.lessons.numbers import ends, percent, points
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars
from model import HeadworkError
from model.errors import shown
from model.head_id import HeadId

BASELINES = {
    "nearest": {"en": "nearest mention", "zh": "最近的提及"},
    "first": {"en": "first mention", "zh": "最先的提及"},
    "nearest subject": {"en": "nearest subject", "zh": "最近的主语"},
    "same word": {"en": "same word", "zh": "相同的词"},
}


def record_of(model_id: str, corpus: str) -> Record:
    """A shipped record of a trained model.

    Raises:
        HeadworkError: there is none of that name.
    """
    record = shipped(corpus, "trained", model_id) if corpus in SHIPPED.get(model_id, ()) else None
    if record is None:
        raise HeadworkError(
            "No record {corpus} comes with the app for the model {model}. Choose one of {names}.",
            corpus=shown(corpus),
            model=model_id,
            names=", ".join(SHIPPED.get(model_id, ())) or "–",
        )
    return record


def table_of(model_id: str, corpus: str, task: str, direction: str = "") -> Table:
    """A table of the shipped records.

    Raises:
        HeadworkError: nothing of the kind was measured.
    """
    table = record_of(model_id, corpus).table(task, direction)
    if table is None or table.low is None:
        raise HeadworkError(
            "The record {corpus} has too few questions of {task}. Choose another corpus or relation.",
            corpus=corpus,
            task=shown(f"{task} {direction}".strip()),
        )
    return table


@answers("recorded")
def recorded(setup: Setup, *, corpus: str, task: str, layer: int, head: int, direction: str = "") -> Answer:
    """number: a head's accuracy on a corpus, in %.

    Says head and n; then accuracy, low, high, baseline, gain, gain_low and gain_high. `task` is
    coref-noun or coref, or a relation such as obj with its direction, dep>head or head>dep.
    """
    table = table_of(setup.model_id, corpus, task, direction)
    name = head_in(table.accuracy.shape, layer, head)
    accuracy, low, high = (float(grid[name]) for grid in (table.accuracy, table.low, table.high) if grid is not None)
    bars = (Bar({"en": f"head {name}", "zh": f"头 {name}"}, accuracy, low, high, is_right=True),)
    return Answer(
        right=100 * accuracy,
        given={"head": str(name), "n": str(table.n)},
        said={
            "accuracy": percent(accuracy),
            **ends(low, high),
            "baseline": percent(table.baseline),
            **_gain(table, name),
        },
        picture="bars",
        shown=Bars(bars, "%", table.baseline, _baseline(table), source_of(setup.model_id, corpus)),
    )


@answers("beats_baseline")
def beats_baseline(setup: Setup, *, corpus: str, task: str, layer: int, head: int, direction: str = "") -> Answer:
    """choice: "yes" where the interval of the gain over the baseline lies above 0, "no" where below, else "open"."""
    found = recorded(setup, corpus=corpus, task=task, layer=layer, head=head, direction=direction)
    table = table_of(setup.model_id, corpus, task, direction)
    assert table.gain_low is not None and table.gain_high is not None
    name = HeadId(layer - 1, head - 1)
    right = "yes" if table.gain_low[name] > 0 else "no" if table.gain_high[name] < 0 else "open"
    known = {key: found.said[key] for key in ("accuracy", "low", "high", "baseline")}
    return Answer(right, found.said, {**found.given, **known}, picture="bars", shown=found.shown)


def head_named(name: str, shape: tuple[int, int]) -> HeadId:
    """The head of a name such as 4-2. Raises HeadworkError where a model of `shape` has none."""
    try:
        return HeadId.parse(name, shape)
    except ValueError as error:
        raise HeadworkError(
            "There is no head {head}. A name is layer-head from 1, here up to {last}.",
            head=shown(name),
            last=str(HeadId(shape[0] - 1, shape[1] - 1)),
        ) from error


def head_in(shape: tuple[int, ...], layer: int, head: int) -> HeadId:
    """A head of a record of `shape` = (layers, heads), layer and head from 1. Raises HeadworkError for no such head."""
    layers, heads = shape
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise HeadworkError(
            "There is no head {head} in the record: its model has {layers} layers of {heads} heads.",
            head=f"{layer}-{head}",
            layers=layers,
            heads=heads,
        )
    return HeadId(layer - 1, head - 1)


def _gain(table: Table, name: HeadId) -> dict[str, str]:
    assert table.gain_low is not None and table.gain_high is not None
    grids = {"gain": table.gain, "gain_low": table.gain_low, "gain_high": table.gain_high}
    return {key: points(float(grid[name])) for key, grid in grids.items()}


def _baseline(table: Table) -> dict[str, str]:
    if table.baseline_name in BASELINES:
        return BASELINES[table.baseline_name]
    offset = table.baseline_name.replace("-", "−")
    return {"en": f"fixed offset {offset}", "zh": f"固定偏移 {offset}"}


def source_of(model_id: str, corpus: str) -> dict[str, str]:
    """Where a picture's numbers come from, in both languages."""
    date = record_of(model_id, corpus).provenance["date"]
    return {"en": f"measured before ({date}): record {corpus}", "zh": f"事先测得（{date}）：记录 {corpus}"}
