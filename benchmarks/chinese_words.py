"""What Chinese words cost, and how good they are.

    python -m benchmarks.chinese_words            load time and memory, half a minute
    python -m benchmarks.chinese_words FILE       and against the words of a treebank (JSON lines with "words")

Each load is a new process with a temporary folder of its own, so that a cache file is seen and not found. Memory is
what stays resident (/proc, so Linux only).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from analysis.words import chinese
from benchmarks.measure import describe_machine, markdown_table

SEGMENTERS = {"rjieba": "rjieba.cut", "jieba": "jieba.lcut"}
ROUNDS = 5
SENTENCE = "小明把苹果递给了小红，因为她帮过他。"
_LOAD = """
import sys, time
from pathlib import Path
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
name, call, text = sys.argv[1:]
before, start = resident(), time.process_time()
module = __import__(name)
cut = eval(call, {name: module})
cut(text)
cpu, memory = time.process_time() - start, resident() - before
start = time.perf_counter()
for _ in range(200):
    cut(text)
print(cpu, memory, (time.perf_counter() - start) / 200 * 1e6)
"""

Span = tuple[int, int]


def load_cost(name: str, python: str = sys.executable) -> tuple[float, float, float, float]:
    """CPU seconds and MB until the first answer, µs for a sentence after that, and MB of files left behind."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-W", "ignore", "-c", _LOAD, name, SEGMENTERS[name], SENTENCE]
        environment = os.environ | {"TMPDIR": folder, "HOME": folder, "XDG_CACHE_HOME": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        cpu, memory, sentence = map(float, done.stdout.split())
        left = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6
    return cpu, memory, sentence, left


def spans_of(words: Iterable[str]) -> list[Span]:
    """Where each word stands in the text without spaces."""
    spans, at = [], 0
    for word in words:
        spans.append((at, at + len(word)))
        at += len(word)
    return spans


def agreement(found: Sequence[Span], gold: Sequence[Span]) -> tuple[int, int, int]:
    """Words in both, only found, only in the treebank."""
    both = len(set(found) & set(gold))
    return both, len(found) - both, len(gold) - both


def chinese_stretches(words: Sequence[str]) -> list[list[str]]:
    """Runs of two Chinese words or more."""
    runs: list[list[str]] = [[]]
    for word in words:
        if chinese.has_chinese(word) and chinese.part(word).words[-1][1] == len(word):
            runs[-1].append(word)
        else:
            runs.append([])
    return [run for run in runs if len(run) > 1]


def parted_by_hand(words: Sequence[str], borders: Iterable[int]) -> bool:
    """Whether a stretch with spaces at these borders is taken as parted by hand."""
    text = "".join((" " if i in borders else "") + word for i, word in enumerate(words))
    return chinese.part(text).by == (chinese.SPACES,)


def against_treebank(file: Path) -> list[str]:
    """Lines about words, pronouns and spaces on the sentences of a treebank."""
    sentences = [json.loads(line)["words"] for line in file.read_text(encoding="utf-8").splitlines()]
    generator = random.Random(0)
    by_us, by_jieba = [0, 0, 0], [0, 0, 0]
    pronouns = {"with the rule": 0, "jieba alone": 0}
    n_pronouns, whole, single = 0, [], []
    for words in sentences:
        text, gold = "".join(words), spans_of(words)
        found = list(chinese.part(text).words)
        alone = [span for span in spans_of(chinese.load().cut(text)) if chinese.has_chinese(text[slice(*span)])]
        kept = [span for span in gold if re.fullmatch(r"[\u3400-\u9fff]+", text[slice(*span)])]
        for total, each in ((by_us, found), (by_jieba, alone)):
            for i, count in enumerate(agreement(each, kept)):
                total[i] += count
        asked = {span for span in gold if chinese.is_pronoun(text[slice(*span)])}
        n_pronouns += len(asked)
        pronouns["with the rule"] += len(asked & set(found))
        pronouns["jieba alone"] += len(asked & set(alone))
        for run in chinese_stretches(words):
            whole.append(parted_by_hand(run, range(1, len(run))))
            if len(run) > 3:
                single.append(parted_by_hand(run, [generator.randrange(1, len(run))]))
    lines = [
        f"{name}: F1 {2 * both / (2 * both + wrong + missed):.3f} on Chinese words of {len(sentences)} sentences"
        for name, (both, wrong, missed) in (("with the rule for pronouns", by_us), ("jieba alone", by_jieba))
    ]
    lines += [f"pronouns that are words, {name}: {n} of {n_pronouns}" for name, n in pronouns.items()]
    lines.append(f"a space at each border is taken as parted by hand: {sum(whole)} of {len(whole)} stretches")
    lines.append(f"one space among three borders or more is: {sum(single)} of {len(single)}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    options = parser.parse_args(arguments)
    print(describe_machine())
    rows = []
    for name in SEGMENTERS:
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed: pip install -r benchmarks/requirements.txt")
            continue
        runs = [load_cost(name) for _ in range(ROUNDS)]
        cpu, memory, sentence, left = (median(column) for column in zip(*runs, strict=True))
        rows.append([name, f"{cpu:.2f} s", f"{memory:.0f} MB", f"{sentence:.1f} µs", f"{left:.1f} MB"])
    print(markdown_table(["segmenter", "load, CPU", "load, memory", "a sentence", "files left"], rows))
    if options.file:
        print("\n".join(against_treebank(options.file)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
