"""Why a block keeps its input: the same network 1 to 24 layers deep, with and without residuals, pre- and post-LN.

    python -m model.training.depth --json OUT          14 s on one core

Measured on the texts of the task Peek under a causal mask, with equal first weights, batches and learning rate: the
gradient's norm in each block at the first step, and the loss after some steps, beside the data's entropy and the loss
of a guess that knows only how often each word occurs. Sources: He et al. 2016 (residuals), Xiong et al. 2020 (places
of normalisation).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model.blocks import TransformerBlock
from model.command_line import EXIT_OK, MOST_SEED, command, whole_number
from model.errors import HeadworkError
from model.files import check_writable, json_by_lines, write_whole
from model.norms import LayerNorm
from model.positions import Embeddings
from model.settings import threads
from model.tasks.peek import N_PLACES, PEEK, Texts
from model.tasks.task import NOTHING_ASKED
from model.training.adamw import AdamW
from model.training.network import fresh

Norm = Literal["pre", "post"]
DEPTHS = (1, 2, 4, 8, 16, 24)
VARIANTS: tuple[tuple[Norm, bool], ...] = (("pre", True), ("post", True), ("pre", False), ("post", False))
STEPS = 50
D_MODEL, N_HEADS, D_FF = 32, 4, 64
BATCH = 24
LEARNING_RATE = 3e-3  # AdamW's, the same at every step: no warm-up
N_TEST = 256  # texts behind the loss
MOST_LAYERS, MOST_STEPS = 48, 1000


@dataclass(frozen=True)
class DepthRun:
    """One network.

    Attributes:
        norm: where the normalisation stands.
        residual: whether each sublayer's input is added to its output.
        gradient_norms: of all weights of a block at the first step, Euclidean, the first block first: L of them.
        first_loss: nats a word before any step, on fresh texts.
        loss: after the last step.
        seconds: of CPU.
    """

    layers: int
    norm: Norm
    residual: bool
    steps: int
    gradient_norms: tuple[float, ...]
    first_loss: float
    loss: float
    seconds: float

    @property
    def gradient_ratio(self) -> float:
        """The first block's gradient over the last block's: 1 = it arrives whole, 0 = nothing of it arrives."""
        return self.gradient_norms[0] / self.gradient_norms[-1]


class Block(TransformerBlock):
    """A Transformer block that can leave out what it is known for: x + …"""

    residual = True

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """(B, N, d_model) → the same and the map (B, h, N, N). With its residual, as TransformerBlock."""
        pre = self.norm == "pre"
        out, attention = self.attention(self.attention_norm(x) if pre else x, mask)
        x = x + out if self.residual else out
        x = x if pre else self.attention_norm(x)
        out = self.ffn(self.ffn_norm(x) if pre else x)
        x = x + out if self.residual else out
        return (x if pre else self.ffn_norm(x)), attention


def _block(norm: Norm, residual: bool) -> Block:
    block = Block(D_MODEL, N_HEADS, D_FF, 0.0, norm=norm)
    block.residual = residual
    return block


class Deep(nn.Module):
    """Embeddings, blocks, normalisation and a read-out of the next word."""

    def __init__(self, layers: int, norm: Norm, residual: bool) -> None:
        super().__init__()
        n_words = len(PEEK.vocabulary)
        self.embeddings = Embeddings(nn.Embedding(n_words, D_MODEL), D_MODEL, N_PLACES, dropout=0.0)
        self.blocks = nn.ModuleList(_block(norm, residual) for _ in range(layers))
        self.final_norm = LayerNorm(D_MODEL, 1e-5)
        self.readout = nn.Linear(D_MODEL, n_words)

    def loss(self, texts: Texts) -> Tensor:
        """Nats a word, under a causal mask that hides padding."""
        mask = torch.ones(N_PLACES, N_PLACES, dtype=torch.bool).tril() & ~texts.is_padding[:, None, None]
        x = self.embeddings(texts.ids)  # (B, N, d_model)
        for block in self.blocks:
            x, _ = block(x, mask)
        logits = self.readout(self.final_norm(x))  # (B, N, V)
        return F.cross_entropy(logits.flatten(0, 1), texts.targets.flatten(), ignore_index=NOTHING_ASKED)


def measure(layers: int, norm: Norm, residual: bool, *, steps: int = STEPS, seed: int = 0) -> DepthRun:
    """Trains one network and measures it.

    Raises:
        HeadworkError: layers or steps out of bounds.
    """
    for name, value, most in (("layers", layers, MOST_LAYERS), ("steps", steps, MOST_STEPS)):
        if not 1 <= value <= most:
            raise HeadworkError("{name} is {value}: it must be from 1 to {most}.", name=name, value=value, most=most)
    start = time.thread_time()
    with torch.inference_mode(False), torch.enable_grad():
        network = fresh(lambda: Deep(layers, norm, residual), torch.Generator().manual_seed(4 * seed))
        optimizer = AdamW(network)
        texts = torch.Generator().manual_seed(4 * seed + 1)
        test = PEEK.batch(torch.Generator().manual_seed(4 * seed + 3), N_TEST)
        first_loss = _test(network, test)
        norms: tuple[float, ...] = ()
        for step in range(steps):
            optimizer.forget_gradients()
            network.loss(PEEK.batch(texts, BATCH)).backward()  # type: ignore[no-untyped-call]
            if step == 0:
                norms = tuple(_gradient_norm(block) for block in network.blocks)
            optimizer.step(LEARNING_RATE)
        loss = _test(network, test)
    return DepthRun(layers, norm, residual, steps, norms, first_loss, loss, time.thread_time() - start)


@torch.no_grad()
def _test(network: Deep, test: Texts) -> float:
    return float(network.loss(test))


def _gradient_norm(block: nn.Module) -> float:
    return float(torch.stack([p.grad.square().sum() for p in block.parameters() if p.grad is not None]).sum().sqrt())


def experiment(depths: Sequence[int] = DEPTHS, *, steps: int = STEPS, seed: int = 0) -> Iterator[DepthRun]:
    """Every depth in every variant, as they are done: whoever reads them can stop in between. Shallow ones first."""
    for layers in depths:
        for norm, residual in VARIANTS:
            yield measure(layers, norm, residual, steps=steps, seed=seed)


def guess() -> float:
    """The loss of who knows only how often each word occurs, in nats: what a network that learns nothing more has."""
    counts = torch.bincount(PEEK.sentences.flatten(), minlength=len(PEEK.vocabulary)).double()
    return float(torch.special.entr(counts / counts.sum()).sum())


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m model.training.depth", description=__doc__.partition("\n")[0])
    layers, steps = whole_number(1, MOST_LAYERS), whole_number(1, MOST_STEPS)
    parser.add_argument("--depths", type=layers, nargs="+", default=DEPTHS, help="layers (default: 1 2 4 8 16 24)")
    parser.add_argument("--steps", type=steps, default=STEPS, help="of training (default: %(default)s)")
    parser.add_argument("--seed", type=whole_number(0, MOST_SEED), default=0)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write each network's numbers when it is done")
    options = parser.parse_args(arguments)
    torch.set_num_threads(threads())
    if options.json is not None:
        check_writable(options.json)
    print(f"nats a word: floor {PEEK.floor:.3f}, knowing only how often each word occurs {guess():.3f}")
    runs: list[dict[str, Any]] = []
    for run in experiment(options.depths, steps=options.steps, seed=options.seed):
        name = f"{run.norm}-LN, {'residual' if run.residual else 'no residual'}"
        print(
            f"{run.layers:3} layers, {name:20} loss {run.first_loss:.3f} → {run.loss:.3f}, gradient of the first block "
            f"{run.gradient_norms[0]:.1e}, of the last {run.gradient_norms[-1]:.1e}",
            flush=True,
        )
        runs.append(asdict(run))
        if options.json is not None:
            is_whole = len(runs) == len(options.depths) * len(VARIANTS)
            about = {"floor": PEEK.floor, "guess": guess(), "seed": options.seed, "torch": torch.__version__}
            result = {"runs": runs, "complete": is_whole, "provenance": about}
            write_whole(options.json, json_by_lines(result, ("runs",)))
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
