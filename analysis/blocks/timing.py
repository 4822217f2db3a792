"""How long attention takes with one head and with several, on this computer."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from model.attention import MultiHeadAttention, check_heads, scaled_dot_product_attention
from model.errors import HeadworkError

MOST_WORK = 600_000_000  # FLOPs of one call of the layer: about a hundredth of a second on one core
LONGEST = 1.5  # seconds for all calls together
MOST_CALLS = 41
HEADS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Spread:
    """Milliseconds of repeated calls: of processor time with one thread, else of the wall clock."""

    median: float
    low: float  # lower quartile
    high: float  # upper quartile


@dataclass(frozen=True)
class Timing:
    """One number of heads, measured."""

    heads: int
    core: Spread  # Q Kᵀ, scaling, softmax, A V
    layer: Spread  # the core and its four projections
    calls: int


def head_counts(width: int, heads: int) -> tuple[int, ...]:
    """The numbers of heads to compare: powers of two that divide the width of all together, and the chosen one."""
    return tuple(sorted({h for h in (*HEADS, heads) if h <= width and width % h == 0}))


@torch.inference_mode()
def time_heads(
    d_model: int, heads: int, n_tokens: int, d_k: int = 0, *, longest: float = LONGEST
) -> tuple[Timing, ...]:
    """Times the same layer with several numbers of heads, in turn, so that a busy moment falls on all alike.

    Every query head has a key head of its own. `d_k` is the width of one of `heads`, 0 = d_model / heads; all heads
    together stay as wide, whatever their number.

    Raises:
        HeadworkError: impossible sizes, or too much work for a page.
    """
    check_heads(d_model, heads, d_k=d_k)
    width = heads * d_k or d_model
    work = 8 * n_tokens * d_model * width + 4 * n_tokens**2 * width
    if n_tokens < 1 or work > MOST_WORK or heads * n_tokens**2 > 16_000_000:
        raise HeadworkError(
            "N {n_tokens} with d_model {d_model} is too much work to time on a page. Try N 64 with d_model 512.",
            n_tokens=n_tokens,
            d_model=d_model,
        )
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, n_tokens, d_model, generator=generator)
    cases: dict[tuple[int, str], Callable[[], object]] = {}
    for h in head_counts(width, heads):
        layer = MultiHeadAttention(d_model, h, d_k=width // h).eval()
        q = layer.split_heads(layer.W_q(x))
        cases[h, "core"] = _core_call(q)
        cases[h, "layer"] = _layer_call(layer, x)
    seconds: dict[tuple[int, str], list[float]] = {case: [] for case in cases}
    for call in cases.values():
        call()  # the first call of a shape prepares memory
    # With one thread the processor's own clock leaves out what other programs take.
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    started = time.perf_counter()
    while len(seconds[1, "core"]) < MOST_CALLS:
        for case, call in cases.items():
            before = clock()
            call()
            seconds[case].append(clock() - before)
        if time.perf_counter() - started > longest and len(seconds[1, "core"]) >= 3:
            break
    return tuple(
        Timing(h, _spread(seconds[h, "core"]), _spread(seconds[h, "layer"]), len(seconds[h, "core"]))
        for h in head_counts(width, heads)
    )


def _core_call(q: torch.Tensor) -> Callable[[], object]:
    return lambda: scaled_dot_product_attention(q, q, q)


def _layer_call(layer: MultiHeadAttention, x: torch.Tensor) -> Callable[[], object]:
    return lambda: layer(x)


def _spread(seconds: list[float]) -> Spread:
    low, median, high = statistics.quantiles([1000 * one for one in seconds], n=4, method="inclusive")
    return Spread(median, low, high)
