"""Every head, and on request every FFN and every layer, switched off in turn on every prompt of a set.

The work is cut into units, one layer of one batch of prompts each. Units run side by side in threads, and a finished
one can be kept on disk (analysis.evidence.resume). Memory: what one run of a batch keeps, and a unit for each worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from analysis.effects.prompts import Encoded, batches, replacement, runner_of
from analysis.effects.runs import Off, Replacement, Runner, Whole
from analysis.effects.side_by_side import side_by_side
from analysis.evidence.resume import Arrays, Store
from model.masks import Mask
from model.transformer import Transformer

Floats = NDArray[np.float64]
Part = Literal["heads", "ffns", "layers"]
PARTS: tuple[Part, ...] = ("heads", "ffns", "layers")
Progress = Callable[[int, int], None]  # done and total, in layers run; raise in it to stop


@dataclass(frozen=True, eq=False)
class Batch:
    """What was found for one batch of B prompts of N tokens.

    Attributes:
        numbers: of the prompts, in the set.
        base: what `Sweep.describe` made of the whole run.
        heads: (L, h, B, M), the M numbers that `Sweep.read` takes off a run, with each head off.
        ffns, layers: (L, B, M), likewise; None where they weren't asked for.
    """

    numbers: list[int]
    base: Arrays
    heads: Floats
    ffns: Floats | None
    layers: Floats | None


@dataclass(frozen=True, eq=False)
class Sweep:
    """What is switched off, on which prompts, and what is read off every run.

    Attributes:
        describe: the whole run of a batch, and the numbers of its prompts → arrays to be kept.
        read: hidden states (k, B, N or 1, d_model) of k runs, the whole run, the numbers → (k, B, M).
        last_only: `read` needs the last token alone.
    """

    transformer: Transformer
    asked: Sequence[Encoded]
    mask: Mask
    off: Off
    parts: Sequence[Part]
    describe: Callable[[Whole, list[int]], Arrays]
    read: Callable[[Tensor, Whole, list[int]], Tensor]
    last_only: bool = True

    def run(self, *, workers: int = 1, store: Store | None = None, progress: Progress | None = None) -> list[Batch]:
        """All batches.

        Args:
            workers: threads. Each runs products of its own: let torch have one thread for each.
            store: open; finished units are kept there, and those that are there aren't computed again.
            progress: called in this thread after every unit. What it raises stops the run within a layer's time.
        """
        with torch.inference_mode():
            instead = replacement(self.transformer, self.asked, self.mask, self.off)
        groups = batches(self.asked)
        done, total = 0, sum(self._cost(batch, layer) for batch in groups for layer in range(self._n_layers))
        found = []
        for number, batch in enumerate(groups):
            units: dict[int, Arrays] = {}
            with closing(self._units(number, batch, instead, workers, store)) as finished:
                for layer, arrays in finished:
                    units[layer] = arrays
                    if layer < self._n_layers:
                        done += self._cost(batch, layer)
                        if progress is not None:
                            progress(done, total)
            found.append(self._gather(batch, units))
        return found

    @property
    def _n_layers(self) -> int:
        return self.transformer.config.num_layers

    def _cost(self, batch: list[int], layer: int) -> int:
        """Layers run, times prompts."""
        runs = self.transformer.config.num_heads * ("heads" in self.parts) + len(set(self.parts) - {"heads"})
        return (self._n_layers - layer) * len(batch) * runs

    def _units(
        self, number: int, batch: list[int], instead: Replacement, workers: int, store: Store | None
    ) -> Generator[tuple[int, Arrays]]:
        """The units of a batch as they are finished: layers from 0, and as number L the whole run."""
        n = self._n_layers
        first = number * (n + 1)
        missing = []
        for unit in range(n + 1):
            kept = None if store is None else store.load(first + unit)
            if kept is None:
                missing.append(unit)
            else:
                yield unit, kept
        if not missing:
            return
        stop = threading.Event()
        with torch.inference_mode():
            runner = runner_of(
                self.transformer, [self.asked[i] for i in batch], self.mask, last_only=self.last_only, stop=stop
            )
            whole = runner.whole()

        def compute(unit: int) -> Arrays:
            if unit == n:
                return self._described(whole, batch)
            return self._unit(runner, whole, unit, instead, batch)

        with closing(side_by_side(compute, missing, workers, stop)) as finished:
            for unit, arrays in finished:
                if store is not None:
                    store.save(first + unit, arrays)
                yield unit, arrays

    @torch.inference_mode()
    def _described(self, whole: Whole, batch: list[int]) -> Arrays:
        return self.describe(whole, batch)

    @torch.inference_mode()
    def _unit(self, runner: Runner, whole: Whole, layer: int, instead: Replacement, batch: list[int]) -> Arrays:
        """One layer's heads, FFN and whole off."""
        instead = instead.cut(runner.ids.size(1))
        arrays: Arrays = {}
        if "heads" in self.parts:
            heads = range(self.transformer.config.num_heads)
            arrays["heads"] = self._read(runner.heads_off(whole, layer, heads, instead), whole, batch)
        if "ffns" in self.parts:
            arrays["ffns"] = self._read(runner.ffn_off(whole, layer, instead)[None], whole, batch)[0]
        if "layers" in self.parts:
            off = runner.layer_off(whole, layer, instead, is_zero=self.off == "zero")
            arrays["layers"] = self._read(off[None], whole, batch)[0]
        return arrays

    def _read(self, hidden: Tensor, whole: Whole, batch: list[int]) -> Floats:
        return np.asarray(self.read(hidden, whole, batch).double().numpy())

    def _gather(self, batch: list[int], units: dict[int, Arrays]) -> Batch:
        def stacked(part: str) -> Floats | None:
            if part not in self.parts:
                return None
            return np.stack([units[layer][part] for layer in range(self._n_layers)]).astype(np.float64)

        heads = stacked("heads")
        if heads is None:
            heads = np.empty((self._n_layers, 0, len(batch), 1))
        return Batch(batch, units[self._n_layers], heads, stacked("ffns"), stacked("layers"))
