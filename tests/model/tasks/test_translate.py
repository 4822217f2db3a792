"""The invented languages: translations, order and links against the rule, worked out again word by word."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.errors import HeadworkError
from model.tasks import NO_KEY, NOTHING_ASKED, TRANSLATIONS
from model.tasks.translate import CLASSES, END, MOST_SOURCE, MOST_TARGET, START

SEEDS = st.integers(0, 2**31 - 1)
ENGLISH, CHINESE = TRANSLATIONS["translate-en"], TRANSLATIONS["translate-zh"]


def by_hand(task, words):
    """(target word, source place, class) one by one, from the words alone."""
    (at,) = [i for i, word in enumerate(words) if word in task.verbs]
    found = []
    for start, end in ((0, at), (at + 1, len(words))):
        found.append((task.nouns[words[end - 1]], end - 1, "noun"))
        found += [(task.adjectives[words[i]], i, "adjective") for i in reversed(range(start, end - 1))]
    verb = task.verbs[words[at]]
    return found + [(word, at, "verb" if len(verb) == 1 else "split verb") for word in verb]


@pytest.mark.parametrize("task", TRANSLATIONS.values(), ids=TRANSLATIONS)
@given(SEEDS, st.booleans())
def test_every_row_writes_the_word_that_its_link_translates(task, seed, held_out):
    pairs = task.batch(torch.Generator().manual_seed(seed), 16, held_out=held_out)
    assert pairs.source.shape == (16, MOST_SOURCE) and pairs.answers.shape == (16, MOST_TARGET)
    for source, is_source, target, answers, links, classes in zip(*(part.tolist() for part in pairs), strict=True):
        n = sum(is_source)
        assert is_source == [True] * n + [False] * (MOST_SOURCE - n)
        expected = by_hand(task, [task.source_vocabulary[i] for i in source[:n]])
        m, beyond = len(expected), MOST_TARGET - len(expected) - 1
        words = [task.target_vocabulary[i] for i in answers[:m]]
        found = list(zip(words, links, [CLASSES[i] for i in classes[:m]], strict=False))
        assert found == expected
        assert answers[m:] == [END] + [NOTHING_ASKED] * beyond
        assert links[m:] == [NO_KEY] * (beyond + 1) and classes[m:] == [-1] * (beyond + 1)
        assert target == [START, *answers[:m], *[0] * beyond]  # what is read is what was written, one row later


@given(SEEDS)
def test_no_sentence_is_both_trained_on_and_held_out(seed):
    generator = torch.Generator().manual_seed(seed)
    seen, unseen = (
        {tuple(row) for row in ENGLISH.batch(generator, 64, held_out=held_out).source.tolist()}
        for held_out in (False, True)
    )
    assert not seen & unseen


def test_a_tenth_of_all_sentences_is_held_out_whatever_its_verb():
    drawn = ENGLISH.batch(torch.Generator().manual_seed(0), 4096, held_out=True)
    counts = torch.bincount(drawn.answers[drawn.classes >= 2], minlength=len(ENGLISH.target_vocabulary))
    assert (counts > 0).sum() == 9  # eight stems and the word that denies
    short = {tuple(row) for row in drawn.source[drawn.is_source.sum(dim=-1) == 3].tolist()}
    assert len(short) == pytest.approx(10 * 12 * 10 / 10, rel=0.35)  # of 1,200 sentences of three words


@pytest.mark.parametrize(
    ("task", "source", "target"),
    [
        (ENGLISH, "small old dogs love red cats", "dogo olda smala kato reda lovi"),
        (ENGLISH, "dogs hate cats", "dogo kato ne lovi"),
        (CHINESE, "小 老 狗 喜欢 红 猫", "犬 耆 幼 狸 赤 爱"),
        (CHINESE, "孩子 忘记 聪明 王后", "童 妃 慧 不 忆"),
    ],
)
def test_a_typed_sentence_is_translated(task, source, target):
    assert task.translate(source) == target
    assert " ".join(task.source_words(task.of(source).source[0][: len(source.split())])) == source


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("dogs love mice", "no word mice"),
        ("", "no sentence of the source language"),
        ("dogs cats love", "no sentence"),
        ("love dogs", "no sentence"),
        ("red red red dogs love cats", "no sentence"),
        ("dogs love small", "no sentence"),
        ("dogs love cats love birds", "no sentence"),
    ],
)
def test_what_is_no_sentence_is_refused(source, said):
    with pytest.raises(HeadworkError, match=said):
        ENGLISH.of(source)


@pytest.mark.parametrize("task", TRANSLATIONS.values(), ids=TRANSLATIONS)
def test_words_are_told_apart_and_the_sample_shows_every_kind(task):
    assert len(set(task.source_vocabulary)) == len(task.source_vocabulary) == 32
    assert len(task.target_vocabulary) == 2 + 10 + 10 + 9
    pairs = task.of(task.sample)
    assert set(pairs.classes[0].tolist()) == {-1, 0, 1, 3}
    assert task.n_sentences == (10 * (1 + 10 + 90)) ** 2 * 12
