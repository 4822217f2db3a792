"""Our forward, with every map, beside transformers eager and beside nothing but the matrix products.

    python -m benchmarks.forward            about 8 minutes on one free core
    python -m benchmarks.forward --quick    under a minute

Both implementations get the same weights and ids. Before anything is timed, their maps are compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.measure import (
    Spread,
    clock_for,
    describe_machine,
    interleave,
    markdown_table,
    peak_over_present,
    ratios,
)
from benchmarks.products import Products, ProductWeights
from model.masks import Mask
from model.packed import pack
from model.transformer import Transformer
from model.weights.checkpoints import load_folder
from model.weights.minilm import minilm_folder

MODELS = {"minilm": "MiniLM-L6", "bert": "BERT-base size, random"}
TOKENS, BATCHES = (16, 64, 128, 256, 512), (1, 8)
MASKED_TOKENS = (64, 512)  # causal rows, batch 1
MEMORY_TOKENS = 512
MEMORY_KINDS = ("packed", "plain", "transformers")

# The budgets of this project: time and memory beside transformers eager.
ALWAYS, WITH_FAST_PACKING, PEAK_MIB = 1.0, 0.55, 190
FAST_PACKING = 0.5  # oneDNN's packed product counts as beating the default BLAS where it takes at most half the time
LONG_ROW = 2048  # tokens in all sentences together
IN_NOISE = "in the noise"
NOT_MEASURABLE = 3  # exit code of the process that measures memory
PARITY = 1e-5  # float32, of one attention weight; transformers differs from its own float64 by 1.3e-6 (MiniLM)


@dataclass(frozen=True)
class Row:
    """One size. Ratios are paired by round; those that could not be measured are None."""

    model: str
    mask: str
    batch: int
    n_tokens: int
    rounds: int
    difference: float  # largest |ours − theirs| over all maps, packed and plain
    transformers_ms: Spread
    packed: Spread | None  # time / transformers
    plain: Spread  # time / transformers
    over_products: Spread  # ours / the fastest products
    fastest_products: str
    packing_factor: float | None  # packed linears / linears as stored, products only
    packs: bool  # whether the app packs this model on this machine

    @property
    def ours(self) -> Spread:
        """What the app runs: packed where the probe at load says that it pays (model.packed)."""
        return self.packed if self.packed is not None and self.packs else self.plain

    @property
    def budget(self) -> float:
        fast = self.packing_factor is not None and self.packing_factor <= FAST_PACKING
        return WITH_FAST_PACKING if fast else ALWAYS

    @property
    def judgement(self) -> str:
        """MISSED only when no round came within the budget; "in the noise" when some did but the median is over it."""
        if self.ours.median <= self.budget:
            return "holds"
        return IN_NOISE if self.ours.low <= self.budget else "MISSED"


class Contest:
    """One model in every implementation, on the same weights."""

    def __init__(self, folder: Path) -> None:
        self.plain = load_folder(folder).transformer
        packed = load_folder(folder).transformer
        self.packs = pack(packed.blocks, only_if_faster=True)
        self.packed = packed if self.packs or pack(packed.blocks) else None
        self.theirs = load_theirs(folder)
        self.product_weights = ProductWeights(self.plain.config, packed=self.packed is not None)

    def ids(self, batch: int, n_tokens: int) -> Tensor:
        generator = torch.Generator().manual_seed(n_tokens)
        return torch.randint(0, self.plain.config.vocab_size, (batch, n_tokens), generator=generator)  # (B, N)

    def row(self, model: str, mask: Mask, batch: int, n_tokens: int, *, threads: int, seconds: float) -> Row:
        """Compares the maps, then the times, at one size."""
        ids = self.ids(batch, n_tokens)
        allowed = None if mask == Mask.bidirectional() else mask.allowed(n_tokens)  # (N, N)
        difference = self._difference(ids, allowed)
        if difference > PARITY:
            raise SystemExit(f"{model}, {n_tokens} tokens: the maps differ by {difference:.1e}, more than {PARITY:.0e}")

        clock = clock_for(threads)
        products = Products(self.product_weights, batch, n_tokens, clock)
        runs: dict[str, Callable[[], object]] = {
            "transformers": lambda: run_theirs(self.theirs, ids, allowed),
            "plain": lambda: self.plain(ids, allowed),
        }
        if (packed := self.packed) is not None:
            runs["packed"] = lambda: packed(ids, allowed)
        assert not runs.keys() & products.runs.keys()
        # The comparison of the maps has warmed up the implementations; the longest rows do without another round.
        warm_up = batch * n_tokens < LONG_ROW
        times = interleave(runs | products.runs, clock=clock, seconds=seconds, warm_up=warm_up)

        fastest = min(products.runs, key=lambda name: Spread.of(times[name]).median)
        ours = "packed" if self.packs else "plain"
        base = times["transformers"]
        return Row(
            model=model,
            mask=str(mask),
            batch=batch,
            n_tokens=n_tokens,
            rounds=len(base),
            difference=difference,
            transformers_ms=Spread.of([1000 * seconds for seconds in base]),
            packed=ratios(times["packed"], base) if self.packed is not None else None,
            plain=ratios(times["plain"], base),
            over_products=ratios(times[ours], times[fastest]),
            fastest_products=fastest,
            packing_factor=products.packing_factor(),
            packs=self.packs,
        )

    def _difference(self, ids: Tensor, allowed: Tensor | None) -> float:
        theirs = run_theirs(self.theirs, ids, allowed)
        worst = 0.0
        for ours in (self.plain, self.packed):
            if ours is not None:
                maps = ours(ids, allowed).attention  # (L, B, h, N, N)
                # Layer by layer: a whole second tensor of maps can be a gigabyte.
                worst = max(worst, *(float((a - b).abs().max()) for a, b in zip(maps, theirs, strict=True)))
        return worst


def load_theirs(folder: Path) -> torch.nn.Module:
    from transformers import BertModel

    theirs = BertModel.from_pretrained(
        folder, attn_implementation="eager", add_pooling_layer=False, dtype=torch.float32
    )
    return theirs.eval().requires_grad_(False)  # type: ignore[no-any-return]


def run_theirs(theirs: torch.nn.Module, ids: Tensor, allowed: Tensor | None = None) -> tuple[Tensor, ...]:
    """The maps of every layer, each (B, h, N, N). The mask is handed over in the additive form that eager adds."""
    added = None
    if allowed is not None:
        added = torch.zeros(allowed.shape).masked_fill_(~allowed, torch.finfo(torch.float32).min)[None, None]
        added = added.expand(ids.size(0), 1, -1, -1)  # (B, 1, N, N)
    return theirs(ids, attention_mask=added, output_attentions=True).attentions  # type: ignore[no-any-return]


def model_folder(name: str, scratch: Path) -> Path:
    """The folder of MiniLM's installed weights, or a random BERT-base-sized model written to `scratch`."""
    if name == "minilm":
        return minilm_folder()
    folder = scratch / name
    if not folder.is_dir():
        from transformers import BertConfig, BertModel
        from transformers.utils import logging

        logging.disable_progress_bar()
        torch.manual_seed(0)
        BertModel(BertConfig(), add_pooling_layer=False).save_pretrained(folder)
    return folder


def peak_memory(folder: Path, kind: str, n_tokens: int = MEMORY_TOKENS) -> float:
    """MiB over the loaded model at the peak of one forward, batch 1, in a process of its own.

    Raises:
        OSError: this machine can't pack the weights, or doesn't let a process look at its own peak.
    """
    command = [sys.executable, "-m", "benchmarks.forward", "--measure-memory", kind, str(folder), str(n_tokens)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode == NOT_MEASURABLE:
        raise OSError(answer.stderr.strip())
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    return float(answer.stdout.split()[-1])


@torch.inference_mode()
def measure_memory(kind: str, folder: Path, n_tokens: int) -> float:
    """The part of `peak_memory` that runs in the new process."""
    torch.set_num_threads(1)
    if kind == "transformers":
        theirs = load_theirs(folder)
        run: Callable[[Tensor], object] = lambda ids: run_theirs(theirs, ids)  # noqa: E731
        parameters = list(theirs.parameters())
    else:
        ours: Transformer = load_folder(folder).transformer
        if kind == "packed" and not pack(ours.blocks):
            raise OSError("weights can't be packed on this machine")
        run, parameters = ours, list(ours.parameters())
    for parameter in parameters:
        parameter.sum()  # weights that are mapped from the file are now in memory
    vocab_size = json.loads((folder / "config.json").read_text())["vocab_size"]
    ids = torch.arange(n_tokens)[None] % vocab_size  # (1, N)
    run(ids[:, :16])  # libraries set up what they keep
    return peak_over_present(lambda: run(ids))


def report(rows: Sequence[Row]) -> str:
    header = ["model", "mask", "B", "N", "transformers ms", "ours packed", "ours plain", "ours / products"]
    header += ["fastest products", "packed / stored linears", "budget", "rounds"]
    return markdown_table(
        header,
        [
            [
                MODELS.get(row.model, row.model),
                row.mask,
                str(row.batch),
                str(row.n_tokens),
                f"{row.transformers_ms.median:.0f}",
                f"{row.packed:.2f}" if row.packed else "–",
                f"{row.plain:.2f}",
                f"{row.over_products:.2f}",
                row.fastest_products,
                f"{row.packing_factor:.2f}" if row.packing_factor else "–",
                f"≤ {row.budget:.2f} {row.judgement}",
                str(row.rounds),
            ]
            for row in rows
        ],
    )


def verdict(rows: Sequence[Row]) -> str:
    """The budgets, in words."""
    judgements = [row.judgement for row in rows]
    lines = [
        f"- {judgements.count('holds')} of {len(rows)} rows hold their budget, "
        f"{judgements.count(IN_NOISE)} are in the noise around it, {judgements.count('MISSED')} miss it."
    ]
    factors = [row.packing_factor for row in rows if row.packing_factor is not None]
    if not factors:
        lines.append("- Weights can't be packed for oneDNN here.")
    else:
        asked = sum(row.budget == WITH_FAST_PACKING for row in rows)
        lines.append(
            f"- oneDNN's packed product takes {min(factors):.2f}–{max(factors):.2f} of the default library's time "
            f"(products of the linear layers alone). ≤ {WITH_FAST_PACKING} is asked where that is ≤ {FAST_PACKING}: "
            f"{asked} rows; ≤ {ALWAYS} elsewhere."
        )
    for model in dict.fromkeys(row.model for row in rows):
        lines.append(f"- {MODELS.get(model, model)}: {choice([row for row in rows if row.model == model])}")
        worst = max(row.difference for row in rows if row.model == model)
        lines.append(f"- {MODELS.get(model, model)}: attention differs from transformers by at most {worst:.1e}.")
    return "\n".join(lines)


def choice(rows: Sequence[Row]) -> str:
    """Packed or plain, as the app decides for this model on this machine, and what the other would have cost."""
    chosen, other = ("packed", "plain") if any(row.packs for row in rows) else ("plain", "packed")
    costs = [
        (row.plain if row.packs else row.packed).median / row.ours.median for row in rows if row.packed is not None
    ]
    said = f"here the app runs with {chosen} weights"
    return f"{said}; {other} ones take {min(costs):.2f}–{max(costs):.2f} of its time." if costs else f"{said}."


def report_memory(model: str, folder: Path) -> str:
    rows = []
    for kind in MEMORY_KINDS:
        try:
            peak = peak_memory(folder, kind)
        except OSError as error:
            rows.append([kind, f"not measured: {error}", "–"])
            continue
        judged = kind != "transformers" and model == "bert"
        verdict = f"≤ {PEAK_MIB} {'holds' if peak <= PEAK_MIB else 'MISSED'}" if judged else "–"
        rows.append(["transformers eager" if kind == "transformers" else f"ours {kind}", f"{peak:.0f}", verdict])
    return markdown_table([f"{MODELS[model]}, B 1, N {MEMORY_TOKENS}", "MiB over the loaded model", "budget"], rows)


@torch.inference_mode()
def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forward", description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--tokens", nargs="+", type=int, metavar="N")
    parser.add_argument("--batches", nargs="+", type=int, metavar="B")
    parser.add_argument("--seconds", type=float, help="per row, once every row has its three rounds")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    parser.add_argument("--measure-memory", nargs=3, metavar=("KIND", "FOLDER", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure_memory:
        kind, folder, n_tokens = options.measure_memory
        try:
            print(measure_memory(kind, Path(folder), int(n_tokens)))
        except OSError as error:
            print(error, file=sys.stderr)
            sys.exit(NOT_MEASURABLE)
        return

    torch.set_num_threads(options.threads)
    tokens = options.tokens or (TOKENS[:2] if options.quick else TOKENS)
    batches = options.batches or (BATCHES[:1] if options.quick else BATCHES)
    seconds = options.seconds or (1.0 if options.quick else 4.0)
    masked = [n for n in MASKED_TOKENS if n in tokens]
    sizes = [(Mask.bidirectional(), batch, n) for batch in batches for n in tokens]
    sizes += [(Mask.causal(), 1, n) for n in masked]

    clock = "CPU time" if options.threads == 1 else "wall time"
    print(f"{describe_machine()}; {options.threads} thread(s), {clock}.\n")
    rows, memory = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for model in options.models:
            folder = model_folder(model, Path(scratch))
            contest = Contest(folder)
            for mask, batch, n_tokens in sizes:
                print(f"{model}, {mask}, batch {batch}, {n_tokens} tokens …", file=sys.stderr)
                rows.append(contest.row(model, mask, batch, n_tokens, threads=options.threads, seconds=seconds))
            del contest
            if model == options.models[-1] or not options.quick:
                memory.append(report_memory(model, folder))
    print(report(rows), verdict(rows), *memory, sep="\n\n")


if __name__ == "__main__":
    main()
