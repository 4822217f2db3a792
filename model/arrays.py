"""A trace as a NumPy archive: one home for the arrays that the command line and the app write."""

from __future__ import annotations

from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from model.tracing import AttentionTrace

WORTH_COMPRESSING = 32_000_000  # bytes; weights shrink by a tenth, and 150 MB would take seconds


def trace_arrays(trace: AttentionTrace) -> dict[str, NDArray[Any]]:
    """`attention` (L, h, N, N) float32, `tokens` (N,) strings and `mask` (N, N), True = may attend."""
    return {"attention": trace.attention, "tokens": np.array(trace.tokens), "mask": trace.allowed}


def write_npz(stream: IO[bytes], trace: AttentionTrace, **more: NDArray[Any]) -> None:
    """Writes `trace_arrays` and any further arrays. Nothing in the file is pickled."""
    write = np.savez_compressed if trace.nbytes <= WORTH_COMPRESSING else np.savez
    write(stream, allow_pickle=False, **trace_arrays(trace), **more)
