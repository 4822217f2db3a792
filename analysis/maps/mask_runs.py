"""Runs of a model that show what a mask does: scores of a layer, an edited word, a growing sentence, a padded batch.

Each function runs the model it is given and returns small read-only arrays; nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from analysis.maps.masking import Bools, Doubles, largest
from model import AttentionModel, HeadworkError, Mask, Tokens, TransformerBlock
from model.attention import AttentionSteps
from model.transformer import TransformerOutput

Singles = npt.NDArray[np.float32]
Side = Literal["right", "left"]


class Arrays:
    """A frozen result that knows how many bytes its arrays take, for the cache."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        values = [getattr(self, field.name) for field in fields(cast("type", type(self)))]
        return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


@dataclass(frozen=True, eq=False)
class LayerScores(Arrays):
    """S = q kᵀ / √d_k of every head of one layer, (h, N, N), before the mask is added."""

    scores: Singles


@torch.inference_mode()
def layer_scores(model: AttentionModel, text: str, mask: Mask, layer: int) -> LayerScores:
    """The scores of one layer, counted from 0, when all layers below it ran under `mask`."""
    _, allowed, output = model.run(text, mask, record="hidden")
    assert output.hidden_states is not None
    block = cast(TransformerBlock, model.transformer.blocks[layer])
    x = output.hidden_states[layer]  # (1, N, d_model)
    steps = AttentionSteps()
    block.attention(block.attention_norm(x) if block.norm == "pre" else x, allowed, steps=steps)
    assert steps.scores is not None
    return LayerScores(_array(steps.scores[0]))


def without_padding(mask: Mask) -> Mask:
    """The same rule for a sentence that isn't padded."""
    return replace(mask, padded_length=None)


@dataclass(frozen=True, eq=False)
class Leak(Arrays):
    """What an edit of one word does to every token, under one mask.

    Attributes:
        first: index of the first token that differs between the two sentences.
        n_before: tokens before it; the claim is about these.
        edited: (N,) the tokens of the sentence that the edit replaced.
        moved: (L + 1, N) ‖Δx‖ / ‖x‖ of each token's state, level 0 = embeddings; NaN where the edit replaced the token.
        weights_moved: (L,) largest change of an attention weight between two tokens before the edit.
    """

    first: int
    edited: Bools
    moved: Doubles
    weights_moved: Doubles

    @property
    def n_before(self) -> int:
        """How many tokens stand before the edit."""
        return self.first

    @property
    def before(self) -> Doubles:
        """(L + 1,) largest change of a state before the edit, for each level."""
        return self.moved[:, : self.first].max(axis=1) if self.first else np.zeros(len(self.moved))


def edit_word(tokens: Tokens, word: int, replacement: str) -> str:
    """The sentence with one word replaced.

    Raises:
        HeadworkError: nothing is put in its place, or the same word is.
    """
    spans = [span for span, word_id in zip(tokens.spans, tokens.word_ids, strict=True) if word_id == word]
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    replacement = replacement.strip()
    if not replacement:
        raise HeadworkError("Type the word to put in place of “{word}”.", word=tokens.words[word])
    if replacement == tokens.text[start:end]:
        raise HeadworkError("“{word}” is the word that already stands there. Type another.", word=replacement)
    return tokens.text[:start] + replacement + tokens.text[end:]


@torch.inference_mode()
def leak(model: AttentionModel, text: str, edited_text: str, mask: Mask) -> Leak:
    """A sentence and its edited form under a mask, compared token by token.

    Tokens are matched from the beginning up to the edit and from the end back to it.

    Raises:
        HeadworkError: the model reads both sentences alike.
    """
    mask = without_padding(mask)
    tokens, _, one = model.run(text, mask, record="hidden")
    other_tokens, _, other = model.run(edited_text, mask, record="hidden")
    n, m = len(tokens), len(other_tokens)
    first = _n_common(tokens.ids, other_tokens.ids)
    if first == n == m:
        raise HeadworkError("The model reads both sentences alike: nothing was edited. Type another word.")
    n_after = min(_n_common(tokens.ids[::-1], other_tokens.ids[::-1]), n - first, m - first)
    assert one.hidden_states is not None and other.hidden_states is not None

    moved = np.full((len(one.hidden_states), n), np.nan)  # (L + 1, N)
    for level, (x, y) in enumerate(zip(one.hidden_states, other.hidden_states, strict=True)):
        moved[level, :first] = _moved(x[0, :first], y[0, :first])
        if n_after:
            moved[level, n - n_after :] = _moved(x[0, n - n_after :], y[0, m - n_after :])
    # Layer by layer, so that no second copy of all maps is made.
    pairs = zip(one.attention[:, 0, :, :first, :first], other.attention[:, 0, :, :first, :first], strict=True)
    weights = [float((x - y).abs().max()) if first else 0.0 for x, y in pairs]
    edited = np.zeros(n, dtype=bool)
    edited[first : n - n_after] = True
    return Leak(
        first=first,
        edited=edited,
        moved=moved,
        weights_moved=np.array(weights),
    )


@dataclass(frozen=True, eq=False)
class Revealed(Arrays):
    """One layer's maps when the model is given only the first n tokens, (h, n, n)."""

    attention: Singles


@torch.inference_mode()
def revealed(model: AttentionModel, tokens: Tokens, mask: Mask, n: int, layer: int) -> Revealed:
    """The model on the first n tokens alone, as a decoder runs after n steps."""
    types = model.token_types(tokens)  # (1, N)
    output = model.transformer(
        torch.tensor([tokens.ids[:n]]), mask.allowed(n), token_types=None if types is None else types[:, :n]
    )
    return Revealed(_array(output.attention[layer, 0].clone()))


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
    attention = _array(run.attention[layer, 0].clone())
    on_padding = (maps[0][:, real][..., row.is_padding] for maps in run.attention)  # L of (h, N, M − N)
    share = np.stack([weights.sum(-1).mean(-1).numpy() for weights in on_padding])
    moved = [float(_moved(x[0], y[0, real]).max()) for x, y in zip(alone, _states(run), strict=True)]
    outputs, refilled = run.hidden[0, real], np.nan
    del run  # its maps, before another run makes as many
    if hidden_keys is not None:
        refilled = float(_moved(outputs, model.transformer.encode(row.with_filler, allowed).hidden[0, real]).max())
    return attention, allowed[0, 0].numpy(), share, moved, refilled


def _states(output: TransformerOutput) -> list[Tensor]:
    return cast("list[Tensor]", output.hidden_states)


def _moved(x: Tensor, y: Tensor) -> Doubles:
    """‖y − x‖ / ‖x‖ of each row."""
    x, y = x.double(), y.double()
    moved: Doubles = ((y - x).norm(dim=-1) / x.norm(dim=-1).clamp_min(1e-30)).numpy()
    return moved


def _n_common(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Length of the common beginning."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _array(tensor: Tensor) -> Singles:
    array: Singles = tensor.numpy()
    array.flags.writeable = False
    return array


def largest_move(before: Doubles) -> tuple[float, int]:
    """The largest value of what `Leak.before` says, and its level."""
    return largest(before), int(before.argmax()) if before.size else 0
