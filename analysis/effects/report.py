"""The result as JSON, and read back: measured now or shipped with the app, a page has it in one form.

`as_text(report(effects))` is what `python -m analysis.effects --json` writes. Layers and heads count from 1 there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.effects.effects import Effects
from analysis.effects.questions import Question
from analysis.effects.ranks import Chosen, RankCorrelation
from analysis.effects.states import StateEffects
from analysis.evidence.intervals import DRAWS, LEVEL, Interval
from model.files import json_by_lines, read_json
from model.head_id import HeadId
from model.version import app_version

DIGITS = 4
BY_LINES = ("prompts", "heads", "ffns", "layers", "held_out")

Floats = NDArray[np.float64]


def report(effects: Effects, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Everything that was measured.

    Args:
        effects: what was measured.
        about: also told, such as the file of the prompts and the command.
    """
    found = effects.rank_correlation()
    out: dict[str, Any] = {
        **_settings(effects, about or {}),
        "base": {
            "logit_difference": float(effects.difference.mean()),
            "accuracy": effects.accuracy,
            "p_right": float(effects.p_right.mean()),
            "p_wrong": float(effects.p_wrong.mean()),
        },
        "looked_at": "cue" if any(each.question.cue for each in effects.asked) else "answer",
        "rank_correlation": None if found is None else found.value,
        "rank_correlation_interval": None if found is None else found.interval,
        "rank_correlation_n": 0 if found is None else found.n,
        "held_out": [_chosen(each) for each in effects.held_out()],
        "prompts": _prompts(effects),
        "heads": _heads(effects),
    }
    out |= _of_layers(effects)
    if effects.parts is not None:
        parts = effects.parts
        out["parts"] = {
            "embedding": float(parts.embedding.mean()),
            "heads": float(parts.heads.sum(axis=(1, 2)).mean()),
            "ffns": parts.ffns.mean(axis=0).tolist(),
            "biases": float(parts.biases.mean()),
        }
    return out


def _settings(effects: Effects | StateEffects, about: Mapping[str, Any]) -> dict[str, Any]:
    """Which model, what else is told, and how it was measured."""
    return {
        "model": effects.model_id,
        "label": effects.model_label,
        "sha256": effects.sha256,
        "app_version": app_version(),
        **about,
        "off": effects.off,
        "mask": str(effects.mask),
        "seed": effects.seed,
        "draws": DRAWS,
        "level": LEVEL,
        "n": effects.n,
    }


def state_report(effects: StateEffects, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What was measured on a model that predicts nothing. `effect` is the cosine distance of the sentence's vector."""
    bounds, mean = effects.interval(), effects.sentence.mean(axis=0)
    return {
        **_settings(effects, {**(about or {}), "measure": "cosine distance"}),
        "prompts": [{"prompt": each.text} for each in effects.asked],
        "heads": [
            {
                "layer": layer + 1,
                "head": head + 1,
                "effect": float(mean[layer, head]),
                "interval": None if bounds is None else bounds[:, layer, head].tolist(),
                "tokens": float(np.mean([each[layer, head].mean() for each in effects.tokens])),
                "each": np.round(effects.sentence[:, layer, head], DIGITS).tolist(),
            }
            for layer in range(effects.shape[0])
            for head in range(effects.shape[1])
        ],
        **_of_layers(effects),
    }


def _of_layers(effects: Effects | StateEffects) -> dict[str, Any]:
    """FFNs and whole layers, each where it was asked for."""
    return {
        name: [
            {"layer": layer + 1, "effect": float(each.mean()), "each": _each(each)}
            for layer, each in enumerate(values.T)
        ]
        for name, values in (("ffns", effects.ffns), ("layers", effects.layers))
        if values is not None
    }


def as_text(result: Mapping[str, Any], digits: int = DIGITS) -> str:
    """The JSON, a head and a prompt a line, so that two results can be compared line by line."""
    return json_by_lines(_rounded(result, digits), BY_LINES, dense=True)


@dataclass(frozen=True, eq=False)
class Record:
    """What was measured on a set of prompts, read from JSON or just made (`Record.of`)."""

    raw: Mapping[str, Any]

    @classmethod
    def of(cls, effects: Effects) -> Record:
        """Fresh effects in the form of a record."""
        return cls(json.loads(as_text(report(effects))))

    @classmethod
    def read(cls, path: Path) -> Record:
        """A file that `as_text` wrote. Raises HeadworkError where it can't be read."""
        return cls(read_json(path))

    @property
    def n(self) -> int:
        """How many prompts."""
        return int(self.raw["n"])

    @property
    def off(self) -> str:
        """What stands in for a head that is off."""
        return str(self.raw["off"])

    @property
    def shape(self) -> tuple[int, int]:
        """(L, h)."""
        last = self.raw["heads"][-1]
        return int(last["layer"]), int(last["head"])

    @property
    def questions(self) -> tuple[Question, ...]:
        """The n questions."""
        names = ("prompt", "right", "wrong", "cue", "other")
        return tuple(Question(**{name: each.get(name, "") for name in names}) for each in self.raw["prompts"])

    @property
    def logit_difference(self) -> float:
        """Mean over prompts, everything on."""
        return float(self.raw["base"]["logit_difference"])

    @property
    def accuracy(self) -> float:
        """Share of prompts for which the right answer is the more probable of the two."""
        return float(self.raw["base"]["accuracy"])

    def of_prompts(self, name: str) -> Floats:
        """(n,), "logit_difference", "p_right" or "p_wrong" of each prompt."""
        return np.array([each[name] for each in self.raw["prompts"]], dtype=np.float64)

    @property
    def effect(self) -> Floats:
        """(L, h), off − on: negative = the head helps."""
        return self._grid("effect")

    @property
    def interval(self) -> Floats | None:
        """(2, L, h); None for one prompt."""
        if self.raw["heads"][0]["interval"] is None:
            return None
        bounds = np.array([each["interval"] for each in self.raw["heads"]], dtype=np.float64)
        return bounds.T.reshape(2, *self.shape)

    @property
    def attention(self) -> Floats:
        """(L, h), what the last token gives to the answer's token, or the cue's; NaN where it stands in no prompt."""
        return self._grid("attention_to_answer")

    @property
    def direct(self) -> Floats | None:
        """(L, h), what the head writes towards the right answer; None where the parts don't add up."""
        return None if self.raw["heads"][0]["direct"] is None else self._grid("direct")

    @property
    def each(self) -> Floats:
        """(n, L, h), the effect on each prompt."""
        values = np.array([each["each"] for each in self.raw["heads"]], dtype=np.float64)  # (L·h, n)
        return values.T.reshape(self.n, *self.shape)

    @property
    def ffns(self) -> Floats | None:
        """(n, L), the effect of each FFN; None where not measured."""
        return self._of_layers("ffns")

    @property
    def layers(self) -> Floats | None:
        """(n, L), the effect of each whole layer; None where not measured."""
        return self._of_layers("layers")

    @property
    def rank_correlation(self) -> RankCorrelation | None:
        """Of attention and drop over all heads."""
        value, bounds = self.raw["rank_correlation"], self.raw["rank_correlation_interval"]
        return None if value is None else RankCorrelation(value, _interval(bounds), self.raw["rank_correlation_n"])

    @property
    def held_out(self) -> tuple[Chosen, ...]:
        """The heads that help most, chosen on one half and tried on the other."""
        return tuple(
            Chosen(
                head=HeadId(each["layer"] - 1, each["head"] - 1),
                interval=_interval(each["interval"]),
                **{name: each[name] for name in ("half", "rank", "chosen_effect", "n_chosen", "effect", "n")},
            )
            for each in self.raw["held_out"]
        )

    @property
    def parts(self) -> Mapping[str, Any] | None:
        """Mean direct effects: "embedding", "heads" (their sum), "ffns" (one a layer), "biases"; None without."""
        return self.raw.get("parts")

    def ranked(self) -> list[HeadId]:
        """All heads, the one that helps most first."""
        return [HeadId(*divmod(int(i), self.shape[1])) for i in np.argsort(self.effect, axis=None, kind="stable")]

    def _grid(self, name: str) -> Floats:
        return np.array([each[name] for each in self.raw["heads"]], dtype=np.float64).reshape(self.shape)

    def _of_layers(self, name: str) -> Floats | None:
        found = self.raw.get(name)
        return None if found is None else np.array([each["each"] for each in found], dtype=np.float64).T


def _heads(effects: Effects) -> list[dict[str, Any]]:
    bounds, attention, direct = effects.interval(), effects.attention_to_answer(), effects.direct()
    return [
        {
            "layer": layer + 1,
            "head": head + 1,
            "effect": float(effects.heads[:, layer, head].mean()),
            "interval": None if bounds is None else bounds[:, layer, head].tolist(),
            "attention_to_answer": _number(attention[layer, head]),
            "direct": None if direct is None else float(direct[layer, head]),
            "each": _each(effects.heads[:, layer, head]),
        }
        for layer in range(effects.shape[0])
        for head in range(effects.shape[1])
    ]


def _prompts(effects: Effects) -> list[dict[str, Any]]:
    out = []
    for i, each in enumerate(effects.asked):
        question = {name: value for name, value in asdict(each.question).items() if value}
        numbers = {
            "logit_difference": float(effects.difference[i]),
            "p_right": float(effects.p_right[i]),
            "p_wrong": float(effects.p_wrong[i]),
        }
        out.append(question | numbers)
    return out


def _each(values: Floats) -> list[float]:
    """An effect on each prompt: a thousandth of a nat is enough, and they are most of a file."""
    return (np.round(values, 3) + 0.0).tolist()  # type: ignore[no-any-return]


def _chosen(each: Chosen) -> dict[str, Any]:
    values = asdict(each)
    layer, head = values.pop("head")
    return {"layer": layer + 1, "head": head + 1, **values}


def _interval(bounds: Any) -> Interval | None:
    return None if bounds is None else (float(bounds[0]), float(bounds[1]))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, float):
        return round(value, digits) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(each, digits) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each, digits) for each in value]
    return value
