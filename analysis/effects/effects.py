"""What happens to the answer when a head is switched off: the effect of every head on every prompt of a set.

The measure is the difference of the two answers' logits after the last token, right − wrong: their odds, in nats. An
effect is that difference with the part off, minus the difference with everything on: negative = the part helped. A head
is off when its slice of the input to W_o is replaced: by 0 (Michel et al. 2019), by its mean over all tokens of the
set, or by its mean at each position (Wang et al. 2022 take means: 0 may be further from what the model ever meets
than the head's absence is).

Shape letters: see model.attention; n prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from analysis.effects.direct import Parts, direct_effects, has_direct_effects, joined
from analysis.effects.questions import EncodedQuestion, Question
from analysis.effects.ranks import Chosen, RankCorrelation, held_out, mean_interval, rank_correlation
from analysis.effects.runs import Off, Whole
from analysis.effects.sweep import Part, Progress, Sweep
from analysis.evidence.intervals import DRAWS
from analysis.evidence.resume import Arrays, Store
from model.errors import HeadworkError
from model.head_id import HeadId
from model.masks import Mask, MaskLike
from model.tracing import AttentionModel

Floats = NDArray[np.float64]
UNLIKELY = 0.001  # where both answers have less, their difference says little about what the model would write


@dataclass(frozen=True, eq=False)
class Effects:
    """Every head off in turn, on n prompts. Layers and heads count from 0.

    Attributes:
        asked: the n questions, as the model read them.
        difference: (n,), logit of the right answer − logit of the wrong one, everything on.
        p_right, p_wrong: (n,), their probabilities.
        heads: (n, L, h), the effect of each head: off − on, negative = the head helped.
        attention: (n, L, h), what the last token gives to the answer's token in the prompt, or to the cue's, summed
            over its places; NaN where it doesn't stand there.
        parts: what each part writes towards the answer; None where the parts of the model don't add up.
        ffns, layers: (n, L), the effect of each FFN and of each whole layer; None where they weren't asked for.
        seed: of the bootstrap and the halves.
    """

    model_id: str
    model_label: str
    sha256: str | None
    asked: tuple[EncodedQuestion, ...]
    off: Off
    mask: Mask
    difference: Floats
    p_right: Floats
    p_wrong: Floats
    heads: Floats
    attention: Floats
    parts: Parts | None
    ffns: Floats | None
    layers: Floats | None
    seed: int = 0

    @property
    def questions(self) -> tuple[Question, ...]:
        """The n questions."""
        return tuple(each.question for each in self.asked)

    @property
    def n(self) -> int:
        """How many prompts."""
        return len(self.asked)

    @property
    def shape(self) -> tuple[int, int]:
        """(L, h)."""
        return int(self.heads.shape[1]), int(self.heads.shape[2])

    @property
    def right(self) -> NDArray[np.bool_]:
        """(n,), whether the right answer is the more probable of the two."""
        return np.asarray(self.difference > 0)

    @property
    def accuracy(self) -> float:
        """Share of prompts for which it is."""
        return float(self.right.mean())

    @property
    def unlikely(self) -> NDArray[np.bool_]:
        """(n,), prompts for which neither answer is likely at all."""
        return np.asarray((self.p_right < UNLIKELY) & (self.p_wrong < UNLIKELY))

    def effect(self) -> Floats:
        """(L, h), mean over prompts."""
        return np.asarray(self.heads.mean(axis=0))

    def interval(self, draws: int = DRAWS) -> Floats | None:
        """(2, L, h), 95 %; None for one prompt."""
        return mean_interval(self.heads, draws=draws, seed=self.seed)

    def attention_to_answer(self) -> Floats:
        """(L, h), mean over the prompts in which the word stands; NaN where it stands in none."""
        there = ~np.isnan(self.attention).any(axis=(1, 2))
        return np.asarray(self.attention[there].mean(axis=0)) if there.any() else np.full(self.shape, np.nan)

    def direct(self) -> Floats | None:
        """(L, h), mean direct effect; None where the parts don't add up."""
        return None if self.parts is None else np.asarray(self.parts.heads.mean(axis=0))

    def rank_correlation(self, draws: int = DRAWS) -> RankCorrelation | None:
        """Of attention and drop over all heads."""
        return rank_correlation(self.attention, self.heads, draws=draws, seed=self.seed)

    def held_out(self, k: int = 3, draws: int = DRAWS) -> tuple[Chosen, ...]:
        """The heads that help most, chosen on one half of the prompts and tried on the other."""
        return held_out(self.heads, k, draws=draws, seed=self.seed)

    def ranked(self) -> list[HeadId]:
        """All heads, the one that helps most first."""
        return [HeadId(*divmod(int(i), self.shape[1])) for i in np.argsort(self.effect(), axis=None, kind="stable")]


def measure(
    model: AttentionModel,
    asked: Sequence[EncodedQuestion],
    *,
    off: Off = "zero",
    mask: MaskLike | None = None,
    parts: Sequence[Part] = ("heads",),
    workers: int = 1,
    store: Store | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> Effects:
    """The effect of every head.

    Args:
        model: one with an output matrix.
        asked: at least one, of `encode_question` or `encode_questions`.
        off: what stands in for a head: "zero", its "mean" over the set, or its mean by "position".
        mask: None = the model's own.
        parts: also "ffns" and "layers", each of which costs as much as one more head in every layer.
        workers: threads; see `Sweep.run`.
        store: where finished units are kept and found again; it is opened here.
        progress: called with layers run and layers to run; what it raises stops the run.
        seed: of the bootstrap and the halves.

    Raises:
        HeadworkError: a model that predicts nothing, no question, an unknown way to switch off.
        OSError: the store can't be written.
    """
    _check(model, asked)
    mask = read_mask(model, mask)
    if store is not None:
        store.open(_about(model, asked, off, mask, parts))
    sweep = _sweep(model, asked, mask, off, parts)
    found = sweep.run(workers=workers, store=store, progress=progress)
    order = [i for batch in found for i in batch.numbers]
    heads = _in_order([batch.heads for batch in found], order)
    assert heads is not None

    def base(name: str) -> Floats:
        return np.asarray(np.concatenate([each.base[name] for each in found])[np.argsort(order)], dtype=np.float64)

    return Effects(
        model_id=model.id,
        model_label=model.label,
        sha256=model.sha256,
        asked=tuple(asked),
        off=off,
        mask=mask,
        difference=base("difference"),
        p_right=base("p_right"),
        p_wrong=base("p_wrong"),
        heads=heads,
        attention=base("attention"),
        parts=_parts([each.base for each in found], order) if has_direct_effects(model.config) else None,
        ffns=_in_order([batch.ffns for batch in found], order),
        layers=_in_order([batch.layers for batch in found], order),
        seed=seed,
    )


def _check(model: AttentionModel, asked: Sequence[EncodedQuestion]) -> None:
    if not model.has_output:
        raise HeadworkError(
            "This model predicts no token, so heads can't be asked what they do to a prediction. Ask what they do to "
            "the hidden state instead, or choose a decoder."
        )
    if not asked:
        raise HeadworkError("There is no question. Give a prompt with a right and a wrong answer.")


def _sweep(
    model: AttentionModel, asked: Sequence[EncodedQuestion], mask: Mask, off: Off, parts: Sequence[Part]
) -> Sweep:
    """What is switched off, and the change of the difference of logits that is read off every run."""
    direction = directions(model, asked)

    def describe(whole: Whole, batch: list[int]) -> Arrays:
        return _base(model, [asked[i] for i in batch], whole, direction[batch])

    def read(hidden: Tensor, whole: Whole, batch: list[int]) -> Tensor:
        after = (hidden[:, :, -1] * direction[batch]).sum(dim=-1)  # (k, B)
        return (after - (whole.hidden[:, -1] * direction[batch]).sum(dim=-1))[..., None]

    return Sweep(model.transformer, asked, mask, off, parts, describe, read)


def _in_order(arrays: Sequence[Floats | None], order: list[int]) -> Floats | None:
    """(…, B, 1) of each batch → (n, …), the prompts in their own order; None where nothing was asked for."""
    there = [np.moveaxis(each[..., 0], -1, 0) for each in arrays if each is not None]
    return np.asarray(np.concatenate(there)[np.argsort(order)]) if there else None


def read_mask(model: AttentionModel, mask: MaskLike | None) -> Mask:
    """The mask of a run. Prompts of one length run together, so a mask that pads them makes no sense here."""
    mask = model.default_mask if mask is None else Mask.of(mask)
    if mask.padded_length is not None:
        raise HeadworkError("Prompts aren't padded here. Choose a mask without padding.")
    return mask


@torch.inference_mode()
def directions(model: AttentionModel, asked: Sequence[EncodedQuestion]) -> Tensor:
    """(n, d_model), the right answer's row of the output matrix minus the wrong one's."""
    rows = model.transformer.output_matrix()[torch.tensor([[each.right_id, each.wrong_id] for each in asked])]
    return rows[:, 0] - rows[:, 1]


def _base(model: AttentionModel, asked: Sequence[EncodedQuestion], whole: Whole, direction: Tensor) -> Arrays:
    """What is kept of the run with everything on; see `Effects`."""
    last = whole.hidden[:, -1]  # (B, d_model)
    p = model.transformer.logits(last).softmax(dim=-1)  # (B, V)
    rows = torch.arange(len(asked))
    looks = whole.looks.double()  # (L, B, h, N)
    attention = np.full((len(asked), looks.size(0), looks.size(2)), np.nan)
    for i, each in enumerate(asked):
        if each.places:
            attention[i] = looks[:, i, :, list(each.places)].sum(dim=-1).numpy()
    arrays: Arrays = {
        "difference": (last * direction).sum(dim=-1).double().numpy(),
        "p_right": p[rows, [each.right_id for each in asked]].double().numpy(),
        "p_wrong": p[rows, [each.wrong_id for each in asked]].double().numpy(),
        "attention": attention,
    }
    if has_direct_effects(model.config):
        arrays |= {
            f"direct_{name}": value for name, value in vars(direct_effects(model.transformer, whole, direction)).items()
        }
    return arrays


def _parts(bases: Sequence[Arrays], order: list[int]) -> Parts:
    names = ("embedding", "heads", "ffns", "biases")
    return joined([Parts(*(base[f"direct_{name}"].astype(np.float64) for name in names)) for base in bases], order)


def _about(
    model: AttentionModel, asked: Sequence[EncodedQuestion], off: Off, mask: Mask, parts: Sequence[Part]
) -> dict[str, object]:
    """What a run is, so that only its own finished units are taken up again."""
    questions = json.dumps([[asdict(each.question), each.ids, each.right_id, each.wrong_id] for each in asked])
    return {
        "format": 1,
        "model": model.id,
        "sha256": model.sha256,
        "questions": hashlib.sha256(questions.encode("utf-8", "backslashreplace")).hexdigest(),
        "off": off,
        "mask": str(mask),
        "parts": sorted(parts),
    }
