"""Training on "Watch heads learn": seconds a run, beside the same network built from torch's own attention.

    python -m benchmarks.learning            four minutes on a free core; --rounds

Both networks have the same sizes, first weights, sentences and optimizer, and both hand out the map of every head.
Before anything is timed, their losses are compared.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from benchmarks.measure import Spread, clock_for, describe_machine, interleave, markdown_table, ratios
from model.training import Settings, Training
from model.training.adamw import AdamW
from model.training.frames import loss_of
from model.training.network import Network
from model.training.run import one_cycle

SIZES = {  # what the page offers
    "four neighbours, 1 head": {"task": "neighbours", "heads": 1},
    "four neighbours, 2 heads": {"task": "neighbours", "heads": 2},
    "four neighbours, 4 heads": {"task": "neighbours", "heads": 4},
    "four neighbours, 8 heads": {"task": "neighbours", "heads": 8},
    "neighbour and twin, 2 heads": {"task": "twins"},
    "pronoun and verb (English), 2 heads": {"task": "agreement-en"},
    "pronoun and verb (Chinese), 2 heads": {"task": "agreement-zh"},
    "induction, 2 layers": {"task": "induction"},
}
DIFFERENCE = 1e-5  # of the first loss, float32
_FIRST = """
import time
start = time.perf_counter(), time.process_time()
{what}
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""
FIRST_STEP = {  # in a process that has torch and the model loaded already, as the app has
    "ours": "from model.training import Settings, Training; Training(Settings.of('neighbours')).step()",
    "torch.optim.AdamW made, no step": "import torch; torch.optim.AdamW([torch.zeros(1, requires_grad=True)])",
}


class Theirs(nn.Module):
    """A network of ours with nn.MultiheadAttention in the place of our attention. Attention-only blocks."""

    def __init__(self, ours: Network) -> None:
        super().__init__()
        self.ours = ours
        config = ours.transformer.config
        self.attention = nn.ModuleList(
            nn.MultiheadAttention(config.d_model, config.num_heads, batch_first=True) for _ in range(config.num_layers)
        )
        for theirs, block in zip(self.attention, ours.transformer.blocks, strict=True):
            q, k, v, o = (getattr(block.attention, f"W_{letter}") for letter in "qkvo")
            with torch.no_grad():
                theirs.in_proj_weight.copy_(torch.cat([q.weight, k.weight, v.weight]))
                theirs.in_proj_bias.copy_(torch.cat([q.bias, k.bias, v.bias]))
                theirs.out_proj.weight.copy_(o.weight)
                theirs.out_proj.bias.copy_(o.bias)

    def forward(self, ids: Tensor, hidden: Tensor | None) -> Tensor:
        """Logits from ids (B, N); `hidden` is True where attention is forbidden, as torch has it."""
        x = self.ours.transformer.embeddings(ids)
        for attention in self.attention:
            attended, _ = attention(x, x, x, attn_mask=hidden, need_weights=True, average_attn_weights=False)
            x = x + attended
        return self.ours.readout(x).unflatten(-1, (-1, self.ours.n_answers))


def run_theirs(settings: Settings, network: Theirs) -> None:
    """The steps of a training, without the looks in between."""
    task, asked = settings.rule, list(settings.rule.asked)
    generator = torch.Generator().manual_seed(settings.seed)
    allowed = settings.allowed.allowed(task.n_tokens)
    hidden = None if bool(allowed.all()) else ~allowed
    optimizer = AdamW(network)
    for step in range(settings.steps):
        batch = task.batch(generator, settings.batch)
        loss = loss_of(network(batch.ids, hidden), batch.targets[..., asked])
        optimizer.forget_gradients()
        loss.backward()
        optimizer.step(one_cycle(step, settings.steps, settings.learning_rate))


def compare(name: str, rounds: int) -> list[str]:
    """One row of the table."""
    settings = Settings.of(**SIZES[name])
    _check_same(settings)
    times = interleave(
        {
            "ours": lambda: _to_the_end(Training(settings)),
            "steps": lambda: _steps_alone(Training(settings)),
            "theirs": lambda: run_theirs(settings, Theirs(Training(settings).network)),
        },
        clock=clock_for(1),
        seconds=0.0,
        least=rounds,
        most=rounds,
        warm_up=False,
    )
    last = Training(settings)
    _to_the_end(last)
    return [
        name,
        f"{last.n_parameters:,}",
        f"{Spread.of(times['ours']):.2f}",
        f"{ratios(times['ours'], times['steps']):.2f}",
        f"{ratios(times['steps'], times['theirs']):.2f}",
        f"{last.test()[0]:.3f}",
    ]


def _to_the_end(training: Training) -> None:
    training.step(training.settings.steps)


def _steps_alone(training: Training) -> None:
    training._looks = frozenset()
    _to_the_end(training)


def _check_same(settings: Settings) -> None:
    training = Training(settings)
    batch = training.task.batch(torch.Generator().manual_seed(0), 8)
    allowed = settings.allowed.allowed(training.task.n_tokens)
    asked = list(training.task.asked)
    with torch.no_grad():
        ours = loss_of(training.network(batch.ids, allowed)[0], batch.targets[..., asked])
        theirs = loss_of(Theirs(training.network)(batch.ids, ~allowed), batch.targets[..., asked])
    if abs(float(ours - theirs)) > DIFFERENCE:
        raise SystemExit(f"the two networks differ: loss {float(ours)} and {float(theirs)}")


def first_step(rounds: int) -> list[list[str]]:
    """What the first training of a server waits for: in new processes, wall and CPU seconds."""
    rows = []
    for name, what in FIRST_STEP.items():
        code = "import torch, model.catalogue\n" + _FIRST.format(what=what)
        pairs = [
            [float(number) for number in subprocess.check_output([sys.executable, "-c", code], text=True).split()]
            for _ in range(rounds + 1)
        ][1:]  # the first warms the disk
        wall, cpu = zip(*pairs, strict=True)
        rows.append([name, f"{Spread.of(wall):.2f}", f"{Spread.of(cpu):.2f}"])
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    start = time.perf_counter()
    header = ["training", "parameters", "CPU s a run", "… / its steps alone", "steps / nn.MultiheadAttention", "right"]
    rows = [compare(name, options.rounds) for name in SIZES]
    print(f"{describe_machine()}; {options.rounds} rounds.\n\n{markdown_table(header, rows)}\n")
    print(markdown_table(["first training of a process", "wall s", "CPU s"], first_step(options.rounds)))
    print(f"\n{time.perf_counter() - start:.0f} s in all.")


if __name__ == "__main__":
    main()
