"""The Transformer block: attention and a feed-forward network, with their residuals and normalisations.

Sources: Vaswani et al. 2017, sections 3.1 and 3.3; Xiong et al. 2020 (pre-LN and post-LN); Hendrycks & Gimpel 2016
(GELU); Shazeer 2020 (SwiGLU, GEGLU); Wang & Komatsuzaki 2021 (parallel residual). Shape letters: see model.attention.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

from torch import Tensor, nn
from torch.nn import functional as F

from model.attention import AttentionSteps, MultiHeadAttention
from model.cache import LayerCache
from model.errors import HeadworkError
from model.norms import NormKind, NormSteps, make_norm
from model.packed import PackedLinear
from model.rotary import Rotation

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"]
GATED = ("swiglu", "geglu")  # of three matrices
NormPlace = Literal["pre", "post", "none"]
BiasPlace = Literal["all", "qkv", "none"]


@dataclass
class FeedForwardSteps:
    """The intermediate tensors of one feed-forward call."""

    pre_activation: Tensor | None = None  # (B, N, d_ff)  x W_1 + b_1
    gate: Tensor | None = None  # (B, N, d_ff)  x W_gate, for SwiGLU and GEGLU only
    activation: Tensor | None = None  # (B, N, d_ff)  after the nonlinearity
    output: Tensor | None = None  # (B, N, d_model)


@dataclass
class BlockSteps:
    """The intermediate tensors of one block, in the order pre-LN or post-LN makes them.

    In a parallel block `middle` is attention_sum, and ffn_input is the block's own input, normalised.
    """

    input: Tensor | None = None  # (B, N, d_model)
    attention_input: Tensor | None = None  # (B, N, d_model)  pre-LN: normalised input; post-LN: the input itself
    attention: AttentionSteps = field(default_factory=AttentionSteps)
    attention_sum: Tensor | None = None  # (B, N, d_model)  residual: input + attention's output
    attention_norm: NormSteps = field(default_factory=NormSteps)
    middle: Tensor | None = None  # (B, N, d_model)  post-LN: attention_sum normalised; pre-LN: attention_sum itself
    ffn_input: Tensor | None = None  # (B, N, d_model)  pre-LN: middle normalised; post-LN: middle itself
    ffn: FeedForwardSteps = field(default_factory=FeedForwardSteps)
    ffn_sum: Tensor | None = None  # (B, N, d_model)  residual: middle + FFN's output
    ffn_norm: NormSteps = field(default_factory=NormSteps)
    output: Tensor | None = None  # (B, N, d_model)


class FeedForward(nn.Module):
    """W_2 · activation(W_1 x): the same small network at every position, with no look at any other (section 3.3).

    SwiGLU has a third matrix: W_2 (silu(W_gate x) ⊙ W_1 x) (Shazeer 2020, equation 6). GEGLU is the same with GELU in
    its tanh form, as T5 v1.1 has it.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation = "relu", bias: bool = True) -> None:
        super().__init__()
        if activation not in get_args(Activation):
            raise HeadworkError(
                "There is no activation {activation}. Use one of {choices}.",
                activation=activation,
                choices=", ".join(get_args(Activation)),
            )
        if d_ff < 1:
            raise HeadworkError("d_ff {d_ff} is too small: the inner layer needs at least 1 unit.", d_ff=d_ff)
        self.activation = activation
        self.W_1: nn.Module = nn.Linear(d_model, d_ff, bias=bias)
        if activation in GATED:
            self.W_gate: nn.Module = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2: nn.Module = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor, *, steps: FeedForwardSteps | None = None) -> Tensor:
        """(B, N, d_model) → (B, N, d_model)."""
        if steps is None and isinstance(self.W_1, PackedLinear) and self.activation in ("gelu", "gelu_tanh"):
            hidden = self.W_1.then_gelu(x, tanh=self.activation == "gelu_tanh")  # (B, N, d_ff), one fused kernel
        else:
            pre_activation = self.W_1(x)  # (B, N, d_ff)
            if self.activation in GATED:
                gate = self.W_gate(x)  # (B, N, d_ff)
                opened = F.silu(gate) if self.activation == "swiglu" else F.gelu(gate, approximate="tanh")
                hidden = opened * pre_activation
            elif self.activation in ("relu", "silu"):
                hidden = F.relu(pre_activation) if self.activation == "relu" else F.silu(pre_activation)
            else:
                hidden = F.gelu(pre_activation, approximate="tanh" if self.activation == "gelu_tanh" else "none")
        output: Tensor = self.W_2(hidden)  # (B, N, d_model)
        if steps is not None:
            steps.pre_activation, steps.activation, steps.output = pre_activation, hidden, output
            steps.gate = gate if self.activation in GATED else None
        return output


class TransformerBlock(nn.Module):
    """Attention, then a feed-forward network, each with a residual and a layer normalisation.

    post-LN (Vaswani et al. 2017, BERT): x ← LN(x + sublayer(x)).
    pre-LN (GPT-2, Xiong et al. 2020):   x ← x + sublayer(LN(x)).
    none:                                x ← x + sublayer(x).
    pre-LN, parallel (GPT-NeoX):         x ← x + attention(LN(x)) + ffn(LN'(x)).
    With d_ff 0 there is no feed-forward network and no normalisation of its own: attention and its residual make the
    block (an attention-only model, as in Elhage et al. 2021). What a block doesn't have is no attribute of it.
    Dropout on each sublayer's output acts in training only; in eval mode the block is deterministic.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        *,
        norm: NormPlace = "post",
        activation: Activation = "relu",
        bias: bool = True,
        layer_norm_eps: float = 1e-5,
        num_key_heads: int | None = None,
        d_k: int | None = None,
        norm_kind: NormKind = "layer",
        attention_bias: BiasPlace | None = None,
        qk_norm: bool = False,
        parallel: bool = False,
        scaled: bool = True,
    ) -> None:
        super().__init__()
        if norm not in get_args(NormPlace):
            raise HeadworkError("norm must be pre, post or none, not {norm}.", norm=norm)
        if parallel and norm != "pre":
            raise HeadworkError("A parallel block normalises what goes in: norm must be pre, not {norm}.", norm=norm)
        self.norm = norm
        self.d_ff = d_ff
        self.parallel = parallel
        place = attention_bias or ("all" if bias else "none")
        self.new_attention = partial(  # a decoder block has a second one alike
            MultiHeadAttention,
            d_model,
            num_heads,
            bias=place != "none",
            output_bias=place == "all",
            num_key_heads=num_key_heads,
            d_k=d_k,
            qk_norm_eps=layer_norm_eps if qk_norm else None,
            scaled=scaled,
        )
        self.new_norm = partial(make_norm, norm_kind, d_model, layer_norm_eps)
        self.attention = self.new_attention()
        if norm != "none":
            self.attention_norm = self.new_norm()
        if d_ff:
            self.ffn = FeedForward(d_model, d_ff, activation, bias=bias)
        if d_ff and norm != "none":
            self.ffn_norm = self.new_norm()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        rotation: Rotation | None = None,
        bias: Tensor | None = None,
        cache: LayerCache | None = None,
        head_mask: Tensor | None = None,
        steps: BlockSteps | None = None,
        out: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """One block. Arguments as in MultiHeadAttention.forward.

        Returns:
            The new hidden state (B, N, d_model) and the map of every head (B, h, N, N).
        """
        pre, post = self.norm == "pre", self.norm == "post"
        attention_steps, attention_norm_steps, ffn_steps, ffn_norm_steps = (
            (None, None, None, None)
            if steps is None
            else (steps.attention, steps.attention_norm, steps.ffn, steps.ffn_norm)
        )
        attention_input = self.attention_norm(x, steps=attention_norm_steps) if pre else x  # (B, N, d_model)
        attended, attention = self.attention(
            attention_input,
            mask,
            rotation=rotation,
            bias=bias,
            cache=cache,
            head_mask=head_mask,
            steps=attention_steps,
            out=out,
        )  # (B, N, d_model), (B, h, N, N)
        attention_sum = x + self.dropout(attended)
        middle = self.attention_norm(attention_sum, steps=attention_norm_steps) if post else attention_sum
        if steps is not None:
            steps.input, steps.attention_input, steps.attention_sum = x, attention_input, attention_sum
            steps.middle = steps.output = middle
        if not self.d_ff:
            return middle, attention

        branch = x if self.parallel else middle
        ffn_input = self.ffn_norm(branch, steps=ffn_norm_steps) if pre else middle  # (B, N, d_model)
        ffn_sum = middle + self.dropout(self.ffn(ffn_input, steps=ffn_steps))
        output = self.ffn_norm(ffn_sum, steps=ffn_norm_steps) if post else ffn_sum
        if steps is not None:
            steps.ffn_input, steps.ffn_sum, steps.output = ffn_input, ffn_sum, output
        return output, attention
