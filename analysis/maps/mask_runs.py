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
    """Runs a sentence and its edited form under a mask, and compares token by token.

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
    """Runs the model on the first n tokens alone, as a decoder does after n steps."""
    types = model.token_types(tokens)  # (1, N)
    output = model.transformer(
        torch.tensor([tokens.ids[:n]]), mask.allowed(n), token_types=None if types is None else types[:, :n]
    )
    return Revealed(_array(output.attention[layer, 0].clone()))


CASES = ("bidirectional", "causal", "padding", "causal+padding")


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


@torch.inference_mode()
def padded_batch(model: AttentionModel, text: str, other_text: str, layer: int, side: Side = "right") -> PaddedBatch:
    """Runs the shorter of two sentences as its row of their padded batch, under each of `CASES`.

    The rows of a batch don't see each other, so the longer sentence itself needn't be run.
    With padding on the left, positions are counted from the first real token, as decoders do when they generate.

    Raises:
        HeadworkError: an empty sentence, sentences of the same length, or a model without a padding token.
    """
    encode, limit = model.tokenizer.encode, model.token_limit
    alone = [encode(sentence, limit=limit) for sentence in (text, other_text)]
    lengths = [len(tokens) for tokens in alone]
    if lengths[0] == lengths[1]:
        raise HeadworkError(
            "Both sentences have {n} tokens, so there is nothing to pad. Make one of them shorter.", n=lengths[0]
        )
    row = lengths.index(min(lengths))  # the shorter one
    n, m = min(lengths), max(lengths)
    padded = encode((text, other_text)[row], limit=limit, pad_to=m)
    pad_id, filler = padded.ids[-1], alone[1 - row].ids[lengths[1 - row] // 2]
    order = np.arange(m) if side == "right" else np.roll(np.arange(m), m - n)
    places = np.flatnonzero(order < n)  # where the real tokens are
    is_padding = order >= n
    ids = torch.tensor([alone[row].ids])  # (1, N)
    types = model.token_types(padded)  # (1, M)
    types_alone = None if types is None else types[:, :n]
    embed = model.transformer.embeddings

    def padded_with(fill: int) -> Tensor:
        """(1, M, d_model)."""
        fillers = torch.full((1, m - n), fill)
        if side == "left":
            return torch.cat([embed(fillers), embed(ids, types_alone)], dim=1)  # positions from the first real token
        embedded: Tensor = embed(torch.cat([ids, fillers], dim=1), types)
        return embedded

    with_pad, with_filler = padded_with(pad_id), padded_with(filler)
    bases = {True: Mask.causal(), False: Mask.bidirectional()}
    singles = {
        is_causal: model.transformer(ids, mask.allowed(n), token_types=types_alone, record="hidden").hidden_states
        for is_causal, mask in bases.items()
    }
    maps, masks, shares, moved, refilled = [], [], [], [], []
    for case in CASES:
        is_causal = case.startswith("causal")
        hidden_keys = torch.tensor(is_padding[None]) if case.endswith("padding") else None
        allowed = bases[is_causal].allowed(m, hidden_keys).expand(1, 1, m, m)
        run = model.transformer.encode(with_pad, allowed, record="hidden")
        masks.append(allowed[0, 0].numpy())
        maps.append(_array(run.attention[layer, 0].clone()))
        on_padding = (maps_of[0][:, places][..., is_padding] for maps_of in run.attention)  # L of (h, N, M − N)
        shares.append(np.stack([weights.sum(-1).mean(-1).numpy() for weights in on_padding]))
        pairs = zip(cast("list[Tensor]", singles[is_causal]), cast("list[Tensor]", run.hidden_states), strict=True)
        moved.append([_moved(x[0], y[0, places]).max() for x, y in pairs])
        outputs = run.hidden[0, places]
        del run  # its maps, before another run makes as many
        if not case.endswith("padding"):
            refilled.append(np.nan)
            continue
        again = model.transformer.encode(with_filler, allowed)
        refilled.append(_moved(outputs, again.hidden[0, places]).max())
        del again
    return PaddedBatch(
        tokens=padded,
        is_second=row == 1,
        order=order,
        is_padding=is_padding,
        attention=np.stack(maps),
        allowed=np.stack(masks),
        pad_share=np.stack(shares).astype(np.float64),
        moved=np.array(moved),
        refilled=np.array(refilled),
    )


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
