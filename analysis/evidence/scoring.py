"""A run over a corpus: every sentence through the model once, and of its maps only where each word looks.

Sentences are sorted by length and run in batches under a padding mask, so the result does not depend on the order of
the files beyond rounding, and a batch is always made of the same sentences: a run that was stopped goes on to the same
result. What the scores are computed from (`Run`) is small: two bytes a word and head.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.arrows import Arrows, Choices, EncodedText, word_pieces
from analysis.evidence.batches import (
    BATCH_SENTENCES,
    BATCH_TOKENS,
    Runner,
    batches,
    gather_arrows,
    gather_choices,
    split,
)
from analysis.evidence.controls import Control, mask_id, untrained, without_words
from analysis.evidence.corpora.annotated import Passage, Problem, Sentence, lay_out
from analysis.evidence.corpora.corpus import Corpus
from analysis.evidence.resume import Arrays, Store
from model.errors import HeadworkError
from model.masks import Mask
from model.tracing import AttentionModel

Progress = Callable[[int, int], None]
Writing = Literal["apart", "written"]
WRITINGS: tuple[Writing, ...] = ("apart", "written")
FORMAT = 2  # of stored batches: a change of what they hold makes old ones worthless
SPACED = 0.2  # fewer borders between words than this have a space: a script without spaces, such as Chinese
_EVERY = 200  # sentences tokenised between two calls of progress


@dataclass(frozen=True, eq=False)
class Conditions:
    """Under what a corpus is run.

    Attributes:
        mask: the mask of the forward pass; None = the one that the model was trained under. Under a causal mask a word
            can only be scored on earlier words.
        restrict: lets heads choose only among words that this mask shows too. With "causal" a bidirectional model
            is scored on the arcs that a causal one can be scored on: the fair comparison.
        writing: "apart" puts a space between all words, so that each has pieces of its own ("do n ' t"): the way the
            reference numbers of the tests were measured. "written" gives the model the text as people write it
            ("don ' t"); words that share a piece there can't be told from each other, and are left out of the scores.
            None = "written" for files in a script without spaces, "apart" for all others.
        control: "untrained" = random weights of the same shape; "mask" = [MASK] in place of every piece.
        seed: of the random weights.
        head_mask: (L, h), 0 = the head is off.

    Raises:
        HeadworkError: a mask drawn for one sentence.
    """

    mask: Mask | None = None
    restrict: Mask | None = None
    writing: Writing | None = None
    control: Control | None = None
    seed: int = 0
    head_mask: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Refuses a custom mask."""
        if any(mask is not None and mask.custom is not None for mask in (self.mask, self.restrict)):
            raise HeadworkError(
                "A drawn mask fits one sentence; a corpus can't be scored under it. Choose another mask."
            )

    @classmethod
    def of(cls, mask: Mask | str | None = None, *, restrict: str | None = None, **others: Any) -> Conditions:
        """The same with masks as they are spelled.

        Raises:
            HeadworkError: an unknown mask.
        """
        return cls(None if mask is None else Mask.of(mask), None if restrict is None else Mask.of(restrict), **others)


@dataclass(frozen=True, eq=False)
class Run:
    """What a model did on a corpus: all that scores need.

    Attributes:
        writing: how the words were given to the model; "apart and written" where files differ.
        sentences: those that were run, in the order of the corpus; `arrows` has their words.
        passages: likewise; `choices` numbers them.
        skipped: what could not be run, broken lines of the corpus included.
        start: the mark that stood before each text (`Tokenizer.start_mark`); "" = none but the tokenizer's own.
    """

    model_id: str
    model_label: str
    sha256: str | None
    trained: bool
    n_layers: int
    n_heads: int
    conditions: Conditions
    writing: str
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...]
    arrows: Arrows
    choices: Choices
    skipped: tuple[Problem, ...]
    start: str = ""


def score(
    model: AttentionModel,
    corpus: Corpus,
    conditions: Conditions | None = None,
    *,
    progress: Progress | None = None,
    store: Store | None = None,
) -> Run:
    """What a model does on a corpus.

    Where the tokenizer puts nothing before a text but the model knows a mark for it (SmolLM2's <|im_start|>), it is put
    there. Otherwise heads with nothing to do rest on the first word (Xiao et al. 2023), as if it were their answer.

    Args:
        model: any model of the catalogue.
        corpus: what to run; nothing in it is changed.
        conditions: None = the mask of the training, all words, nothing switched off.
        progress: called with (examples done, examples in all); what it raises ends the run.
        store: keeps finished batches, and gives those that it has.

    Raises:
        HeadworkError: nothing to run, or a model without [MASK].
    """
    conditions = conditions or Conditions()
    mask = conditions.mask or model.default_mask
    conditions = replace(conditions, mask=mask)
    if conditions.control == "untrained":
        model = untrained(model, conditions.seed)
    _check_not_empty(corpus)
    report = progress or (lambda done, total: None)
    examples: list[Sentence | Passage] = [*corpus.sentences, *corpus.passages]
    writings = writings_of(examples, conditions.writing)
    texts, problems = prepare(model, examples, writings, conditions.control, report)
    if store is not None:
        store.open(_about(model, conditions, writings, examples))
    runner = Runner(model, mask, conditions.restrict, conditions.head_mask)
    results = _results(runner, examples, texts, len(corpus.sentences), report, store)

    kept = sorted(results)
    first = [i for i in kept if i < len(corpus.sentences)]
    second = [i for i in kept if i >= len(corpus.sentences)]
    passages = tuple(each for i in second if isinstance(each := examples[i], Passage))
    shape = (model.n_layers, model.n_heads)
    return Run(
        model_id=model.id,
        model_label=model.label,
        sha256=model.sha256,
        trained=model.trained,
        n_layers=model.n_layers,
        n_heads=model.n_heads,
        conditions=conditions,
        writing=" and ".join(sorted(set(writings))),
        sentences=tuple(each for i in first if isinstance(each := examples[i], Sentence)),
        passages=passages,
        arrows=gather_arrows([results[i] for i in first], [texts[i] for i in first], shape),
        choices=gather_choices([results[i] for i in second], passages, [texts[i] for i in second], shape),
        skipped=corpus.problems + tuple(problems),
        start=model.tokenizer.start_mark,
    )


def _check_not_empty(corpus: Corpus) -> None:
    if not corpus.sentences and not corpus.passages:
        raise HeadworkError(
            "There is no sentence to score: {n_broken} lines are broken.", n_broken=len(corpus.problems)
        )


def _results(
    runner: Runner,
    examples: Sequence[Sentence | Passage],
    texts: dict[int, EncodedText],
    n_sentences: int,
    report: Progress,
    store: Store | None,
) -> dict[int, Arrays]:
    """What is kept of each example that can be run, by its number: from the store, or from the model."""
    total, done = len(examples), len(examples) - len(texts)
    results: dict[int, Arrays] = {}
    report(done, total)
    for number, members in enumerate(batches(texts, n_sentences=n_sentences)):
        arrays = None if store is None else store.load(number)
        if arrays is None:
            arrays = runner.run([examples[i] for i in members], [texts[i] for i in members])
            if store is not None:
                store.save(number, arrays)
        results |= split(members, arrays)
        done += len(members)
        report(done, total)
    return results


def writings_of(examples: Sequence[Sentence | Passage], writing: Writing | None = None) -> list[Writing]:
    """How each example is given to the model: as asked for, else by whether its file puts spaces between words."""
    if writing is not None:
        return [writing] * len(examples)
    borders: dict[str, int] = defaultdict(int)
    spaces: dict[str, int] = defaultdict(int)
    for each in examples:
        borders[each.place.file] += len(each.words) - 1
        spaces[each.place.file] += sum(a[1] < b[0] for a, b in itertools.pairwise(each.spans))
    return ["written" if spaces[f] < SPACED * borders[f] else "apart" for f in (each.place.file for each in examples)]


def prepare(
    model: AttentionModel,
    examples: Sequence[Sentence | Passage],
    writings: Sequence[Writing],
    control: Control | None,
    report: Progress,
) -> tuple[dict[int, EncodedText], list[Problem]]:
    """Tokens of every example that can be run, by its number, and why the others can't."""
    texts: dict[int, EncodedText] = {}
    problems: list[Problem] = []
    blank = mask_id(model) if control == "mask" else 0
    start = model.tokenizer.start_mark
    for i, example in enumerate(examples):
        if i % _EVERY == 0:
            report(0, len(examples))
        text, spans = example.text, example.spans
        if writings[i] == "apart":
            text, spans = lay_out(example.words, [True] * len(example.words))
        text, spans = start + text, tuple((first + len(start), last + len(start)) for first, last in spans)
        try:
            tokens = model.tokenizer.encode(text, limit=model.token_limit)
        except HeadworkError as error:
            problems.append(Problem(example.place.file, example.place.line, str(error)))
            continue
        if tokens.n_cut or tokens.text != text:
            n_tokens = len(tokens) + tokens.n_cut
            reason = f"it has {n_tokens} tokens; this model reads {model.token_limit}"
            problems.append(Problem(example.place.file, example.place.line, reason))
            continue
        ids = without_words(tokens, blank) if control == "mask" else tokens.ids
        texts[i] = EncodedText(ids, word_pieces(tokens, spans))
    return texts, problems


def _about(
    model: AttentionModel, conditions: Conditions, writings: Sequence[Writing], examples: Sequence[Sentence | Passage]
) -> dict[str, object]:
    """What decides a run's batches: two runs with the same description have the same batches."""
    texts = hashlib.sha256()
    for each, writing in zip(examples, writings, strict=True):
        what: list[object] = [each.text, each.spans, each.words, writing]
        if isinstance(each, Passage):
            what += [each.pronoun, each.candidates, each.candidate_ends, each.nouns]
        texts.update(repr(what).encode())
    head_mask, control = conditions.head_mask, conditions.control
    return {
        "format": [FORMAT, BATCH_SENTENCES, BATCH_TOKENS],
        "model": [model.id, model.label, model.sha256],
        "mask": [str(conditions.mask), str(conditions.restrict)],
        "control": [control, conditions.seed if control == "untrained" else None],
        "head_mask": None if head_mask is None else head_mask.tolist(),
        "texts": texts.hexdigest(),
        "start": model.tokenizer.start_mark,
    }
