"""Measures the records that come with the app: `python -m analysis.measure [NAME…] [--data ../shared/data]`.

A name is corpus-variant, such as own-trained or gum-mask; none = all whose files are there. "fair" is the trained model
without a mask, but choosing only among the words that a causal mask shows: what "causal" must be compared with.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from analysis.coreference import score_coreference
from analysis.corpus import Corpus, read_corpus
from analysis.metrics import head_metrics
from analysis.records import (
    CONTROLS,
    CORPORA,
    DIGITS,
    FOLDER,
    OWN_FILES,
    OWN_FOLDER,
    VARIANTS,
    as_lines,
    as_record,
    compact,
)
from analysis.scoring import Run, score
from analysis.similarity import head_similarity
from analysis.words import by_pieces
from model import AttentionModel, load
from model.settings import threads

EVERY = 10  # habits are averaged over every tenth sentence of the own corpus
FILES = {
    "own": OWN_FILES,
    "ud": ("ud_en_ewt_dev_500.jsonl", "ud_en_gum_dev_400.jsonl"),
    "gum": ("coref_gum_dev.jsonl",),
    "gap": ("coref_gap_300.jsonl",),
}
SOURCES = {
    "own": "Headwork's own sentences: 600 of a grammar, 228 by hand",
    "ud": "500 sentences of UD_English-EWT dev (commit 15d613d8), 369 of UD_English-GUM dev (commit afb41ee9)",
    "gum": "369 passages of UD_English-GUM dev with coreference (commit afb41ee9)",
    "gap": "300 passages of GAP validation (commit 83135f26)",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "trained": {},
    "fair": {"restrict": "causal"},
    "causal": {"mask": "causal"},
    "untrained": {"control": "untrained"},
    "mask": {"control": "mask"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m analysis.measure", description=__doc__)
    parser.add_argument("names", nargs="*", help="corpus-variant, or habits")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="where EWT, GUM and GAP lie")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    torch.set_num_threads(threads())
    model = load("minilm")
    for name in options.names or [f"{corpus}-{variant}" for corpus in CORPORA for variant in VARIANTS] + ["habits"]:
        path = options.out / f"minilm-{name}.json"
        if name == "habits":
            path.write_text(json.dumps(measure_habits(model), separators=(",", ":")) + "\n", encoding="utf-8")
            continue
        corpus, _, variant = name.partition("-")
        paths = paths_of(corpus, options.data)
        if not all(each.is_file() for each in paths):
            print(f"{name}: the files are not here; left out")
            continue
        record = measure(model, read_corpus(paths), corpus, variant)
        path.write_text(as_lines(record), encoding="utf-8")
        print(f"{name}: {path.stat().st_size / 1000:.0f} kB", flush=True)
    return 0


def paths_of(corpus: str, data: Path) -> list[Path]:
    """The files of a corpus."""
    return [(OWN_FOLDER if corpus == "own" else data) / name for name in FILES[corpus]]


def measure(model: AttentionModel, corpus: Corpus, name: str, variant: str, seed: int = 0) -> dict[str, Any]:
    """One record, with its provenance.

    Args:
        model: what is scored.
        corpus: what it is scored on.
        name: of the corpus, a key of `FILES`.
        variant: a key of `OPTIONS`.
        seed: of the halves, the bootstrap and the random weights.
    """
    run = score(model, corpus, seed=seed, **OPTIONS[variant])
    folder = "data/corpus" if name == "own" else "../shared/data"
    spelled = "".join(f" --{option} {value}" for option, value in OPTIONS[variant].items())
    files = " ".join(f"{folder}/{file}" for file in FILES[name])
    about = {
        "corpus": name,
        "variant": variant,
        "source": SOURCES[name],
        "date": datetime.date.today().isoformat(),
        "command": f"python -m analysis {files} --model {model.id}{spelled}",
        "written_by": f"python -m analysis.measure {name}-{variant}",
    }
    record = as_record(run, corpus, about, seed=seed)
    if name == "own":
        record["cues"] = by_cue(run)
    return compact(record) if variant in CONTROLS else record


def by_cue(run: Run) -> list[dict[str, Any]]:
    """Coreference of the own passages by what decides the pronoun: n and every head's accuracy among all mentions."""
    lines = (OWN_FOLDER / "hand_en.jsonl").read_text(encoding="utf-8").splitlines()
    cue_of = {line["id"]: line["cue"] for line in map(json.loads, lines) if "pronoun" in line}
    (score_,) = (each for each in score_coreference(run, draws=2) if each.subset == "all")
    cues = np.array([cue_of[run.passages[int(i)].id] for i in score_.hits.example])
    return [
        {
            "cue": str(cue),
            "n": int((cues == cue).sum()),
            "accuracy": np.round(score_.hits.heads[cues == cue].mean(axis=0), DIGITS).tolist(),
        }
        for cue in np.unique(cues)
    ]


def measure_habits(model: AttentionModel) -> dict[str, Any]:
    """Metrics and the nearest heads of each head, averaged over every tenth sentence of the own corpus."""
    texts = [sentence.text for sentence in read_corpus(paths_of("own", Path())).sentences[::EVERY]]
    names = ("special_mass", "start_mass", "separator_mass", "previous_is_top", "next_is_top")
    sums: dict[str, list[Any]] = {name: [] for name in names}
    bits = []
    for text in texts:
        units = by_pieces(model.trace(text))
        for name, values in head_metrics(units, names).items():
            sums[name].append(values)
        bits.append(head_similarity(units).bits)
    means = {name: np.round(np.nanmean(values, axis=0), 3).tolist() for name, values in sums.items()}
    apart = np.mean(bits, axis=0)  # (L·h, L·h)
    nearest = [
        [
            [f"{int(i) // model.n_heads + 1}-{int(i) % model.n_heads + 1}", round(float(row[i]), 3)]
            for i in np.argsort(row, kind="stable")
            if i != own
        ][:3]
        for own, row in enumerate(apart)
    ]
    about = {
        "model": model.label,
        "weights_sha256": model.sha256,
        "corpus": "own",
        "n": len(texts),
        "date": datetime.date.today().isoformat(),
        "command": "python -m analysis.measure habits",
    }
    return {"provenance": about, "metrics": means, "nearest": nearest}


if __name__ == "__main__":
    raise SystemExit(main())
