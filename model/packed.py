"""Linear layers with weights packed once for oneDNN, for inference on a CPU.

Where the default matrix library runs below the processor's speed, oneDNN's packed product takes less than half the
time; elsewhere it gains nothing (benchmarks/README.md has the ratios). The two operators are private to torch, so they
are tried on real weights first, and left alone where they are missing, answer differently, or aren't clearly faster.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PROBE = {16: 8, 128: 3}  # tokens of a short and a long sentence → rounds: a quarter of a second at BERT-base's size
ONE_TOKEN = {1: 20}  # a decoder that writes runs one token at a time: there packing can cost five times as much
_CLEARLY_FASTER = 0.9  # of the plain block's time, in the mean of both: CPU times of one block differ by some 5 %
_TOLERANCE = 1e-4  # of the largest output: float32 products summed in another order differ by some 1e-6


class PackedLinear(nn.Module):
    """x Wᵀ + b with W kept only in oneDNN's own layout. Float32, CPU, without gradients."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features = linear.in_features
        self.out_features = linear.out_features
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach(), requires_grad=False)
        self._packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach().contiguous(), None)

    @property
    def weight(self) -> Tensor:
        """The plain weight (out_features, in_features), unpacked anew at each call: exactly what was packed."""
        return self._packed.to_dense()

    def forward(self, x: Tensor) -> Tensor:
        """(…, in_features) → (…, out_features)."""
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")  # type: ignore[no-any-return]

    def then_gelu(self, x: Tensor, *, tanh: bool = False) -> Tensor:
        """GELU(x Wᵀ + b) in one kernel: exact, or the tanh approximation."""
        algorithm = "tanh" if tanh else "none"
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "gelu", [], algorithm)  # type: ignore[no-any-return]


def pack(module: nn.Module, *, only_if_faster: bool = False, writes: bool = False) -> bool:
    """Replaces every nn.Linear below `module` by a PackedLinear and drops the plain weights.

    Args:
        module: float32, on the CPU, no longer to be trained.
        only_if_faster: `module` is a list of blocks alike: time the first one both ways, and pack only where it pays.
        writes: it has to pay for one token at a time too.

    Returns:
        Whether it was done. Nothing is changed where the operators are missing or disagree with F.linear.
    """
    linears = [
        (parent, name, child)
        for parent in module.modules()
        for name, child in parent.named_children()
        if isinstance(child, nn.Linear)
    ]
    if not linears or not _packing_works(linears[0][2]):
        return False
    if only_if_faster and not _packing_pays(next(module.children()), writes):
        return False
    while linears:  # each plain weight is let go of before the next is packed
        parent, name, linear = linears.pop()
        setattr(parent, name, PackedLinear(linear))
    return True


@torch.inference_mode()
def _packing_works(linear: nn.Linear) -> bool:
    if linear.weight.dtype != torch.float32 or linear.weight.device.type != "cpu":
        return False
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    try:
        packed = PackedLinear(linear)
        x = torch.linspace(-1.0, 1.0, 5 * linear.in_features).view(1, 5, linear.in_features)
        plain = linear(x)
        bound = _TOLERANCE * float(plain.abs().max())
        return all(
            float((ours - reference).abs().max()) <= bound
            for ours, reference in (
                (packed(x), plain),
                (packed.then_gelu(x), F.gelu(plain)),
                (packed.then_gelu(x, tanh=True), F.gelu(plain, approximate="tanh")),
                (packed.weight, linear.weight),
            )
        )
    except (AttributeError, RuntimeError, NotImplementedError):  # private operators: absent, renamed or refused
        return False


def _packing_pays(block: nn.Module, writes: bool) -> bool:
    """Whether a packed block is clearly faster. Found out once for each size, so that equal models give equal maps."""
    linears = [child for child in block.modules() if isinstance(child, nn.Linear)]
    sizes = (torch.get_num_threads(), writes, *(linear.weight.shape for linear in linears))
    if sizes not in _pays:
        times = packed_times(block, linears[0].in_features, PROBE | ONE_TOKEN if writes else PROBE)
        _pays.setdefault(sizes, statistics.geometric_mean(times.values()) <= _CLEARLY_FASTER)  # of two loads at once
    return _pays[sizes]


_pays: dict[tuple[object, ...], bool] = {}


@torch.inference_mode()
def packed_times(block: nn.Module, d_model: int, probe: Mapping[int, int] = PROBE) -> dict[int, float]:
    """Time of a packed copy of a block over the block's own, for sentences of each length in `probe`: {N: ratio}.

    The whole block is timed, not its products alone: what packing saves is more with its fused GELU, and less where
    attention itself takes the time.
    """
    packed = copy.deepcopy(block)
    pack(packed)
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter  # CPU time: others hardly count
    times = {}
    for n_tokens, rounds in probe.items():
        x = torch.linspace(-1.0, 1.0, n_tokens * d_model).view(1, n_tokens, d_model)  # (B, N, d_model)
        fastest = [float("inf"), float("inf")]
        for _ in range(rounds):  # in turn, and the fastest of each, so that other work on the machine decides nothing
            for i, candidate in enumerate((packed, block)):
                start = clock()
                candidate(x)
                fastest[i] = min(fastest[i], clock() - start)
        times[n_tokens] = fastest[0] / fastest[1]
    return times
