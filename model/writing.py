"""An encoder–decoder writes a target: always the most probable token, each with its own row over the cache's.

Shape letters: see model.attention; V is the size of the target's vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from model.cache import DecoderCache
from model.encoder_decoder import EncoderDecoder
from model.errors import HeadworkError, shown


@dataclass(frozen=True)
class WritingRules:
    """How a target begins and ends, and what its model is told not to write: what its makers set, no more.

    Attributes:
        start: the token that stands before every target and is never written.
        ends: tokens that end a target.
        first: what the first written token has to be; None = any.
        banned: tokens that are never written.
        min_length: a target has at least so many tokens, the start counted and the end not.
        no_repeat: no run of so many tokens comes twice, the start counted; 0 = runs may.
        not_done: what else they set, which is not done here, by name: with it the model isn't asked to write.
    """

    start: int
    ends: tuple[int, ...] = ()
    first: int | None = None
    banned: tuple[int, ...] = ()
    min_length: int = 0
    no_repeat: int = 0
    not_done: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuses what names no token."""
        ids = (self.start, *self.ends, *self.banned, *(() if self.first is None else (self.first,)))
        numbers = (*ids, self.min_length, self.no_repeat)
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers):
            raise HeadworkError(
                "A target starts and ends with tokens of the vocabulary, by number; these rules name others: {rules}.",
                rules=shown(numbers),
            )

    def apply(self, logits: Tensor, ids: list[int]) -> Tensor:
        """The scores (V,) of the next token after `ids`, the start among them; −inf for what may not come."""
        if self.first is not None and len(ids) == 1:
            return torch.full_like(logits, -math.inf).index_fill(0, torch.tensor(self.first), 0.0)
        forbidden = {*self.banned} | _repeating(ids, self.no_repeat)
        if len(ids) < self.min_length:
            forbidden |= {*self.ends}
        forbidden = {id_ for id_ in forbidden if id_ < logits.size(0)}
        return logits.index_fill(0, torch.tensor(sorted(forbidden), dtype=torch.long), -math.inf)


def _repeating(ids: list[int], n: int) -> set[int]:
    """Tokens that would make a run of n come a second time."""
    if n < 1 or len(ids) < n:
        return set()
    last = ids[len(ids) - n + 1 :]
    return {ids[i + n - 1] for i in range(len(ids) - n + 1) if ids[i : i + n - 1] == last}


@torch.inference_mode()
def write_greedily(
    model: EncoderDecoder, context: Tensor, rules: WritingRules, most: int, cross_mask: Tensor | None = None
) -> list[int]:
    """What the decoder writes when the most probable token is taken each time.

    Args:
        model: with an output matrix.
        context: one source as the encoder left it, (1, N_k, d_model).
        rules: of the model.
        most: it stops after so many tokens.
        cross_mask: which source tokens may be looked at, (1, 1, 1, N_k); None = all.

    Returns:
        The ids written, without the start; the end is the last where it came.

    Raises:
        HeadworkError: the model has no output matrix, or rules that aren't done here.
    """
    if rules.not_done:
        raise HeadworkError(
            "This model's generation_config.json sets {name}, which is not done here, so it would write another text "
            "than its makers meant. Give it a target.",
            name=rules.not_done[0],
        )
    model.output_matrix()
    cache, ids = DecoderCache(model.config.decoder.num_layers), [rules.start]
    while len(ids) <= most and not (len(ids) > 1 and ids[-1] in rules.ends):
        output = model.decoder(torch.tensor([ids[-1:]]), context, None, cross_mask, cache=cache)
        logits = rules.apply(model.logits(output.hidden[0, -1]), ids)  # (V,)
        ids.append(int(logits.argmax()))
    return ids[1:]
