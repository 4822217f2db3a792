"""Linear layers with weights packed once for oneDNN, for inference on a CPU.

Where the default matrix library runs below the processor's speed, oneDNN's packed product takes less than half the
time; elsewhere it gains nothing (benchmarks/README.md has the ratios). The two operators are private to torch, so they
are tried on real weights first, and left alone where they are missing, answer differently, or aren't clearly faster.
"""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_CLEARLY_FASTER = 0.65  # of the plain product's time; on the two kinds of processor measured it is 0.45 and about 1
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


def pack(module: nn.Module, *, only_if_faster: bool = False) -> bool:
    """Replaces every nn.Linear below `module` by a PackedLinear and drops the plain weights.

    Args:
        module: float32, on the CPU, no longer to be trained.
        only_if_faster: time both on the largest weight first (some milliseconds), and pack only where it clearly pays.

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
    largest = max((linear for _, _, linear in linears), key=lambda linear: linear.weight.numel())
    if only_if_faster and not _packing_pays(largest):
        return False
    for parent, name, linear in linears:
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


@torch.inference_mode()
def _packing_pays(linear: nn.Linear) -> bool:
    """Whether the packed product is clearly faster on this processor, at the length of a sentence."""
    products = (PackedLinear(linear), linear)
    x = torch.linspace(-1.0, 1.0, 32 * linear.in_features).view(1, 32, linear.in_features)
    fastest = [float("inf"), float("inf")]
    for _ in range(25):  # in turn, and the fastest of each, so that other work on the machine decides nothing
        for i, product in enumerate(products):
            start = time.perf_counter()
            product(x)
            fastest[i] = min(fastest[i], time.perf_counter() - start)
    return fastest[0] <= _CLEARLY_FASTER * fastest[1]
