"""A trace as a NumPy archive: one home for the arrays that the command line and the app write."""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from model.trace import AttentionTrace

WORTH_COMPRESSING = 32_000_000  # bytes; weights shrink by a tenth, and 150 MB would take seconds


def trace_arrays(trace: AttentionTrace) -> dict[str, NDArray[Any]]:
    """`attention` (L, h, N, N) float32, `tokens` (N,) strings and `mask` (N, N), True = may attend.

    In cross-attention `queries` (N_q,) and `keys` (N_k,) stand in place of `tokens`. A mask per layer is (L, N, N).
    """
    arrays = {"attention": trace.attention, "mask": trace.allowed}
    if trace.kind == "self":
        return arrays | {"tokens": np.array(trace.tokens)}
    return arrays | {"queries": np.array(trace.tokens), "keys": np.array(trace.keys)}


def npz_bytes(trace: AttentionTrace) -> bytes:
    """The archive as a file has it."""
    stream = io.BytesIO()
    write_npz(stream, trace)
    return stream.getvalue()


def write_npz(stream: IO[bytes], trace: AttentionTrace, **more: NDArray[Any]) -> None:
    """Writes `trace_arrays` and any further arrays. Nothing in the file is pickled."""
    write = np.savez_compressed if trace.nbytes <= WORTH_COMPRESSING else np.savez
    write(stream, allow_pickle=False, **trace_arrays(trace), **more)
