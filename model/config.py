"""The sizes and choices that make a Transformer, and what they must fulfil. Shape letters: see model.attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from model.attention import check_heads
from model.blocks import Activation, BiasPlace, NormPlace
from model.errors import HeadworkError, check_whole_numbers, shown
from model.norms import NormKind
from model.positions import Positions
from model.rotary import RotaryScaling

OutputMatrix = Literal["none", "tied", "own"]

# Far above any published model of these families: what a broken or hostile config.json may ask for ends here.
_BOUNDS = {
    "vocab_size": (0, 10_000_000),
    "d_model": (1, 65_536),
    "num_heads": (1, 1_024),
    "num_layers": (1, 512),
    "d_ff": (0, 1_048_576),
    "max_tokens": (1, 10_000_000),
    "n_token_types": (0, 1_000),
    "position_offset": (0, 1_000),
    "num_key_heads": (0, 1_024),
    "head_width": (0, 65_536),
    "rotary_width": (0, 65_536),
    "relative_buckets": (4, 65_536),
    "relative_distance": (3, 10_000_000),
}


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes and choices that make a model. The defaults are BERT's (Devlin et al. 2019).

    vocab_size 0 means a model without a vocabulary: every token id gets a random vector drawn from `seed`.
    d_ff 0 means blocks without a feed-forward network; with norm "none" they are attention and its residual only.
    num_key_heads 0 means as many key heads as query heads, head_width 0 heads of d_model / h columns. What decoders
    choose otherwise:

    norm_kind: "rms" = RMSNorm in every place (Zhang & Sennrich 2019).
    positions "rotary": rotary_width columns of each head are turned (0 = all), by rotary_base and rotary_scaling
        (Su et al. 2021). "alibi": scores fall with the distance (Press et al. 2022).
        "relative": a learned number a head is added for each range of distances, of relative_buckets that reach to
        relative_distance; relative_past_only where no later token is ever seen (Raffel et al. 2020, section 2.1).
        "sinusoidal_halves": first all sines, then all cosines (tensor2tensor, Marian).
    scaled_scores: whether scores are divided by √d_k (T5's aren't).
    scaled_embedding: token vectors are multiplied by √d_model.
    attention_bias: which projections have a bias; None = all or none, as `bias` says of the others.
    qk_norm: an RMSNorm over each head's query and key (Qwen3).
    parallel: attention and FFN read the same input, and both are added to it (GPT-NeoX).
    windows: for each layer how many tokens back a query sees, itself counted; 0 = all. Empty = no layer has one
        (Beltagy et al. 2020; Mistral).
    output: the matrix from hidden states to logits: none, the token embedding ("tied"; Press & Wolf 2017), its own.
    """

    vocab_size: int
    d_model: int
    num_heads: int
    num_layers: int
    d_ff: int
    max_tokens: int = 512
    n_token_types: int = 0
    norm: NormPlace = "post"
    activation: Activation = "gelu"
    positions: Positions = "learned"
    position_offset: int = 0
    embedding_norm: bool = True
    final_norm: bool = False
    bias: bool = True
    layer_norm_eps: float = 1e-12
    dropout: float = 0.1
    seed: int = 0
    num_key_heads: int = 0
    head_width: int = 0
    norm_kind: NormKind = "layer"
    rotary_width: int = 0
    rotary_base: float = 10_000.0
    rotary_scaling: RotaryScaling | None = None
    attention_bias: BiasPlace | None = None
    qk_norm: bool = False
    parallel: bool = False
    windows: tuple[int, ...] = ()
    output: OutputMatrix = "none"
    relative_buckets: int = 32
    relative_distance: int = 128
    relative_past_only: bool = False
    scaled_scores: bool = True
    scaled_embedding: bool = False

    def __post_init__(self) -> None:
        """Refuses sizes that make no model."""
        check_whole_numbers(self, _BOUNDS)
        if not isinstance(self.layer_norm_eps, float) or not 0 <= self.layer_norm_eps < 1:
            raise HeadworkError(
                "layer_norm_eps is {value}: it must be a small number.", value=shown(self.layer_norm_eps)
            )
        check_heads(self.d_model, self.num_heads, num_key_heads=self.num_key_heads, d_k=self.head_width)
        if self.output not in get_args(OutputMatrix):
            choices = ", ".join(get_args(OutputMatrix))
            raise HeadworkError(
                "There is no output matrix {output}. Use one of {choices}.", output=shown(self.output), choices=choices
            )
        if self.output != "none" and not self.vocab_size:
            raise HeadworkError("An output matrix scores the tokens of a vocabulary, and vocab_size is 0.")
        if self.positions == "rotary":
            self._check_rotary()
        if self.windows and (
            len(self.windows) != self.num_layers or not all(isinstance(w, int) and w >= 0 for w in self.windows)
        ):
            raise HeadworkError(
                "Windows are a whole number of tokens for each of {layers} layers, 0 = none; these are {windows}.",
                layers=self.num_layers,
                windows=shown(self.windows),
            )

    def _check_rotary(self) -> None:
        base, width = self.rotary_base, self.rotary_width or self.d_k
        if isinstance(base, bool) or not isinstance(base, int | float) or not 1 < base < 1e12:
            raise HeadworkError("rotary_base is {value}: it must be a number above 1.", value=shown(base))
        if width % 2 or width > self.d_k:
            raise HeadworkError(
                "Rotary positions turn pairs of columns: {width} of {d_k} columns of a head can't be taken in pairs.",
                width=width,
                d_k=self.d_k,
            )

    @property
    def d_k(self) -> int:
        """Width of one head: d_model / h unless head_width says another."""
        return self.head_width or self.d_model // self.num_heads

    @property
    def key_heads(self) -> int:
        """Heads of keys and values, h_kv: each serves h / h_kv query heads."""
        return self.num_key_heads or self.num_heads
