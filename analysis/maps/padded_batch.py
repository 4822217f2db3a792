"""Two sentences as one batch: what padding takes of the shorter one, and which mask keeps it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from analysis.maps.mask_runs import Arrays, Singles, moved_by, read_only
from analysis.maps.masking import Bools, Doubles
from model import AttentionModel, HeadworkError, Mask, Tokens
from model.transformer import TransformerOutput

Side = Literal["right", "left"]
CASES = ("bidirectional", "causal", "padding", "causal+padding")
_BASES = {True: Mask.causal(), False: Mask.bidirectional()}  # by whether a case is causal


@dataclass(frozen=True, eq=False)
class PaddedBatch(Arrays):
    """Two sentences as one batch, padded to the longer; what is measured is the shorter one. C = the four `CASES`.

    Attributes:
        tokens: the shorter sentence, padded on the right; `order` puts its tokens where the batch has them.
        order: (M,) token at each place of the row.
        is_padding: (M,) True = [PAD].
        attention: (C, h, M, M) the maps of one layer.
        allowed: (C, M, M).
        pad_share: (C, L, h) weight that the real queries give to [PAD], mean over those queries.
        moved: (C, L + 1) largest ‖Δx‖ / ‖x‖ of a real token, against the sentence run alone under the same base mask.
        refilled: (C,) the same at the last level when another token stands in the places of [PAD], against [PAD];
            NaN without the padding mask.
    """

    tokens: Tokens
    is_second: bool
    order: npt.NDArray[np.int64]
    is_padding: Bools
    attention: Singles
    allowed: Bools
    pad_share: Doubles
    moved: Doubles
    refilled: Doubles

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens in the order of the batch's row."""
        return tuple(self.tokens.labels[i] for i in self.order)


@dataclass(frozen=True, eq=False)
class _Row:
    """The shorter sentence (N tokens) as a row of the batch (M places): see `PaddedBatch` for what has its name there.

    Attributes:
        ids, types: (1, N), without padding.
        with_pad: (1, M, d_model), embeddings with [PAD] in the places without a token.
        with_filler: the same with a token of the longer sentence there.
    """

    tokens: Tokens
    is_second: bool
    order: npt.NDArray[np.int64]
    is_padding: Bools
    ids: Tensor
    types: Tensor | None
    with_pad: Tensor
    with_filler: Tensor


@torch.inference_mode()
def padded_batch(model: AttentionModel, text: str, other_text: str, layer: int, side: Side = "right") -> PaddedBatch:
    """The shorter of two sentences as its row of their padded batch, run under each of `CASES`.

    The rows of a batch don't see each other, so the longer sentence itself needn't be run.
    With padding on the left, positions are counted from the first real token, as decoders do when they generate.

    Raises:
        HeadworkError: an empty sentence, sentences of the same length, or a model without a padding token.
    """
    row = _shorter_row(model, (text, other_text), side)
    alone = {
        is_causal: _states(
            model.transformer(row.ids, mask.allowed(row.ids.shape[1]), token_types=row.types, record="hidden")
        )
        for is_causal, mask in _BASES.items()
    }
    found = [_padded_run(model, row, case, alone[case.startswith("causal")], layer) for case in CASES]
    maps, masks, shares, moved, refilled = zip(*found, strict=True)
    return PaddedBatch(
        tokens=row.tokens,
        is_second=row.is_second,
        order=row.order,
        is_padding=row.is_padding,
        attention=np.stack(maps),
        allowed=np.stack(masks),
        pad_share=np.stack(shares).astype(np.float64),
        moved=np.array(moved),
        refilled=np.array(refilled),
    )


def _shorter_row(model: AttentionModel, texts: tuple[str, str], side: Side) -> _Row:
    """The shorter of two sentences, padded to the longer. Raises HeadworkError as `padded_batch`."""
    encode, limit, embed = model.tokenizer.encode, model.token_limit, model.transformer.embeddings
    alone = [encode(sentence, limit=limit) for sentence in texts]
    lengths = [len(tokens) for tokens in alone]
    if lengths[0] == lengths[1]:
        raise HeadworkError(
            "Both sentences have {n} tokens, so there is nothing to pad. Make one of them shorter.", n=lengths[0]
        )
    row = lengths.index(min(lengths))
    n, m = min(lengths), max(lengths)
    tokens = encode(texts[row], limit=limit, pad_to=m)
    order = np.arange(m) if side == "right" else np.roll(np.arange(m), m - n)
    ids = torch.tensor([alone[row].ids])  # (1, N)
    types = model.token_types(tokens)  # (1, M)
    types_alone = None if types is None else types[:, :n]

    def padded_with(fill: int) -> Tensor:
        """(1, M, d_model)."""
        fillers = torch.full((1, m - n), fill)
        if side == "left":
            return torch.cat([embed(fillers), embed(ids, types_alone)], dim=1)  # positions from the first real token
        embedded: Tensor = embed(torch.cat([ids, fillers], dim=1), types)
        return embedded

    filler = alone[1 - row].ids[lengths[1 - row] // 2]
    with_pad, with_filler = padded_with(tokens.ids[-1]), padded_with(filler)
    return _Row(tokens, row == 1, order, order >= n, ids, types_alone, with_pad, with_filler)


def _padded_run(
    model: AttentionModel, row: _Row, case: str, alone: list[Tensor], layer: int
) -> tuple[Singles, Bools, Singles, list[float], float]:
    """One of `CASES`: map and mask of a layer, and the case's `pad_share`, `moved` and `refilled`.

    Args:
        model: the model.
        row: the padded sentence.
        case: its name.
        alone: hidden states of the sentence without padding, under the same base mask.
        layer: whose map is kept.
    """
    real, m = np.flatnonzero(~row.is_padding), len(row.order)
    hidden_keys = torch.tensor(row.is_padding[None]) if case.endswith("padding") else None
    allowed = _BASES[case.startswith("causal")].allowed(m, hidden_keys).expand(1, 1, m, m)
    run = model.transformer.encode(row.with_pad, allowed, record="hidden")
    attention = read_only(run.attention[layer, 0].clone())
    on_padding = (maps[0][:, real][..., row.is_padding] for maps in run.attention)  # L of (h, N, M − N)
    share = np.stack([weights.sum(-1).mean(-1).numpy() for weights in on_padding])
    moved = [float(moved_by(x[0], y[0, real]).max()) for x, y in zip(alone, _states(run), strict=True)]
    outputs, refilled = run.hidden[0, real], np.nan
    del run  # its maps, before another run makes as many
    if hidden_keys is not None:
        refilled = float(moved_by(outputs, model.transformer.encode(row.with_filler, allowed).hidden[0, real]).max())
    return attention, allowed[0, 0].numpy(), share, moved, refilled


def _states(output: TransformerOutput) -> list[Tensor]:
    return cast("list[Tensor]", output.hidden_states)
