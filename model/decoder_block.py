"""The decoder block of an encoder–decoder: self-attention, attention to another sequence, feed-forward network.

Source: Vaswani et al. 2017, sections 3.1 and 3.2.3. Shape letters: see model.attention; N_q target tokens look at N_k
source tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from torch import Tensor

from model.attention import AttentionSteps
from model.blocks import BlockSteps, TransformerBlock
from model.cache import LayerCache
from model.errors import HeadworkError
from model.norms import NormSteps
from model.rotary import Rotation

_NOT_KEPT = SimpleNamespace(attention=None, attention_norm=None, cross=None, cross_norm=None, ffn=None, ffn_norm=None)


@dataclass
class DecoderBlockSteps(BlockSteps):
    """The intermediate tensors of one decoder block: those of a block, and between its two parts cross-attention's."""

    cross_input: Tensor | None = None  # (B, N_q, d_model)  pre-LN: middle normalised; post-LN: middle itself
    cross: AttentionSteps = field(default_factory=AttentionSteps)  # maps (B, h, N_q, N_k)
    cross_sum: Tensor | None = None  # (B, N_q, d_model)  residual: middle + cross-attention's output
    cross_norm: NormSteps = field(default_factory=NormSteps)
    cross_middle: Tensor | None = None  # (B, N_q, d_model)  post-LN: cross_sum normalised; pre-LN: cross_sum itself


class DecoderBlock(TransformerBlock):
    """A Transformer block with a second attention, whose queries come from the target and whose keys and values come
    from the source (section 3.2.3). Arguments as of TransformerBlock; it is never parallel.
    """

    def __init__(self, *sizes: Any, **choices: Any) -> None:
        if choices.get("parallel"):
            raise HeadworkError("A decoder block that reads a source takes its parts in turn: it can't be parallel.")
        super().__init__(*sizes, **choices)
        self.cross_attention = self.new_attention()
        if self.norm != "none":
            self.cross_norm = self.new_norm()

    def forward(  # type: ignore[override]  # another sequence comes in, and its map goes out
        self,
        x: Tensor,
        context: Tensor,
        mask: Tensor | None = None,
        cross_mask: Tensor | None = None,
        *,
        rotation: Rotation | None = None,
        bias: Tensor | None = None,
        cache: LayerCache | None = None,
        cross_cache: LayerCache | None = None,
        head_mask: Tensor | None = None,
        cross_head_mask: Tensor | None = None,
        steps: DecoderBlockSteps | None = None,
        out: Tensor | None = None,
        cross_out: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One block: x is the target (B, N_q, d_model), context the source as the encoder left it (B, N_k, d_model).

        `mask` says what self-attention may see, broadcastable to (B, h, N_q, N_q), and `cross_mask` which source tokens
        may be looked at, broadcastable to (B, h, N_q, N_k). Other arguments as in MultiHeadAttention.forward; those
        with `cross` are cross-attention's.

        Returns:
            The new hidden state (B, N_q, d_model), the maps of self-attention (B, h, N_q, N_q) and of cross-attention
            (B, h, N_q, N_k).
        """
        pre, post = self.norm == "pre", self.norm == "post"
        kept = _NOT_KEPT if steps is None else steps
        attention_input = self.attention_norm(x, steps=kept.attention_norm) if pre else x  # (B, N_q, d_model)
        attended, attention = self.attention(
            attention_input,
            mask,
            rotation=rotation,
            bias=bias,
            cache=cache,
            head_mask=head_mask,
            steps=kept.attention,
            out=out,
        )  # (B, N_q, d_model), (B, h, N_q, N_q)
        attention_sum = x + self.dropout(attended)
        middle = self.attention_norm(attention_sum, steps=kept.attention_norm) if post else attention_sum

        cross_input = self.cross_norm(middle, steps=kept.cross_norm) if pre else middle  # queries
        crossed, cross = self.cross_attention(
            cross_input,
            cross_mask,
            context=context,  # keys and values
            cache=cross_cache,
            head_mask=cross_head_mask,
            steps=kept.cross,
            out=cross_out,
        )  # (B, N_q, d_model), (B, h, N_q, N_k)
        cross_sum = middle + self.dropout(crossed)
        output = cross_middle = self.cross_norm(cross_sum, steps=kept.cross_norm) if post else cross_sum

        if self.d_ff:
            ffn_input = self.ffn_norm(cross_middle, steps=kept.ffn_norm) if pre else cross_middle
            ffn_sum = cross_middle + self.dropout(self.ffn(ffn_input, steps=kept.ffn))
            output = self.ffn_norm(ffn_sum, steps=kept.ffn_norm) if post else ffn_sum
        if steps is not None:
            steps.input, steps.attention_input, steps.attention_sum = x, attention_input, attention_sum
            steps.middle, steps.cross_input, steps.cross_sum = middle, cross_input, cross_sum
            steps.cross_middle, steps.output = cross_middle, output
            if self.d_ff:
                steps.ffn_input, steps.ffn_sum = ffn_input, ffn_sum
        return output, attention, cross
