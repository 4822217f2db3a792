"""Ways to read a head's map, each with what it leaves out: raw, without special tokens or the first token, by norm.

Many heads rest on the first token, whatever it is, where they have nothing to do: an attention sink (Xiao et al. 2023).
A weight says how much of a value is mixed in; the norm reading also says how long that value is (Kobayashi et al.
2020): ‖α_ij f(x_j)‖ with f(x) = (x W_V + b_V) W_O, the head's own share of both matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.words import units as words
from analysis.words.spans import By, Span
from analysis.words.units import Level, UnitTrace
from model import AttentionModel, AttentionTrace, HeadworkError, Mask
from model.attention import MultiHeadAttention
from model.blocks import TransformerBlock
from model.decoder_block import DecoderBlock
from model.masks import MaskLike
from model.seq2seq import EncoderDecoderModel
from model.trace import MapsOf
from model.transformer import Transformer, TransformerOutput

Block = TypeVar("Block", bound=TransformerBlock)


@dataclass(frozen=True)
class ReadingKind:
    """What a reading is called, shows and leaves out."""

    name: str
    title: str
    shows: str
    leaves_out: str


READINGS: dict[str, ReadingKind] = {
    kind.name: kind
    for kind in (
        ReadingKind(
            "raw",
            "Raw weights",
            "The weights as the softmax gave them; each row sums to 1.",
            "Ignores the length of the value vectors.",
        ),
        ReadingKind(
            "without_special",
            "Without special tokens",
            "The weights among words only.",
            "Leaves out the rows and columns of special tokens, and with them the weight stated beside the map.",
        ),
        ReadingKind(
            "without_first",
            "Without the first token",
            "The weights on all other tokens, each row rescaled to 1.",
            "Leaves out the column of the first token, and with it the weight stated beside the map.",
        ),
        ReadingKind(
            "norm",
            "Norm-weighted",
            "‖α f(x)‖: the weight times the length of what the head adds for that key, after W_V and W_o.",
            "Ignores direction: long vectors can cancel each other. Rows don't sum to 1.",
        ),
        ReadingKind(
            "log",
            "Small weights",
            "The raw weights on a logarithmic or square-root colour scale.",
            "Ignores proportion: twice as bright is not twice the weight.",
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Reading:
    """Maps as one reading has them, and what was taken away to get there.

    Attributes:
        trace: the maps between the units that are left.
        removed: (L, h, U), share of each row that lay on special tokens, or on the first, and was taken away; else 0.
        removed_overall: (L, h), its mean over the rows that count (see `without_special`, `without_first`); 0 without.
        removed_labels: the tokens that were taken away, each once.
        n_emptied: (L, h), rows with nothing left: all of it was taken away. They are 0, rescaled or not.
    """

    trace: UnitTrace
    removed: NDArray[np.float64]
    removed_overall: NDArray[np.float64]
    removed_labels: tuple[str, ...]
    n_emptied: NDArray[np.intp]


def read(
    trace: AttentionTrace,
    *,
    level: Level = "pieces",
    by: By | Sequence[Span] = "segmenter",
    hide_special: bool = False,
    hide_first: bool = False,
    rescale: bool = False,
    norms: NDArray[np.floating] | None = None,
) -> Reading:
    """The trace as a reading has it.

    Args:
        trace: the maps between pieces.
        level: between pieces or between words.
        by: whose words (`analysis.words.units.by_words`).
        hide_special: take rows and columns of special tokens away.
        hide_first: take the first token's column away, as `without_first` does.
        rescale: divide each row by its sum: what is left sums to 1 again, norms become shares of the row.
        norms: (L, h, N) of the keys, from `value_norms`, for the norm reading; None = weights.

    Raises:
        HeadworkError: special tokens, or the first, are to be hidden and there is nothing else; `norms` are of another
            text.
    """
    if norms is not None:
        trace = _norm_weighted(trace, norms)
    if hide_first:
        return without_first(trace, level=level, by=by, rescale=rescale)
    units = words.by_pieces(trace) if level == "pieces" else words.by_words(trace, by)
    if hide_special and units.is_special.all():
        raise HeadworkError("This text holds only special tokens, so nothing is left without them. Type a word.")
    return without_special(units, rescale=rescale) if hide_special else _untouched(units, rescale=rescale)


def without_special(trace: UnitTrace, *, rescale: bool = False) -> Reading:
    """Rows and columns of special tokens taken away; `rescale` makes what is left of a row sum to 1."""
    special, special_keys = trace.is_special, trace.key_units.is_special
    left = words.drop_special(trace)
    queries = trace.attention[:, :, ~special]
    total = queries.sum(axis=-1, dtype=np.float64)  # (L, h, U)
    on_special = queries[..., special_keys].sum(axis=-1, dtype=np.float64)
    removed = np.divide(on_special, total, out=np.zeros(total.shape), where=total > 0)
    seeing = trace.rows_with(1)[~special]  # (U,)
    emptied = (total > 0) & ~left.attention.any(axis=-1)
    return Reading(
        trace=_rescaled(left) if rescale else left,
        removed=removed,
        removed_overall=removed[..., seeing].mean(axis=-1) if seeing.any() else np.zeros(removed.shape[:2]),
        removed_labels=tuple(dict.fromkeys(np.array(trace.keys, dtype=object)[special_keys].tolist())),
        n_emptied=emptied.sum(axis=-1),
    )


def without_first(
    trace: AttentionTrace, *, level: Level = "pieces", by: By | Sequence[Span] = "segmenter", rescale: bool = False
) -> Reading:
    """The first token's column taken away, whatever token it is; `rescale` makes what is left of a row sum to 1.

    Rows and columns stay as many: the column's cells are 0 and count as not allowed, and a row that may attend to
    nothing else, the first under a causal mask, is 0. Between words the first token's weight is taken out of its word.
    `removed_overall` is over rows of words that may attend to something else.

    Raises:
        HeadworkError: there is only one token to look at.
    """
    if trace.n_keys == 1:
        raise HeadworkError("This text has one token, so nothing is left without the first. Type more.")
    whole = words.by_pieces(trace) if level == "pieces" else words.by_words(trace, by)
    maps, visible = trace.attention.copy(), trace.allowed.copy()
    maps[..., 0], visible[..., 0] = 0, False
    context = None if whole.context is None else whole.context.pieces
    left = replace(
        whole,
        attention=words.aggregate(maps, trace.allowed, whole.units, whole.context),
        allowed=words.aggregate_allowed(visible, whole.units.pieces, context),
        is_complete=rescale or not trace.allowed[..., 0].any(),
    )
    total, rest = (each.attention.sum(axis=-1, dtype=np.float64) for each in (whole, left))  # (L, h, U)
    removed = np.divide(np.maximum(total - rest, 0), total, out=np.zeros(total.shape), where=total > 0)
    counted = left.rows_with(1) & ~whole.is_special  # (U,)
    n_emptied = ((total > 0) & ~left.attention.any(axis=-1)).sum(axis=-1)
    for of_layer in left.attention if rescale else ():  # in place: it is a copy
        of_layer[:] = words.rescale(of_layer)
    return Reading(
        trace=left,
        removed=removed,
        removed_overall=removed[..., counted].mean(axis=-1) if counted.any() else np.zeros(removed.shape[:2]),
        removed_labels=trace.keys[:1],
        n_emptied=n_emptied,
    )


def special_share(trace: UnitTrace) -> NDArray[np.float64]:
    """Share of each head's rows, weights or norms, that lies on special tokens: (L, h), as `removed_overall`."""
    return without_special(trace).removed_overall


@torch.inference_mode()
def value_norms(model: AttentionModel, text: str, mask: Mask | str | None = None) -> NDArray[np.float32]:
    """‖f(x_j)‖ of every key under every head, f(x) = (x W_V + b_V) W_O (Kobayashi et al. 2020, section 2.2).

    x is what the block's attention reads: the normalised input in a pre-LN model. W_o's bias belongs to no head and
    to no key, so it is left out.

    Args:
        model: the model that made the trace.
        text: the trace's text.
        mask: the trace's mask, None = that of the training: it changes x from layer 2 on.

    Returns:
        (L, h, N) float32: α times this is the norm-weighted map, and no N × N × d_model array is ever made.
    """
    _, _, output = model.run(text, mask, record="hidden")
    return _of_self_attention(model.transformer, output)


@torch.inference_mode()
def norms_of_parts(
    model: EncoderDecoderModel,
    source: str,
    target: str | None = None,
    mask: MaskLike | None = None,
    *,
    source_mask: MaskLike = "bidirectional",
) -> dict[MapsOf, NDArray[np.float32]]:
    """As `value_norms`, of the three families of an encoder–decoder; arguments as in `EncoderDecoderModel.trace`.

    Returns:
        "encoder" (L, h, N_k), "decoder" (L, h, N_q) and "cross" (L, h, N_k): there x is what the encoder made.
    """
    *_, output = model.run(source, target, mask, source_mask=source_mask, record="hidden")
    parts = model.transformer
    context = output.encoder.hidden
    crossing = [_value_norms(block.cross_attention, context) for block in _blocks(parts.decoder, DecoderBlock)]
    return {
        "encoder": _of_self_attention(parts.encoder, output.encoder),
        "decoder": _of_self_attention(parts.decoder, output.decoder),
        "cross": torch.stack(crossing).numpy(),
    }


def _of_self_attention(transformer: Transformer, output: TransformerOutput) -> NDArray[np.float32]:
    """(L, h, N), of the keys of every layer."""
    assert output.hidden_states is not None
    norms = []
    for block, x in zip(_blocks(transformer, TransformerBlock), output.hidden_states, strict=False):
        norms.append(_value_norms(block.attention, block.attention_norm(x) if block.norm == "pre" else x))
    found: NDArray[np.float32] = torch.stack(norms).numpy()
    return found


def _blocks(transformer: Transformer, kind: type[Block]) -> list[Block]:
    return [block for block in transformer.blocks if isinstance(block, kind)]


def _value_norms(attention: MultiHeadAttention, x: torch.Tensor) -> torch.Tensor:
    """(h, N), from what the keys and values are made of, (1, N, d_model)."""
    values = attention.share_heads(attention.split_heads(attention.W_v(x)))[0]  # (h, N, d_k)
    weight = attention.W_o.weight  # (d_model, h·d_k), out × in
    assert isinstance(weight, torch.Tensor)
    shares = weight.T.reshape(attention.num_heads, attention.d_k, attention.d_model)  # (h, d_k, d_model)
    return torch.stack([(v @ w).norm(dim=-1) for v, w in zip(values, shares, strict=True)])  # (h, N)


def _norm_weighted(trace: AttentionTrace, norms: NDArray[np.floating]) -> AttentionTrace:
    if norms.shape != (trace.n_layers, trace.n_heads, trace.n_keys):
        raise HeadworkError(
            "The values' norms are for {n_norms} tokens, but the map has {n_tokens}. Read both from one text.",
            n_norms=norms.shape[-1],
            n_tokens=trace.n_keys,
        )
    return replace(trace, attention=trace.attention * norms.astype(np.float32)[:, :, None, :])


def _untouched(trace: UnitTrace, *, rescale: bool) -> Reading:
    shape = trace.attention.shape[:3]
    return Reading(
        trace=_rescaled(trace) if rescale else trace,
        removed=np.zeros(shape),
        removed_overall=np.zeros(shape[:2]),
        removed_labels=(),
        n_emptied=np.zeros(shape[:2], dtype=np.intp),
    )


def _rescaled(trace: UnitTrace) -> UnitTrace:
    scaled = np.empty(trace.attention.shape, dtype=np.float32)
    for layer, maps in enumerate(trace.attention):  # one at a time: 512 tokens take 283 MB in SmolLM2
        scaled[layer] = words.rescale(maps)
    return replace(trace, attention=scaled)
