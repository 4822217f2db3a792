"""What follows the last block of a decoder: the final norm, the output matrix, and probabilities of the next token."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from analysis.blocks.record import Floats, Stack


@dataclass(frozen=True, eq=False)
class NextToken:
    """The tokens that are most probable after one position.

    Attributes:
        hidden: (d_model,), the last layer's output at this position.
        normed: (d_model,), after the final norm; the same where the model has none.
        ids: (k,) most probable first.
        logits: (k,) their scores.
        log_total: ln Σ e^logit over the whole vocabulary.
        probabilities: (k,), e^(logit − log_total).
    """

    hidden: Floats
    normed: Floats
    ids: tuple[int, ...]
    logits: Floats
    log_total: float
    probabilities: Floats


@torch.inference_mode()
def next_token(stack: Stack, position: int, k: int = 10) -> NextToken:
    """What the model expects after the token at `position`, from 0."""
    model = stack.transformer
    assert model is not None
    hidden = torch.from_numpy(stack.hidden_states[-1][position])
    normed = hidden if model.final_norm is None else model.final_norm(hidden)
    logits = model.logits(normed)  # (V,)
    top, ids = logits.topk(min(k, len(logits)))
    total = logits.logsumexp(-1)
    return NextToken(
        hidden.numpy(),
        normed.numpy(),
        tuple(ids.tolist()),
        top.numpy(),
        float(total),
        (top - total).exp().numpy(),
    )
