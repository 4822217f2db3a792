"""A head that only seems to tell genders apart, and how far a head is missed: lesson 8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from analysis.evidence.agreement import Question, ask
from analysis.evidence.records import GENDER
from analysis.lessons.answer import Answer, answers
from analysis.lessons.answers.recorded import head_named, record_of, source_of, table_of
from analysis.lessons.numbers import ends, percent, weight
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars, Looks, Sentences
from analysis.words.units import by_words, drop_special
from model import HeadworkError
from model.head_id import HeadId


@answers("genders_right")
def genders_right(
    setup: Setup, *, layer: int, head: int, swapped: str, pronouns: list[str], nouns: list[str]
) -> Answer:
    """number: how many of four questions a head gets right: two pronouns, in the sentence and with its nouns swapped.

    `nouns` are those that agree with the `pronouns`, in their order. Says head, n, and each pronoun's weights on its
    own noun (right_1, right_2) and on the other one (wrong_1, wrong_2) in the sentence as it is.
    """
    name = setup.head(layer, head)
    if len(pronouns) != 2 or len(nouns) != 2:
        raise HeadworkError("The question takes two pronouns and two nouns. Give two of each.")
    questions = [
        Question(pronoun, right, wrong) for pronoun, right, wrong in zip(pronouns, nouns, nouns[::-1], strict=True)
    ]
    found = ask(setup.trace, setup.trace_of(swapped), questions)
    hits = found.hits[name]  # (2, K)
    weights = found.weights[name]  # (2, K, 2)
    looks = [_look(setup, name, pronoun, text) for text in (setup.text, swapped) for pronoun in pronouns]
    said = {"n": str(int(hits.sum()))}
    for number in range(2):
        right, wrong = (weight(float(value)) for value in weights[0, number])
        said |= {f"right_{number + 1}": right, f"wrong_{number + 1}": wrong}
    return Answer(
        right=float(hits.sum()),
        given={"head": str(name)},
        said=said,
        picture="sentences",
        shown=Sentences(tuple(looks), tuple(bool(hit) for hit in hits.ravel())),
    )


def _look(setup: Setup, name: HeadId, pronoun: str, text: str) -> Looks:
    words = drop_special(by_words(setup.trace_of(text)))
    query = setup.place(pronoun, words)
    return Looks(words, (name,), query, int(words.attention[*name, query].argmax()))


@answers("genders_recorded")
def genders_recorded(setup: Setup, *, corpus: str, heads: list[str]) -> Answer:
    """number: how often the first of `heads` finds the noun of the pronoun's gender in the balanced set, in %.

    Says n, head, accuracy, low, high, other, other_accuracy.
    """
    table = table_of(setup.model_id, corpus, GENDER)
    assert table.low is not None and table.high is not None
    names = [head_named(head, record_of(setup.model_id, corpus).shape) for head in heads]
    first, other = names[0], names[-1]
    bars = tuple(
        Bar(
            {"en": f"head {name}", "zh": f"头 {name}"},
            float(table.accuracy[name]),
            float(table.low[name]),
            float(table.high[name]),
            is_right=name == first,
        )
        for name in names
    )
    return Answer(
        right=100 * float(table.accuracy[first]),
        given={"head": str(first), "n": str(table.n)},
        said={
            "accuracy": percent(float(table.accuracy[first])),
            **ends(float(table.low[first]), float(table.high[first])),
            "other": str(other),
            "other_accuracy": percent(float(table.accuracy[other])),
        },
        picture="bars",
        shown=Bars(bars, "%", table.baseline, {"en": "chance", "zh": "随机"}, source_of(setup.model_id, corpus)),
    )


@answers("missed_order")
def missed_order(setup: Setup, *, heads: list[str], query: str, ids: list[str] | None = None) -> Answer:
    """order: heads by how far the query's last hidden state moves when each is switched off alone, the farthest first.

    `ids` are those of the options, one a head; without them, the options have the heads' names.
    Says first, second, third; change_1, change_2, change_3 (‖x′ − x‖ / ‖x‖ in %); and the weight each leaves on words,
    words_1, words_2, words_3.
    """
    words = setup.words
    row = setup.place(query)
    pieces = list(words.units.pieces[row])
    names = [head_named(head, (setup.trace.n_layers, setup.trace.n_heads)) for head in heads]
    if ids is not None and len(ids) != len(names):
        raise HeadworkError("There are {n} heads and {m} ids. Give each head one.", n=len(names), m=len(ids))
    changes = [_change(setup, name, pieces) for name in names]
    order = sorted(range(len(names)), key=lambda i: -changes[i])
    said: dict[str, str] = {}
    for place, i in enumerate(order):
        said[("first", "second", "third", "fourth", "fifth")[place]] = str(names[i])
        said[f"change_{place + 1}"] = percent(changes[i])
        said[f"words_{place + 1}"] = percent(float(words.attention[*names[i], row].sum()))
    bars = tuple(Bar({"en": f"head {names[i]}", "zh": f"头 {names[i]}"}, changes[i]) for i in order)
    return Answer(
        right=tuple(str(names[i]) if ids is None else ids[i] for i in order),
        given={"query": words.labels[row]},
        said=said,
        labels=words.labels,
        picture="bars",
        shown=Bars(bars, "%"),
    )


@torch.inference_mode()
def _change(setup: Setup, name: HeadId, pieces: Sequence[int]) -> float:
    """‖x′ − x‖ / ‖x‖ of a word's last hidden state without one head, the mean over its tokens."""
    off = np.ones((setup.trace.n_layers, setup.trace.n_heads), dtype=np.float32)
    off[name] = 0
    whole = setup.trace.hidden
    if whole is None:
        whole = setup.model.trace(setup.text, setup.mask).hidden
    without = setup.model.run(setup.text, setup.mask, record="hidden", head_mask=off)[2].hidden[0].numpy()
    assert whole is not None
    moved = np.linalg.norm(without[pieces] - whole[pieces], axis=-1) / np.linalg.norm(whole[pieces], axis=-1)
    return float(moved.mean())
