"""Runs of a model that show what a mask does: scores of a layer, an edited word, a growing sentence.

Each function runs the model it is given and returns small read-only arrays; nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from analysis.maps.masking import Bools, Doubles, largest
from model import AttentionModel, HeadworkError, Mask, Tokens, TransformerBlock
from model.attention import AttentionSteps

Singles = npt.NDArray[np.float32]


class Arrays:
    """A frozen result that knows how many bytes its arrays take, for the cache."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        values = [getattr(self, field.name) for field in fields(cast("type", type(self)))]
        return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


@dataclass(frozen=True, eq=False)
class LayerScores(Arrays):
    """S = q kᵀ / √d_k, and what positions add, of every head of one layer, (h, N, N), before the mask is added."""

    scores: Singles


def layer_scores(model: AttentionModel, text: str, mask: Mask, layer: int) -> LayerScores:
    """The scores of one layer, counted from 0, when all layers below it ran under `mask`."""
    _, steps = layer_steps(model, text, mask, layer)
    scores = steps.scores if steps.biased_scores is None else steps.biased_scores
    assert scores is not None
    return LayerScores(read_only(scores[0]))


@torch.inference_mode()
def layer_steps(model: AttentionModel, text: str, mask: Mask, layer: int) -> tuple[Tokens, AttentionSteps]:
    """Every step of one layer's attention, likewise: of all layers they would take five maps a head."""
    tokens, allowed, output = model.run(text, mask, record="hidden")
    assert output.hidden_states is not None
    block = cast(TransformerBlock, model.transformer.blocks[layer])
    x = output.hidden_states[layer]  # (1, N, d_model)
    steps = AttentionSteps()
    visible = allowed if allowed.dim() == 2 else allowed[layer]  # layers with windows have masks of their own
    turn, bias = model.transformer.rotation(None, x), model.transformer.position_bias(None, x, x.size(1))
    attention_input = block.attention_norm(x) if block.norm == "pre" else x
    block.attention(attention_input, visible, rotation=turn, bias=bias, steps=steps)
    return tokens, steps


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
        moved[level, :first] = moved_by(x[0, :first], y[0, :first])
        if n_after:
            moved[level, n - n_after :] = moved_by(x[0, n - n_after :], y[0, m - n_after :])
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
    return Revealed(read_only(output.attention[layer, 0].clone()))


def moved_by(x: Tensor, y: Tensor) -> Doubles:
    """‖y − x‖ / ‖x‖ of each row."""
    x, y = x.double(), y.double()
    moved: Doubles = ((y - x).norm(dim=-1) / x.norm(dim=-1).clamp_min(1e-30)).numpy()
    return moved


def _n_common(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Length of the common beginning."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def read_only(tensor: Tensor) -> Singles:
    """The tensor as an array that nobody changes; no copy."""
    array: Singles = tensor.numpy()
    array.flags.writeable = False
    return array


def largest_move(before: Doubles) -> tuple[float, int]:
    """The largest value of what `Leak.before` says, and its level."""
    return largest(before), int(before.argmax()) if before.size else 0
