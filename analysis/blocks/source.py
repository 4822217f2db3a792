"""Lines of this project's own code, read from the source file: what a page shows beside a step is what ran."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from model.alibi import alibi_bias
from model.attention import MultiHeadAttention, scaled_dot_product_attention
from model.blocks import FeedForward, TransformerBlock
from model.decoder_block import DecoderBlock
from model.norms import LayerNorm, RMSNorm
from model.positions import Embeddings, sinusoidal_positions
from model.rotary import rotate
from model.transformer import Transformer

ROOT = Path(__file__).resolve().parents[2]
_RECORDING = "if steps is not None:"
_ASIDE = re.compile(r"  # type: ignore.*")  # to the checker of types, not to the reader


@dataclass(frozen=True)
class Excerpt:
    """Some lines of a file. What only records steps is left out, so numbers may have gaps; so are asides to tools."""

    file: str  # relative to the project
    numbers: tuple[int, ...]  # from 1
    code: str

    @property
    def place(self) -> str:
        """Such as "model/attention.py, 95-97"."""
        first, last = self.numbers[0], self.numbers[-1]
        return f"{self.file}, {first}" if first == last else f"{self.file}, {first}-{last}"


_forward = MultiHeadAttention.forward
# What ran → the function, the first line and the last line, each by how it begins.
_PLACES: dict[str, tuple[Callable[..., Any], str, str]] = {
    "embed": (Embeddings.forward, "x: Tensor = self.token(ids)", "x = x + table"),
    "project": (_forward, "q = self.split_heads", "v = self.split_heads"),
    "qk_norm": (_forward, "if self.has_qk_norm", "q, k = self.q_norm"),
    "rotate": (rotate, "cosines, sines", "return"),
    "share": (_forward, "k, v = self.share_heads", ""),
    "split": (MultiHeadAttention.split_heads, "batch, n_tokens", "return"),
    "scores": (scaled_dot_product_attention, "scores = torch.matmul", ""),
    "scale": (scaled_dot_product_attention, "scores /=", ""),
    "bias": (scaled_dot_product_attention, "scores += bias", ""),
    "sinusoids": (sinusoidal_positions, "position = torch.arange", "table[:, 1::2]"),
    "alibi": (alibi_bias, "keys = positions", "return"),
    "mask": (scaled_dot_product_attention, "if mask is not None", "scores +="),
    "softmax": (scaled_dot_product_attention, "attention = softmax(scores", ""),
    "mix": (scaled_dot_product_attention, "mixed = attention @ v", ""),
    "concat": (MultiHeadAttention.merge_heads, "return", ""),
    "output": (_forward, "concatenated =", "output: Tensor"),
    "context": (_forward, "context = x if", ""),
    "self_attention": (DecoderBlock.forward, "attended, attention = self.attention", ")"),
    "cross": (DecoderBlock.forward, "crossed, cross = self.cross_attention", ")"),
    "attention": (TransformerBlock.forward, "attended, attention = self.attention", ")"),
    "attention_sum": (TransformerBlock.forward, "attention_sum = x +", ""),
    "middle": (TransformerBlock.forward, "middle =", ""),
    "attention_input": (TransformerBlock.forward, "attention_input =", ""),
    "ffn_input": (TransformerBlock.forward, "ffn_input =", ""),
    "ffn": (FeedForward.forward, "pre_activation = self.W_1(x)", "hidden = F.gelu(pre_activation"),
    "ffn_sum": (TransformerBlock.forward, "ffn_sum = middle +", ""),
    "block_output": (TransformerBlock.forward, "output = ", ""),
    "layer_norm": (LayerNorm.forward, "output, mean, inverse =", ""),
    "rms_norm": (RMSNorm.forward, "inverse = torch.rsqrt", "output ="),
    "next": (Transformer.logits, "return F.linear", "return F.linear"),
}


@cache
def excerpt(name: str) -> Excerpt:
    """The lines that ran, by the name of the step."""
    function, first, last = _PLACES[name]
    lines, start = inspect.getsourcelines(function)
    begin = _find(lines, first, 0)
    end = _find(lines, last, begin) if last else begin
    numbers, kept, recording = [], [], None
    for index in range(begin, end + 1):
        line = lines[index]
        indent = len(line) - len(line.lstrip())
        if recording is not None and (indent > recording or not line.strip()):
            continue
        recording = indent if line.strip() == _RECORDING else None
        if recording is None:
            numbers.append(start + index)
            kept.append(_ASIDE.sub("", line))
    file = Path(inspect.getsourcefile(function) or "").resolve().relative_to(ROOT)
    return Excerpt(file.as_posix(), tuple(numbers), textwrap.dedent("".join(kept)).rstrip())


def _find(lines: list[str], beginning: str, after: int) -> int:
    for index in range(after, len(lines)):
        if lines[index].strip().startswith(beginning):
            return index
    raise LookupError(f'No line begins with "{beginning}": analysis/blocks/source.py has to follow the code.')
