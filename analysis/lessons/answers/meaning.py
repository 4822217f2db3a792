"""One word is changed, and with it who is meant: do the heads notice? Lesson 12."""

from __future__ import annotations

import numpy as np

from analysis.lessons.answer import Answer, answers
from analysis.lessons.answers.recorded import head_in, record_of, source_of
from analysis.lessons.numbers import weight
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars, Looks, Sentences
from analysis.words.units import UnitTrace, by_words, drop_special
from model import HeadworkError
from model.head_id import HeadId


@answers("turns")
def turns(setup: Setup, *, layer: int, head: int, query: str, other: str, keys: list[str]) -> Answer:
    """choice: does a head turn from one of two words to the other when the sentence becomes `other`?

    "turns" or "stays": which of the two `keys` gets more from `query`. Says head, query, first and second (the keys);
    then the weights first_before, second_before, first_after, second_after and winner, the key with more in `other`.
    """
    name = setup.head(layer, head)
    before, after = setup.words, _words_of(setup, other)
    said: dict[str, str] = {}
    leads, looks = [], []
    for words, when in ((before, "before"), (after, "after")):
        row, columns = setup.place(query, words), [setup.place(key, words) for key in _two(keys)]
        first, second = (float(words.attention[*name, row, column]) for column in columns)
        said |= {f"first_{when}": weight(first), f"second_{when}": weight(second)}
        leads.append(0 if first >= second else 1)
        looks.append(Looks(words, (name,), row, columns[leads[-1]]))
    row = setup.place(query)
    labels = {place: before.labels[setup.place(key)] for place, key in zip(("first", "second"), keys, strict=True)}
    return Answer(
        right="stays" if leads[0] == leads[1] else "turns",
        given={"head": str(name), "query": before.labels[row], **labels},
        said={**said, "winner": keys[leads[1]]},
        labels=before.labels,
        picture="sentences",
        shown=Sentences(tuple(looks)),
    )


@answers("heads_that_turn")
def heads_that_turn(setup: Setup, *, query: str, other: str, right: list[str], wrong: list[str]) -> Answer:
    """number: how many heads give more to the right word in both sentences, where the right word changes.

    `right` and `wrong` name the word that is meant and the one that isn't: in the sentence, then in `other`. Says
    heads (how many there are); then n, back (heads wrong both times), same (those that prefer one word throughout), and
    chance: how many would get both right by tossing coins.
    """
    names = list(zip(_two(right), _two(wrong), strict=True))
    hits = []
    for words, (meant, not_meant) in zip((setup.words, _words_of(setup, other)), names, strict=True):
        row, good, bad = (setup.place(word, words) for word in (query, meant, not_meant))
        hits.append(words.attention[:, :, row, good] > words.attention[:, :, row, bad])  # (L, h)
    both, none = hits[0] & hits[1], ~hits[0] & ~hits[1]
    same = ~both & ~none
    return Answer(
        right=float(both.sum()),
        given={"heads": str(both.size)},
        said={
            "n": str(int(both.sum())),
            "back": str(int(none.sum())),
            "same": str(int(same.sum())),
            "chance": f"{both.size / 4:.0f}",
        },
        picture="bars",
        shown=Bars(
            (
                Bar({"en": "right twice", "zh": "两次都对"}, float(both.sum()), is_right=True),
                Bar({"en": "wrong twice", "zh": "两次都错"}, float(none.sum())),
                Bar({"en": "same word twice", "zh": "两次同一个词"}, float(same.sum())),
            )
        ),
    )


@answers("meaning_recorded")
def meaning_recorded(setup: Setup, *, corpus: str, layer: int, head: int) -> Answer:
    """number: in how many pairs of sentences in which only the meaning changes a head moves its arrow.

    Says head and n (pairs); then moved, right (moved, and right in both), best_head and best: the head of all with most
    pairs right in both, and how many; and heads.
    """
    found = record_of(setup.model_id, corpus).raw.get("meaning")
    if found is None:
        raise HeadworkError("The record {corpus} has no pairs of meaning. Choose another corpus.", corpus=corpus)
    moved, right = np.array(found["moved"]), np.array(found["right"])  # (L, h)
    name = head_in(moved.shape, layer, head)
    best = HeadId(*divmod(int(right.argmax()), right.shape[1]))
    n = int(found["n"])
    bars = (
        Bar({"en": f"{name} moves", "zh": f"{name} 移动"}, float(moved[name]), is_right=True),
        Bar({"en": f"best: {best} right", "zh": f"最好的 {best} 答对"}, float(right[best])),
        Bar({"en": "pairs", "zh": "全部"}, float(n)),
    )
    return Answer(
        right=float(moved[name]),
        given={"head": str(name), "n": str(n)},
        said={
            "moved": str(int(moved[name])),
            "right": str(int(right[name])),
            "best_head": str(best),
            "best": str(int(right[best])),
            "heads": str(moved.size),
        },
        picture="bars",
        shown=Bars(bars, note=source_of(setup.model_id, corpus)),
    )


def _words_of(setup: Setup, text: str) -> UnitTrace:
    return drop_special(by_words(setup.trace_of(text)))


def _two(words: list[str]) -> list[str]:
    if len(words) != 2:
        raise HeadworkError("The question takes two words here, not {n}. Give two.", n=len(words))
    return words
