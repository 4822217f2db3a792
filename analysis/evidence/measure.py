"""Measures the shipped records: `python -m analysis.evidence.measure [NAME…] [--model minilm] [--data FOLDER]`.

A name is corpus-variant, such as own-trained or gum-mask; none = all of the model's whose files are there. "trained"
is the model under the mask of its training, "fair" without a mask but choosing only among the words that a causal mask
shows: what "causal" must be compared with.
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

from analysis.evidence.coreference import score_coreference
from analysis.evidence.corpora.corpus import Corpus, read_corpus
from analysis.evidence.meaning import measure_moves
from analysis.evidence.records import (
    CONTROLS,
    DIGITS,
    FOLDER,
    OWN_FILES,
    OWN_FOLDER,
    SHIPPED,
    as_lines,
    as_record,
    compact,
    lean,
)
from analysis.evidence.scoring import Conditions, Run, score
from analysis.maps.induction import repetition
from analysis.maps.metrics import head_metrics, telling_metrics
from analysis.maps.similarity import head_similarity
from analysis.words.units import by_pieces
from model import AttentionModel
from model import load_one_part as load
from model.catalogue import DEFAULT_MODEL
from model.command_line import EXIT_OK, command
from model.files import check_writable, write_whole
from model.head_id import HeadId
from model.settings import threads

EVERY = {
    "own": 10,
    "own_zh": 2,
}  # patterns are averaged over every tenth of the English sentences, and every second Chinese
PATTERNS = ("special_mass", "start_mass", "separator_mass", "previous_is_top", "next_is_top")
FILES = {
    "own": OWN_FILES,
    "ud": ("ud_en_ewt_dev_500.jsonl", "ud_en_gum_dev_400.jsonl"),
    "gum": ("coref_gum_dev.jsonl",),
    "gap": ("coref_gap_300.jsonl",),
    "gender_en": ("gender_en.jsonl",),
    "own_zh": ("hand_zh.jsonl",),
    "ud_zh": ("ud_zh_gsdsimp_dev_200.jsonl",),
    "gender_zh": ("gender_zh.jsonl",),
}
IN_PROJECT = ("own", "own_zh", "gender_en", "gender_zh")
BY_HAND = {"own": "hand_en.jsonl", "own_zh": "hand_zh.jsonl"}  # where each pronoun has its cue
SOURCES = {
    "own": "Headwork's own sentences: 600 of a grammar, 228 by hand",
    "own_zh": "Headwork's own Chinese sentences: 73 by hand",
    "gender_en": "Headwork's balanced set: 16 pairs of nouns, 9 templates, both orders, both pronouns",
    "gender_zh": "Headwork's balanced set: 16 pairs of nouns, 9 templates, both orders, both pronouns",
    "ud_zh": "200 sentences of UD_Chinese-GSDSimp dev (commit eb3aed31)",
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


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m analysis.evidence.measure", description=__doc__)
    parser.add_argument("names", nargs="*", help="corpus-variant, or patterns")
    parser.add_argument("--model", choices=sorted(SHIPPED), default=DEFAULT_MODEL)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="where the treebanks and GAP lie")
    parser.add_argument("--out", type=Path, default=FOLDER, help="a folder that is there (default: %(default)s)")
    options = parser.parse_args(arguments)
    every = [f"{corpus}-{variant}" for corpus, variants in SHIPPED[options.model].items() for variant in variants]
    names = options.names or [*every, "patterns"]
    if unknown := set(names).difference(every, ["patterns"]):
        parser.error(f"{min(unknown)[:60]} is no record of {options.model}: choose of {', '.join(every)}, patterns")
    check_writable(options.out / f"{options.model}-{names[0]}.json")
    torch.set_num_threads(threads())
    model = load(options.model)
    for name in names:
        path = options.out / f"{model.id}-{name}.json"
        if name == "patterns":
            write_whole(path, json.dumps(measure_patterns(model), separators=(",", ":")) + "\n")
            continue
        corpus, _, variant = name.partition("-")
        paths = paths_of(corpus, options.data)
        if not all(each.is_file() for each in paths):
            print(f"{name}: the files are not here; left out", flush=True)
            continue
        record = measure(model, read_corpus(paths), corpus, variant)
        write_whole(path, as_lines(record))
        print(f"{name}: {path.stat().st_size / 1000:.0f} kB", flush=True)
    return EXIT_OK


def paths_of(corpus: str, data: Path) -> list[Path]:
    """The files of a corpus."""
    return [(OWN_FOLDER if corpus in IN_PROJECT else data) / name for name in FILES[corpus]]


def measure(model: AttentionModel, corpus: Corpus, name: str, variant: str, seed: int = 0) -> dict[str, Any]:
    """One record, with its provenance.

    Args:
        model: what is scored.
        corpus: what it is scored on.
        name: of the corpus, a key of `FILES`.
        variant: a key of `OPTIONS`.
        seed: of the halves, the bootstrap and the random weights.
    """
    run = score(model, corpus, Conditions.of(**OPTIONS[variant], seed=seed))
    folder = "data/corpus" if name in IN_PROJECT else "../shared/data"
    spelled = "".join(f" --{option} {value}" for option, value in OPTIONS[variant].items())
    files = " ".join(f"{folder}/{file}" for file in FILES[name])
    about = {
        "corpus": name,
        "variant": variant,
        "source": SOURCES[name],
        "date": datetime.date.today().isoformat(),
        "command": f"python -m analysis {files} --model {model.id}{spelled}",
        "written_by": f"python -m analysis.evidence.measure {_chosen(model)}{name}-{variant}",
    }
    record = as_record(run, corpus, about, seed=seed)
    if name in BY_HAND:
        record["cues"] = by_cue(run, BY_HAND[name])
    if "gender" in record and variant == "trained":
        moves = measure_moves(model, name.partition("_")[2])
        record["meaning"] = {"n": moves.n, "moved": moves.moved.tolist(), "right": moves.right.tolist()}
    return compact(lean(record)) if variant in CONTROLS else lean(record)


def _chosen(model: AttentionModel) -> str:
    """How the command line chooses the model; the default needs no word."""
    return "" if model.id == DEFAULT_MODEL else f"--model {model.id} "


def by_cue(run: Run, file: str) -> list[dict[str, Any]]:
    """Coreference of the own passages by what decides the pronoun: n and every head's accuracy among all mentions."""
    lines = (OWN_FOLDER / file).read_text(encoding="utf-8").splitlines()
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


def measure_patterns(model: AttentionModel) -> dict[str, Any]:
    """Metrics and the nearest heads of each head, averaged over some sentences of the model's own corpora."""
    own = [name for name in EVERY if name in SHIPPED[model.id]]
    texts = [
        sentence.text for name in own for sentence in read_corpus(paths_of(name, Path())).sentences[:: EVERY[name]]
    ]
    mark = model.tokenizer.start_mark
    first = by_pieces(model.trace(mark + texts[0]))
    labels, kinds = first.labels, first.units.kinds
    special = [
        next((label for label, each in zip(labels, kinds, strict=True) if each == kind), None)
        for kind in ("start", "separator")
    ]
    names = [name for name in telling_metrics(first) if name in PATTERNS]
    sums: dict[str, list[Any]] = {name: [] for name in names}
    bits = []
    for text in texts:
        units = by_pieces(model.trace(mark + text))
        for name, values in head_metrics(units, names).items():
            sums[name].append(values)
        bits.append(head_similarity(units).bits)
    means = {name: np.round(np.nanmean(values, axis=0), 3).tolist() for name, values in sums.items()}
    apart = np.mean(bits, axis=0)  # (L·h, L·h)
    nearest = [
        [
            [str(HeadId(*divmod(int(i), model.n_heads))), round(float(row[i]), 3)]
            for i in np.argsort(row, kind="stable")
            if i != own
        ][:3]
        for own, row in enumerate(apart)
    ]
    about = {
        "model": model.label,
        "weights_sha256": model.sha256,
        "corpus": " and ".join(own),
        "n": len(texts),
        "date": datetime.date.today().isoformat(),
        "command": f"python -m analysis.evidence.measure {_chosen(model)}patterns",
    }
    twice = repetition(model)
    repeated = {name: np.round(getattr(twice, name), 3).tolist() for name in ("induction", "previous", "first")}
    repeated |= {"length": twice.length, "sequences": twice.n_sequences, "mask": twice.mask, "seed": twice.seed}
    return {"provenance": about, "special": special, "metrics": means, "nearest": nearest, "repetition": repeated}


if __name__ == "__main__":
    raise SystemExit(main())
