"""What the benchmarks share: fair timing, peak memory, spread, tables.

What is compared takes turns within one run and is reported as ratios: on a busy machine, two runs can differ more than
two implementations do.
"""

from __future__ import annotations

import gc
import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Spread:
    """Median and range of what was measured round by round."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def __format__(self, spec: str) -> str:
        return f"{self.median:{spec}} ({self.low:{spec}}–{self.high:{spec}})"


def ratios(over: Sequence[float], under: Sequence[float]) -> Spread:
    """Spread of over/under, each pair from the same round."""
    return Spread.of([a / b for a, b in zip(over, under, strict=True)])


def clock_for(threads: int) -> Callable[[], float]:
    """CPU time for one thread, so that other programs on the machine hardly count; wall time for more."""
    return time.process_time if threads == 1 else time.perf_counter


def interleave(
    candidates: Mapping[str, Callable[[], object]],
    *,
    clock: Callable[[], float],
    seconds: float,
    least: int = 3,
    most: int = 15,
    warm_up: bool = True,
) -> dict[str, list[float]]:
    """Times every candidate once a round, in an order that is reversed from round to round.

    Releasing the result is part of the time.

    Args:
        candidates: what to call, by name.
        clock: see `clock_for`.
        seconds: no new round after so many, once `least` rounds are done.
        least: fewest rounds.
        most: most rounds.
        warm_up: a round that isn't counted comes first.

    Returns:
        Seconds of each round, by name: entry i of every list comes from round i.
    """
    times: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates)
    if warm_up:
        for name in order:
            candidates[name]()
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        for round_number in range(most):
            if round_number >= least and time.perf_counter() - begin > seconds:
                break
            for name in order:
                start = clock()
                candidates[name]()
                times[name].append(clock() - start)
            order.reverse()
    finally:
        gc.enable()
    return times


def peak_over_present(call: Callable[[], object]) -> float:
    """MiB by which a call lifts this process's peak resident memory above what it holds before. Linux only.

    Raises:
        OSError: the system doesn't let a process reset its own peak.
    """
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten (proc(5))
    before = status_mib("VmRSS")
    result = call()
    peak = status_mib("VmHWM")
    del result
    return peak - before


def status_mib(field: str) -> float:
    """A number of /proc/self/status, such as VmRSS, in MiB. Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {field}")


def describe_machine() -> str:
    """Processor, vector extensions, cores and versions, in one line."""
    blas = "MKL" if torch.backends.mkl.is_available() else "another BLAS"
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    return (
        f"{processor}, {torch.backends.cpu.get_cpu_capability()}, {os.cpu_count()} cores; "
        f"Python {platform.python_version()}, torch {torch.__version__} with {blas}, "
        f"transformers {importlib.metadata.version('transformers')}"
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
