"""Nothing but the matrix products of a forward: what the rest of it is measured against.

Shape letters as in model.attention. M = B·N rows go through the linear layers.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch
from torch import Tensor

from model.transformer import TransformerConfig

STORED, COPIED, PACKED = "mm", "mm, W transposed", "oneDNN"


class ProductWeights:
    """Random weights of every layer in each layout a product can take. Every layer has its own, as in a model.

    layouts:
        STORED   (out, in) as checkpoints store them, used through a transposed view
        COPIED   (in, out) in memory
        PACKED   reordered by oneDNN
    """

    def __init__(self, config: TransformerConfig, *, packed: bool) -> None:
        d, d_ff = config.d_model, config.d_ff
        generator = torch.Generator().manual_seed(0)
        sizes = [(d, d)] * 4 + [(d_ff, d), (d, d_ff)]  # (out, in): W_q W_k W_v W_o, W_1 W_2
        stored = [
            [torch.randn(size, generator=generator) * 0.02 for size in sizes] for _ in range(config.num_layers)
        ]  # L of 6
        self.config = config
        self.layouts: dict[str, list[list[Tensor]]] = {
            STORED: [[weight.t() for weight in layer] for layer in stored],
            COPIED: [[weight.t().contiguous() for weight in layer] for layer in stored],
        }
        if packed:
            reorder = torch.ops.mkldnn._reorder_linear_weight
            self.layouts[PACKED] = [[reorder(weight, None) for weight in layer] for layer in stored]


class Products:
    """The products of one forward at one size, into buffers allocated before (but oneDNN allocates its own results).

    `runs[layout]()` does them all, layer by layer: torch.mm or oneDNN for linear layers, torch.bmm inside attention.
    """

    def __init__(self, weights: ProductWeights, batch: int, n_tokens: int, clock: Callable[[], float]) -> None:
        config = weights.config
        rows, heads, d_k = batch * n_tokens, batch * config.num_heads, config.d_k
        generator = torch.Generator().manual_seed(0)
        self.narrow = torch.randn(rows, config.d_model, generator=generator)  # (M, d_model)
        self.wide = torch.randn(rows, config.d_ff, generator=generator)  # (M, d_ff)
        self.results = {width: torch.empty(rows, width) for width in (config.d_model, config.d_ff)}  # (M, width)
        self.q = torch.randn(heads, n_tokens, d_k, generator=generator)  # (B·h, N, d_k)
        self.k = torch.randn(heads, d_k, n_tokens, generator=generator)  # (B·h, d_k, N)
        self.v = torch.randn(heads, n_tokens, d_k, generator=generator)  # (B·h, N, d_k)
        self.scores = torch.empty(heads, n_tokens, n_tokens)  # (B·h, N, N)
        self.mixed = torch.empty(heads, n_tokens, d_k)  # (B·h, N, d_k)
        self.clock = clock
        self.linear_seconds: dict[str, list[float]] = {layout: [] for layout in weights.layouts}
        self.runs: dict[str, Callable[[], None]] = {
            layout: self._run(layout, layers, self._packed if layout == PACKED else self._mm)
            for layout, layers in weights.layouts.items()
        }

    def packing_factor(self) -> float | None:
        """Median of (packed linears / linears as stored), paired by round. None where nothing was packed."""
        if PACKED not in self.linear_seconds:
            return None
        pairs = list(zip(self.linear_seconds[PACKED], self.linear_seconds[STORED], strict=True))
        return statistics.median(packed / stored for packed, stored in pairs[1:] or pairs)  # the first round warms up

    def _mm(self, x: Tensor, weight: Tensor) -> None:
        torch.mm(x, weight, out=self.results[weight.size(1)])

    def _packed(self, x: Tensor, weight: Tensor) -> None:
        torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")

    def _run(
        self, layout: str, layers: list[list[Tensor]], linear: Callable[[Tensor, Tensor], None]
    ) -> Callable[[], None]:
        def run() -> None:
            seconds = 0.0
            for w_q, w_k, w_v, w_o, w_1, w_2 in layers:
                start = self.clock()
                for weight in (w_q, w_k, w_v):
                    linear(self.narrow, weight)
                seconds += self.clock() - start
                torch.bmm(self.q, self.k, out=self.scores)
                torch.bmm(self.scores, self.v, out=self.mixed)
                start = self.clock()
                linear(self.narrow, w_o)
                linear(self.narrow, w_1)
                linear(self.wide, w_2)
                seconds += self.clock() - start
            self.linear_seconds[layout].append(seconds)

        return run
