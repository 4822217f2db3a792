"""What scoring a corpus costs beside the forward pass that it needs.

    OMP_NUM_THREADS=1 python -m benchmarks.scoring            under a minute on one core
    OMP_NUM_THREADS=1 python -m benchmarks.scoring FILE...    your own corpus

Both sides run the same batches: the forward pass alone, and a whole run from text to scores with their intervals,
tokenising included. They take turns, and the ratio is taken round by round. Without files, sentences of 4 to 40 words
are made up: what they say doesn't matter for the time.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from analysis.evidence.arrows import Batch
from analysis.evidence.batches import Runner, batches
from analysis.evidence.corpora.corpus import Corpus, read_content, read_corpus
from analysis.evidence.report import report
from analysis.evidence.scoring import prepare, score, writings_of
from benchmarks.measure import clock_for, describe_machine, interleave, markdown_table, ratios
from model import load
from model.masks import Mask

MOST = 1.5  # of the forward pass's own time, for a run from text to scores
WORDS = "the a old small farmer dog river saw unbelievable gave in of because quickly".split()  # noqa: SIM905


def made_corpus(n: int = 300, seed: int = 0) -> Corpus:
    """Sentences of 4 to 40 words, with any arcs."""
    generator = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        words = generator.choice(WORDS, size=int(generator.integers(4, 41))).tolist()
        lines.append({"words": words, "heads": [*range(1, len(words)), -1], "deprels": ["dep"] * len(words)})
    return read_content("made.jsonl", "\n".join(json.dumps(line) for line in lines).encode())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--seconds", type=float, default=40)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    corpus = read_corpus(options.files) if options.files else made_corpus()
    model = load(options.model)
    examples = [*corpus.sentences, *corpus.passages]
    lines, _ = prepare(model, examples, writings_of(examples), None, lambda done, total: None)
    plan = [Batch.of([lines[i] for i in members]) for members in batches(lines, len(corpus.sentences))]
    runner = Runner(model, Mask.bidirectional(), None, None)

    def forward() -> None:
        with torch.inference_mode():
            for batch in plan:
                model.transformer(batch.ids, runner.allowed(Mask.bidirectional(), batch), record="maps")

    def run() -> None:
        score(model, corpus)

    finished = score(model, corpus)
    calls = {"forward": forward, "run": run, "report": lambda: report(finished, corpus)}
    times = interleave(calls, clock=clock_for(1), seconds=options.seconds)
    both = [a + b for a, b in zip(times["run"], times["report"], strict=True)]
    ratio = ratios(both, times["forward"])
    rows = [
        [name, f"{min(seconds):.2f} s", f"{1000 * min(seconds) / len(examples):.2f} ms"]
        for name, seconds in times.items()
    ]
    print(describe_machine())
    print(f"{model.label}, {len(corpus.sentences)} sentences, {len(corpus.passages)} passages\n")
    print(markdown_table(["", "best round", "an example"], rows))
    print(f"\nrun and report / forward: {ratio:.2f} (median, range); at most {MOST}")
    return 0 if ratio.median <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
