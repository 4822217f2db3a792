"""Each task's generator against its definition, worked out again word by word."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import HeadworkError
from model.masks import Mask, parse_mask
from model.tasks import NO_KEY, NOTHING_ASKED, TASKS, find_task
from model.tasks.agreement import CHINESE, ENGLISH, PLURAL, ROLES, SINGULAR

SEEDS = st.integers(0, 2**31 - 1)


def drawn(task_id, seed, size=16):
    """Sentences as words, with the answers (as words) and keys of every position: None where there is nothing."""
    task = TASKS[task_id]
    ids, targets, arcs = task.batch(torch.Generator().manual_seed(seed), size)
    shape = (size, task.n_tokens, len(task.relations))
    assert ids.shape == shape[:2] and targets.shape == arcs.shape == shape
    for words, asked, leads in zip(ids.tolist(), targets.tolist(), arcs.tolist(), strict=True):
        yield (
            [task.vocabulary[i] for i in words],
            [[None if i == NOTHING_ASKED else task.answers[i] for i in row] for row in asked],
            [[None if i == NO_KEY else i for i in row] for row in leads],
        )


@given(SEEDS)
def test_neighbours_are_the_letters_at_the_four_offsets(seed):
    for words, answers, keys in drawn("neighbours", seed):
        for i in range(12):
            there = [i + offset if 0 <= i + offset < 12 else None for offset in (-2, -1, 1, 2)]
            assert keys[i] == there
            assert answers[i] == [None if key is None else words[key] for key in there]


@given(SEEDS)
def test_twins_share_a_letter_and_answers_are_their_numbers(seed):
    for words, answers, keys in drawn("twins", seed):
        letters = [word[0] for word in words]
        assert all(letters.count(letter) == 2 for letter in letters) and len(set(letters)) == 6
        for i, letter in enumerate(letters):
            (twin,) = [j for j, other in enumerate(letters) if other == letter and j != i]
            assert keys[i] == [i - 1 if i else None, twin]
            assert answers[i] == [None if key is None else words[key][1:] for key in keys[i]]


@given(SEEDS)
def test_induction_asks_for_what_followed_last_time(seed):
    for words, answers, keys in drawn("induction", seed):
        for i, letter in enumerate(words):
            before = [j for j in range(i) if words[j] == letter]
            match = before[-1] + 1 if before else None
            assert keys[i] == [i - 1 if i else None, match]
            assert answers[i] == [None, None if match is None else words[match]]  # the previous token isn't asked


# Gender and number by the words' own forms, written down anew here.
FEMININE_ENGLISH = r"(ess|esses|heroine|heroines)$"
PRONOUNS = {"him": ("m", 1), "her": ("f", 1), "他": ("m", 1), "她": ("f", 1), "他们": ("m", 2), "她们": ("f", 2)}


def english_kind(noun):
    gender = "f" if re.search(FEMININE_ENGLISH, noun) else "m"
    plural = noun.endswith("es") or (noun.endswith("s") and not noun.endswith("ess"))
    return gender, 2 if plural else 1


def chinese_kind(noun):
    return {"男": "m", "女": "f"}[noun[0]], 2 if noun.endswith("们") else 1


def english_stem(noun):
    for forms, stem in zip(ENGLISH.nouns, ENGLISH.stems, strict=True):
        if noun in (form for of_gender in forms for form in of_gender):
            return stem
    raise AssertionError(noun)


@given(SEEDS)
@settings(max_examples=30)
def test_english_pronouns_and_verbs_agree_with_exactly_one_noun_each(seed):
    nouns = {form for forms in ENGLISH.nouns for of_gender in forms for form in of_gender}
    for words, answers, keys in drawn("agreement-en", seed):
        (at,) = [i for i, word in enumerate(words) if "-" in word]
        verb, pronoun = words[at].split("-")
        pronoun_key, subject = keys[at]
        assert all(found == [None, None] for i, found in enumerate(keys) if i != at)
        assert all(found == [None, None] for i, found in enumerate(answers) if i != at)
        assert answers[at] == [english_stem(words[pronoun_key]), english_stem(words[subject])]

        places = [i for i, word in enumerate(words) if word in nouns]
        kinds = {i: english_kind(words[i]) for i in places}
        meant = [i for i in places if kinds[i] == PRONOUNS.get(pronoun) or (pronoun == "them" and kinds[i][1] == 2)]
        assert meant == [pronoun_key] and len(places) == 3
        number = 1 if verb.endswith("s") else 2
        full_stop = words.index(".")
        assert [i for i in places if i > full_stop and kinds[i][1] == number] == [subject] and subject < at


@given(SEEDS)
@settings(max_examples=30)
def test_chinese_pronouns_and_verbs_agree_with_exactly_one_noun_each(seed):
    for words, answers, keys in drawn("agreement-zh", seed):
        at = len(words) - 1
        verb, pronoun = re.fullmatch(r"(都?[夸等帮问])([他她]们?)", words[at]).groups()
        pronoun_key, subject = keys[at]
        assert all(found == [None, None] for found in keys[:at] + answers[:at])
        assert answers[at] == [words[key].strip("男女们") for key in (pronoun_key, subject)]

        places = [i for i, word in enumerate(words) if word[0] in "男女"]
        kinds = {i: chinese_kind(words[i]) for i in places}
        assert [i for i in places if kinds[i] == PRONOUNS[pronoun]] == [pronoun_key] and len(places) == 3
        number = 2 if verb.startswith("都") else 1
        assert [i for i in places if i > words.index("。") and kinds[i][1] == number] == [subject]


@pytest.mark.parametrize("task_id", ["agreement-en", "agreement-zh"])
def test_no_fixed_place_gives_the_nouns_away(task_id):
    """Always looking at one place, or so many words back, is right in fewer than six of ten sentences."""
    task = TASKS[task_id]
    _, _, arcs = task.batch(torch.Generator().manual_seed(3), 4000)
    at = (arcs[..., 0] != NO_KEY).int().argmax(dim=-1)  # (B,)
    keys = arcs[torch.arange(4000), at]  # (B, R)
    for relation in range(2):
        places = keys[:, relation]
        for found in (places, at - places):
            assert found.bincount().max() < 0.6 * 4000


@pytest.mark.parametrize(("task_id", "full_stop"), [("agreement-en", "."), ("agreement-zh", "。")])
def test_either_noun_is_meant_and_either_stands_first_as_often(task_id, full_stop):
    """Of 4,000 sentences half, give or take 4 % (five standard deviations)."""
    task = TASKS[task_id]
    ids, _, arcs = task.batch(torch.Generator().manual_seed(4), 4000)
    pronoun, subject = arcs.amax(dim=1).unbind(-1)  # (B,) each: one key a sentence
    full_stops = (ids == task.vocabulary.index(full_stop)).int().argmax(dim=-1)  # (B,)
    in_front = pronoun < full_stops  # it means the noun of the sentence before
    companion_first = pronoun[~in_front] < subject[~in_front]
    assert float(in_front.float().mean()) == pytest.approx(0.5, abs=0.04)
    assert float(companion_first.float().mean()) == pytest.approx(0.5, abs=0.06)  # of 2,000


@pytest.mark.parametrize("grammar", [ENGLISH, CHINESE])
def test_the_grammar_leaves_no_casting_out_and_repeats_none(grammar):
    clear = [casting for casting in grammar.castings if casting.nouns[0][1] != casting.nouns[1][1]]
    assert clear == list(dict.fromkeys(grammar.castings))
    assert {casting.meant for casting in clear} == {1, 2}
    assert {casting.nouns[0][1] for casting in clear} == {SINGULAR, PLURAL}
    assert len({len(layout) for layout in grammar.layouts}) == 1
    assert all(layout.count(role) == 1 for layout in grammar.layouts for role in ROLES)


def test_english_forms():
    assert ENGLISH.nouns[0] == (("actor", "actors"), ("actress", "actresses"))
    assert ENGLISH.nouns[5] == (("hero", "heroes"), ("heroine", "heroines"))
    assert {"greets-him", "greet-them", "trusts-her"} <= set(ENGLISH.vocabulary)
    assert {"夸他", "都夸她们", "男老师", "女医生们"} <= set(CHINESE.vocabulary)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_sentences_come_from_their_own_generator_only(task):
    before = torch.get_rng_state()
    first, second = (task.batch(torch.Generator().manual_seed(7), 8) for _ in range(2))
    other = task.batch(torch.Generator().manual_seed(8), 8)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.equal(first.ids, other.ids)
    generator = torch.Generator().manual_seed(7)
    task.batch(generator, 8)
    assert not torch.equal(task.batch(generator, 8).ids, first.ids)  # the next sentences are other ones


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_words_can_be_typed_and_parted_by_spaces(task):
    assert len(set(task.vocabulary)) == len(task.vocabulary)
    assert not any(re.search(r"\s", word) or not word for word in task.vocabulary)
    assert set(task.sample.split()) <= set(task.vocabulary) and len(task.sample.split()) == task.n_tokens
    if task.parts is not None:
        assert task.parts[0] * task.parts[1] == len(task.vocabulary)


def test_every_answer_is_as_likely_as_chance_says():
    for task in TASKS.values():
        _, targets, _ = task.batch(torch.Generator().manual_seed(0), 4096)
        for relation in task.asked:
            counts = targets[..., relation][targets[..., relation] != NOTHING_ASKED].bincount()
            assert len(counts) == len(task.answers)
            assert counts.max() / counts.sum() < 1.35 * task.chance  # 4,096 answers of 1/26 each: ± 8 % (one sd)


def test_ceiling_by_hand():
    neighbours = TASKS["neighbours"]
    # 10, 11, 11 and 10 of 12 positions have the neighbour: 42 answers, of which the causal mask shows 21.
    overall, by_relation = neighbours.ceiling(Mask.causal())
    assert overall == pytest.approx((21 + 21 / 26) / 42) and by_relation == pytest.approx((1, 1, 1 / 26, 1 / 26))
    assert neighbours.ceiling(Mask.bidirectional()) == (1.0, (1.0, 1.0, 1.0, 1.0))
    assert neighbours.ceiling(Mask.window(1))[1] == pytest.approx((1 / 26, 1, 1, 1 / 26))
    assert neighbours.ceiling(Mask.window(1), layers=2)[1] == (1.0, 1.0, 1.0, 1.0)  # two looks of one step reach two
    # Of two twins one stands first, and sees none.
    assert TASKS["twins"].ceiling(Mask.causal())[1] == pytest.approx((1, (1 + 1 / 26) / 2))
    assert TASKS["induction"].ceiling(parse_mask("causal"), 2)[1] == (1.0,)
    assert TASKS["agreement-en"].ceiling(Mask.causal()) is None  # what isn't seen can be guessed from the rest


def test_what_a_mask_hides_by_hand():
    neighbours = TASKS["neighbours"]
    assert neighbours.hidden_shares(Mask.bidirectional()) == (0, 0, 0, 0)
    assert neighbours.hidden_shares(Mask.causal()) == neighbours.hidden_shares(Mask.causal(), 4) == (0, 0, 1, 1)
    assert neighbours.hidden_shares(Mask.window(1)) == (1, 0, 0, 1)
    assert neighbours.hidden_shares(Mask.window(1), layers=2) == (0, 0, 0, 0)
    assert TASKS["twins"].hidden_shares(Mask.causal()) == (0, 0.5)  # of two twins one stands before the other
    assert TASKS["induction"].hidden_shares(Mask.causal(), 2) == (0, 0)


def test_an_unknown_task_is_told_with_the_ones_there_are():
    with pytest.raises(HeadworkError, match=r"no task 'neighbors'.*neighbours, twins"):
        find_task(TASKS, "neighbors")
