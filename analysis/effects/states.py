"""For models that predict nothing: how far the hidden state turns when a head is switched off.

An encoder such as MiniLM is used for its vectors: of tokens, and of the sentence, their mean. The measure is the cosine
distance, 1 − cos, between the vector with the head off and the one with everything on: 0 = the same direction, 1 = at a
right angle. It says that a head is used here, not what for.

Shape letters: see model.attention; n sentences.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from analysis.effects.effects import read_mask
from analysis.effects.questions import encode_prompt
from analysis.effects.ranks import mean_interval
from analysis.effects.runs import Off, Whole
from analysis.effects.sweep import Part, Progress, Sweep
from analysis.evidence.intervals import DRAWS
from analysis.evidence.resume import Arrays, Store
from model.errors import HeadworkError
from model.masks import Mask, MaskLike
from model.tracing import AttentionModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EncodedText:
    """A sentence as a model reads it: its N ids and their labels."""

    text: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StateEffects:
    """How far vectors turn with each part off alone. Layers, heads and tokens count from 0.

    Attributes:
        tokens: for each sentence (L, h, N), cosine distance of each token's last hidden state.
        sentence: (n, L, h), of the mean of all tokens, the model's own marks among them: the sentence's vector.
        ffns, layers: (n, L), of the sentence's vector, with that FFN or whole layer off; None where not asked for.
        ffn_tokens, layer_tokens: for each sentence (L, N); likewise.
    """

    model_id: str
    model_label: str
    sha256: str | None
    asked: tuple[EncodedText, ...]
    off: Off
    mask: Mask
    tokens: tuple[Floats, ...]
    sentence: Floats
    ffns: Floats | None
    layers: Floats | None
    ffn_tokens: tuple[Floats, ...] | None
    layer_tokens: tuple[Floats, ...] | None
    seed: int = 0

    @property
    def n(self) -> int:
        """How many sentences."""
        return len(self.asked)

    @property
    def shape(self) -> tuple[int, int]:
        """(L, h)."""
        return int(self.sentence.shape[1]), int(self.sentence.shape[2])

    def interval(self, draws: int = DRAWS) -> Floats | None:
        """(2, L, h), 95 % of the mean over sentences, of the sentence's vector; None for one sentence."""
        return mean_interval(self.sentence, draws=draws, seed=self.seed)


def encode_text(model: AttentionModel, text: str) -> EncodedText:
    """A sentence in the tokens of a model. Raises HeadworkError for no text, or one that the model can't read whole."""
    return EncodedText(text, *encode_prompt(model, text))


def measure_states(
    model: AttentionModel,
    asked: Sequence[EncodedText],
    *,
    off: Off = "zero",
    mask: MaskLike | None = None,
    parts: Sequence[Part] = ("heads",),
    workers: int = 1,
    store: Store | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> StateEffects:
    """How far every head turns the vectors. Arguments and errors as of `analysis.effects.effects.measure`."""
    if not asked:
        raise HeadworkError("There is no sentence. Type one.")
    mask = read_mask(model, mask)
    if store is not None:
        texts = hashlib.sha256(json.dumps([each.ids for each in asked]).encode()).hexdigest()
        about = {"format": 1, "model": model.id, "sha256": model.sha256, "texts": texts}
        store.open(about | {"off": off, "mask": str(mask), "parts": sorted(parts)})

    def read(hidden: Tensor, whole: Whole, batch: list[int]) -> Tensor:
        tokens = _distance(hidden, whole.hidden)  # (k, B, N)
        sentence = _distance(hidden.mean(dim=-2), whole.hidden.mean(dim=-2))  # (k, B)
        return torch.cat((tokens, sentence[..., None]), dim=-1)  # (k, B, N + 1)

    def describe(whole: Whole, batch: list[int]) -> Arrays:
        return {}

    sweep = Sweep(model.transformer, asked, mask, off, parts, describe, read, last_only=False)
    found = sweep.run(workers=workers, store=store, progress=progress)

    def of_each(name: str) -> list[Floats] | None:
        """For each sentence (L, …, N + 1)."""
        by_number: dict[int, Floats] = {}
        for batch in found:
            arrays: Floats | None = getattr(batch, name)
            if arrays is None:
                return None
            by_number |= {number: arrays[..., i, :] for i, number in enumerate(batch.numbers)}
        return [by_number[i] for i in range(len(asked))]

    heads, ffns, layers = of_each("heads"), of_each("ffns"), of_each("layers")
    assert heads is not None
    return StateEffects(
        model_id=model.id,
        model_label=model.label,
        sha256=model.sha256,
        asked=tuple(asked),
        off=off,
        mask=mask,
        tokens=_of_tokens(heads) or (),
        sentence=np.stack([each[..., -1] for each in heads]),
        ffns=None if ffns is None else np.stack([each[..., -1] for each in ffns]),
        layers=None if layers is None else np.stack([each[..., -1] for each in layers]),
        ffn_tokens=_of_tokens(ffns),
        layer_tokens=_of_tokens(layers),
        seed=seed,
    )


def _of_tokens(arrays: list[Floats] | None) -> tuple[Floats, ...] | None:
    return None if arrays is None else tuple(each[..., :-1] for each in arrays)


def _distance(x: Tensor, y: Tensor) -> Tensor:
    """1 − cos over the last axis; in double precision, since it is often far below 1."""
    return (1 - F.cosine_similarity(x.double(), y.double(), dim=-1)).clamp(min=0)
