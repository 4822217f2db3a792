"""Looking and mattering: what the next word loses when a head is switched off. Lesson 14; from records of data/effects.

The measure is the difference of two answers' logits, right − wrong; an effect is that difference with the head off
minus that with everything on (analysis.effects.effects), in the mean over the prompts of a set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.effects import sets
from analysis.effects.runs import OFF
from analysis.lessons.answer import Answer, answers
from analysis.lessons.answers.recorded import head_in, head_named
from analysis.lessons.numbers import percent, signed
from analysis.lessons.numbers import weight as as_weight
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars
from model import HeadworkError
from model.head_id import HeadId

ORDINALS = ("first", "second", "third", "fourth", "fifth")


@answers("without_head")
def without_head(setup: Setup, *, set: str, layer: int, head: int, off: str = "zero") -> Answer:
    """choice: what the right answer's lead does without a head: "falls", "rises", or "open" (the interval reaches 0).

    Says head, n, looks (its mean weight on the answer's word) and base; then effect, low, high, all with signs.
    """
    record = _record(setup.model_id, set, off)
    found = _head(record, HeadId(layer - 1, head - 1))
    low, high = found["interval"]
    right = "falls" if high < 0 else "rises" if low > 0 else "open"
    return Answer(
        right=right,
        given={
            "head": f"{layer}-{head}",
            "n": str(record["n"]),
            "looks": as_weight(found["attention_to_answer"]),
            "base": signed(record["base"]["logit_difference"]),
        },
        said={"effect": signed(found["effect"]), "low": signed(low), "high": signed(high)},
        picture="bars",
        shown=Bars((_bar(found, is_right=True),), "logit", note=_source(record)),
    )


@answers("missed_most")
def missed_most(setup: Setup, *, set: str, heads: list[str], off: str = "zero") -> Answer:
    """order: some heads by their effect, the one that is missed most first.

    Says n and first, second, third, …; effect_1, effect_2, …; looks_1, looks_2, … (weights on the answer's word).
    """
    record = _record(setup.model_id, set, off)
    found = sorted((_head(record, head_named(name, _shape(record))) for name in heads), key=lambda each: each["effect"])
    said: dict[str, str] = {}
    for place, each in enumerate(found):
        said[ORDINALS[place]] = _name(each)
        said[f"effect_{place + 1}"] = signed(each["effect"])
        said[f"looks_{place + 1}"] = as_weight(each["attention_to_answer"])
    return Answer(
        right=tuple(map(_name, found)),
        given={"n": str(record["n"])},
        said=said,
        picture="bars",
        shown=Bars(tuple(_bar(each) for each in found), "logit", note=_source(record)),
    )


@answers("looks_and_matters")
def looks_and_matters(setup: Setup, *, set: str, off: str = "zero") -> Answer:
    """number: the rank correlation of how much a head looks at the answer's word and how much is lost without it.

    Says n, heads; then rho, low, high; looker (the head that looks most), looks and its effect looker_effect.
    """
    record = _record(setup.model_id, set, off)
    rho, (low, high) = record["rank_correlation"], record["rank_correlation_interval"]
    most = max(record["heads"], key=lambda each: each["attention_to_answer"])
    missed = min(record["heads"], key=lambda each: each["effect"])
    ranked = sorted(record["heads"], key=lambda each: -each["attention_to_answer"])[:5]
    bars = tuple(_bar(each) for each in (*ranked, missed))
    return Answer(
        right=float(rho),
        given={"n": str(record["n"]), "heads": str(len(record["heads"]))},
        said={
            "rho": as_weight(rho),
            "low": as_weight(low),
            "high": as_weight(high),
            "looker": _name(most),
            "looks": as_weight(most["attention_to_answer"]),
            "looker_effect": signed(most["effect"]),
        },
        picture="bars",
        shown=Bars(bars, "logit", note=_source(record)),
    )


@answers("zero_and_mean")
def zero_and_mean(setup: Setup, *, set: str, layer: int, head: int) -> Answer:
    """number: a head's effect when it gives its mean instead of 0. Says head, n, zero; then mean, low and high."""
    zero, mean = (_record(setup.model_id, set, off) for off in ("zero", "mean"))
    name = HeadId(layer - 1, head - 1)
    by_zero, by_mean = _head(zero, name), _head(mean, name)
    bars = (
        _effect({"en": "0 instead", "zh": "换成 0"}, by_zero),
        _effect({"en": "mean instead", "zh": "换成均值"}, by_mean, is_right=True),
    )
    return Answer(
        right=float(by_mean["effect"]),
        given={"head": str(name), "n": str(zero["n"]), "zero": signed(by_zero["effect"])},
        said={
            "mean": signed(by_mean["effect"]),
            "low": signed(by_mean["interval"][0]),
            "high": signed(by_mean["interval"][1]),
        },
        picture="bars",
        shown=Bars(bars, "logit", note=_source(zero)),
    )


@answers("answered_right")
def answered_right(setup: Setup, *, set: str) -> Answer:
    """number: for how many prompts of a set the right answer is the more probable. Says n; then right and share."""
    record = _record(setup.model_id, set, "zero")
    leads = [each["logit_difference"] for each in record["prompts"]]
    right = sum(lead > 0 for lead in leads)
    bars = (
        Bar({"en": "right answer ahead", "zh": "正确答案领先"}, float(right), is_right=True),
        Bar({"en": "wrong answer ahead", "zh": "错误答案领先"}, float(len(leads) - right)),
    )
    return Answer(
        right=float(right),
        given={"n": str(len(leads))},
        said={"right": str(right), "share": percent(right / len(leads))},
        picture="bars",
        shown=Bars(bars, note=_source(record)),
    )


def _record(model_id: str, name: str, off: str) -> Mapping[str, Any]:
    record = sets.record(name, model_id, off) if off in OFF else None
    if record is None:
        raise HeadworkError(
            "No record of {set} with heads off to their {off} comes with the app for the model {model}.",
            set=name,
            off=off,
            model=model_id,
        )
    return record.raw


def _head(record: Mapping[str, Any], name: HeadId) -> Mapping[str, Any]:
    layer, head = head_in(_shape(record), name.layer + 1, name.head + 1)
    found: Mapping[str, Any] = record["heads"][layer * _shape(record)[1] + head]
    return found


def _shape(record: Mapping[str, Any]) -> tuple[int, int]:
    last = record["heads"][-1]
    return last["layer"], last["head"]


def _name(each: Mapping[str, Any]) -> str:
    return f"{each['layer']}-{each['head']}"


def _bar(each: Mapping[str, Any], *, is_right: bool = False) -> Bar:
    looks = as_weight(each["attention_to_answer"])
    name = {"en": f"{_name(each)} (looks {looks})", "zh": f"{_name(each)}（看 {looks}）"}
    return _effect(name, each, is_right=is_right)


def _effect(name: dict[str, str], each: Mapping[str, Any], *, is_right: bool = False) -> Bar:
    low, high = each["interval"]
    return Bar(name, each["effect"], low, high, is_right)


def _source(record: Mapping[str, Any]) -> dict[str, str]:
    n = record["n"]
    return {
        "en": f"logit difference, change; record of {n} prompts",
        "zh": f"logit 差的变化；{n} 条提示的记录",
    }
