"""A small grammar that writes English sentences together with their dependency arcs (Universal Dependencies v2).

The arcs are known by construction: a phrase knows its head, and attaching one phrase to another names the relation.
Nothing is parsed.

`python -m analysis.sentences.grammar --seed 0 --n 600 --out data/corpus/grammar_en.jsonl` writes the corpus.
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from analysis.sentences import grammar_words as lexicon
from analysis.sentences.grammar_phrases import Phrase, attach, word
from analysis.sentences.grammar_sentences import Sentences
from analysis.sentences.handwritten import as_json_lines
from model.command_line import EXIT_OK, MOST_SEED, command, whole_number
from model.files import check_writable, write_whole

ATTACHED_LEFT = {",", ".", "?", "!", "'s", "n't", "'"}  # written without a space before

MOST_SENTENCES = 5000  # 4 s; the grammar still finds new ones


def spell(phrase: Phrase, mark: str) -> tuple[list[str], Phrase]:
    """Add the closing mark, choose a/an, capitalise the first word; returns the forms and the whole phrase."""
    whole = attach([], phrase, [("punct", word(mark, "PUNCT"))])
    forms = [item.form for item in whole.words]
    for index, form in enumerate(forms[:-1]):
        if form == "a" and starts_with_vowel(forms[index + 1]):
            forms[index] = "an"
    forms[0] = forms[0][0].upper() + forms[0][1:]
    return forms, whole


def starts_with_vowel(form: str) -> bool:
    """Whether a word is spoken with a vowel first, so that it takes 'an'."""
    lower = form.lower()
    if lower.startswith(lexicon.VOWEL_SOUND):
        return True
    return lower[0] in "aeiou" and not lower.startswith(lexicon.CONSONANT_SOUND)


def stumbles(forms: list[str], whole: Phrase) -> bool:
    """Whether a sentence says 'that that' or names the same thing twice."""
    pairs = {(first.lower(), second.lower()) for first, second in itertools.pairwise(forms)}
    nouns = [item.form.removesuffix("s") for item in whole.words if item.upos in ("NOUN", "PROPN")]
    return ("that", "that") in pairs or len(set(nouns)) < len(nouns)


def sentences(seed: int, n: int) -> list[dict[str, Any]]:
    """`n` different sentences as lines of the corpus: words, heads (−1: root), relations, parts of speech."""
    grammar = Sentences(seed)
    lines: list[dict[str, Any]] = []
    seen: set[str] = set()
    kinds: list[tuple[str, Callable[[], Phrase]]] = grammar.kinds()
    while len(lines) < n:
        topic, make = kinds[len(lines) % len(kinds)]
        grammar.used = set()
        phrase = make()
        forms, whole = spell(phrase, "?" if topic == "question" else ".")
        space_after = [int(following not in ATTACHED_LEFT) for following in [*forms[1:], "x"]]
        text = "".join(form + " " * space for form, space in zip(forms, space_after, strict=True)).strip()
        if text in seen or len(forms) > 32 or stumbles(forms, whole):
            continue
        seen.add(text)
        lines.append(
            {
                "id": f"grammar-en-{len(lines) + 1:03d}",
                "doc": None,
                "text": text,
                "words": forms,
                "heads": [item.head for item in whole.words],
                "deprels": [item.deprel for item in whole.words],
                "upos": [item.upos for item in whole.words],
                "space_after": space_after,
                "topic": topic,
                "source": f"Headwork grammar, seed {seed}",
                "license": "MIT",
            }
        )
    return lines


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the corpus. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m analysis.sentences.grammar", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=whole_number(0, MOST_SEED), default=0)
    parser.add_argument("--n", type=whole_number(1, MOST_SENTENCES), default=600, help="how many sentences")
    parser.add_argument("--out", type=Path, required=True, help="the JSON-lines file to write")
    options = parser.parse_args(arguments)
    check_writable(options.out)
    lines = sentences(options.seed, options.n)
    write_whole(options.out, as_json_lines(lines))
    print(f"{len(lines)} sentences written to {options.out}")
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
