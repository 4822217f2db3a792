"""Whose words: units of mixed text, what the tokenizer's pieces leave of them, and pieces that hold several words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.evidence.arrows import word_pieces
from analysis.words.shared_pieces import part_from_others, part_pronouns, pronouns_of, shared_pieces, shared_pronouns
from analysis.words.spans import is_bare, segmenter_spans, space_spans
from analysis.words.units import CONTENT, by_words, drop_special, word_units
from model import HeadworkError
from tests.analysis.made import random_maps, trace_of
from tests.analysis.words.chinese_pieces import LETTERS, encode, tokenizer
from tests.models import load

TEXT = "小明把苹果递给了小红，因为她帮过他。"


def labels(text, by="segmenter", tokens=None):
    units = word_units(tokens or encode(text), by)
    return " ".join(label for label, kind in zip(units.labels, units.kinds, strict=True) if kind in CONTENT)


def test_the_persons_of_the_course_sentence_are_words():
    assert labels(TEXT) == "小明 把 苹果 递给了 小红 ， 因为 她 帮过 他 。"
    assert labels(TEXT, "tokenizer").split()[:2] == ["小", "明"]
    units = word_units(encode(TEXT))
    assert units.segmenter == ("jieba",) and units.level == "words"
    assert [units.kinds[units.labels.index(mark)] for mark in "，。"] == ["punctuation"] * 2


def test_mixed_text_is_the_tokenizers_save_for_chinese():
    assert labels("小明帮Python好：95.5%！ goodes, 他") == "小明 帮 Python 好 ： 95.5% ！ goodes, 他"
    assert labels("他说：“今天……好——”。") == "他说 ： “ 今天 …… 好 —— ” 。"
    assert labels("他好。”") == "他 好 。”"  # one piece
    english = encode("goodes god")
    assert word_units(english) == word_units(english, "tokenizer")


def test_the_mark_of_a_space_belongs_to_the_word_after_it():
    tokens = encode("小明 把 苹果 给了 小红")
    assert tokens.labels.count("▁") == 5
    assert labels("", tokens=tokens) == labels("", "spaces", tokens=tokens) == "小明 把 苹果 给了 小红"
    assert word_units(tokens).segmenter == word_units(tokens, "spaces").segmenter == ("spaces",)
    assert [word_units(tokens, by).labels.count("▁") for by in ("segmenter", "spaces", "tokenizer")] == [1, 1, 1]
    assert "▁" not in word_units(tokens, [(0, 2), (3, 4), (5, 7)]).labels[2:5]


@pytest.mark.parametrize("by", ["segmenter", "tokenizer", "spaces"])
def test_the_mark_before_a_text_is_no_part_of_its_first_word(by):
    """It stands for no character. What a head leaves on it lies on no word, as in the scores (`word_pieces`)."""
    tokens = encode("小明好")
    assert tokens.pieces[:3] == ("<s>", "▁", "小") and tokens.spans[1] == (0, 0)
    maps = random_maps(np.random.default_rng(0), (2, 2), np.ones((len(tokens), len(tokens)), bool))
    words = by_words(trace_of(maps, tokens), by)
    assert words.units.labels[:2] == ("<s>", "▁") and words.units.kinds[:2] == ("start", "special")
    assert words.units.pieces[:3][1] == (1,) and words.units.word_ids[1] is None
    assert "▁" not in drop_special(words).labels


def test_a_word_without_a_piece_is_named_where_its_piece_is():
    tokens = encode("因为他帮过她。")
    assert "因为他" in tokens.labels
    units = word_units(tokens)
    assert units.labels == ("<s>", "▁", "因为他", "帮过", "她", "。", "</s>")
    spans, _by = segmenter_spans(tokens)
    assert [spans[word] for word in units.unit_of_word()] == [(0, 2), (3, 5), (5, 6), (6, 7)]  # 他 (2, 3) has no unit


def test_words_of_the_models_here():
    for name in ("minilm", "toy"):
        tokens = load(name).tokenizer.encode(TEXT, limit=512)
        found = [label for label in word_units(tokens).labels if label not in ("[CLS]", "[SEP]")]
        assert " ".join(found) == "小明 把 苹果 递给 了 小红 ， 因为 她 帮过 他 。"


def test_of_a_text_that_was_cut_only_what_is_left_makes_words():
    tokens = tokenizer().encode(TEXT * 400, limit=64)
    assert tokens.n_cut and len(tokens.text) == 7200
    units = word_units(tokens)
    assert sorted(piece for pieces in units.pieces for piece in pieces) == list(range(64))
    assert set(units.labels) - {"<s>", "</s>"} <= {*labels(TEXT).split(), "递给", "递", "▁"}
    spans, _by = segmenter_spans(tokens)
    assert spans[-1][1] == max(end for _start, end in tokens.spans)
    assert all(shared.piece < 64 for shared in shared_pieces(tokens))


def test_wrong_requests():
    with pytest.raises(HeadworkError, match="not from jieba"):
        word_units(encode(TEXT), "jieba")


@settings(deadline=None)
@given(st.text(st.sampled_from(LETTERS + " \n😀한あ々\u200d\ufe00\U000e0100𠀀"), min_size=1, max_size=24), st.data())
def test_any_text_by_any_words(text, data):
    try:
        tokens = encode(text)
    except HeadworkError:
        return  # nothing but space
    by = data.draw(st.sampled_from(["segmenter", "spaces", "tokenizer"]))
    n_tokens = len(tokens)
    allowed = np.ones((n_tokens, n_tokens), bool)
    maps = random_maps(np.random.default_rng(0), (2, 2), allowed)
    words = by_words(trace_of(maps, tokens), by)
    assert sorted(piece for pieces in words.units.pieces for piece in pieces) == list(range(n_tokens))
    assert all(words.labels)
    for piece in range(n_tokens):
        (unit,) = (unit for unit, pieces in enumerate(words.units.pieces) if piece in pieces)
        assert (words.units.kinds[unit] == "special" and not tokens.is_special[piece]) == is_bare(tokens, piece)
        assert not is_bare(tokens, piece) or words.units.pieces[unit] == (piece,)
    if by != "tokenizer":  # the scores' words are the same
        spans = segmenter_spans(tokens)[0] if by == "segmenter" else space_spans(text)
        own = word_units(tokens, spans).unit_of_word()
        of_scores = word_pieces(tokens, spans)
        assert all(of_scores[word] == words.units.pieces[unit] for word, unit in own.items())
    np.testing.assert_allclose(words.attention.sum(-1), 1, atol=1e-5)
    member = np.array([[i in pieces for i in range(n_tokens)] for pieces in words.units.pieces], dtype=float)
    np.testing.assert_allclose(
        words.attention, member / member.sum(-1, keepdims=True) @ maps @ member.T, atol=1e-5
    )  # the independent formula


# -- pieces that hold several words ----------------------------------------------------------------------------------


def test_a_pronoun_that_shares_its_piece_and_what_helps():
    text = "小红，因为他帮过她。"
    tokens = encode(text)
    (found,) = shared_pieces(tokens)
    assert (found.text, tokens.pieces[found.piece], found.left_out) == ("因为他", "因为他", ((5, 6),))
    assert [text[slice(*word)] for word in found.words] == ["因为", "他"] and text[slice(*found.owner)] == "因为"
    assert pronouns_of(tokens, found) == ((5, 6),)
    parted = part_from_others(encode, text, (5, 6))
    assert parted == "小红，因为 他帮过她。"
    assert not shared_pieces(encode(parted))


def test_a_pronoun_may_have_the_shared_piece():
    tokens = encode("他说，好。")
    (found,) = shared_pieces(tokens)
    assert found.owner == (0, 1) and found.left_out == ((1, 2),)
    assert part_from_others(encode, tokens.text, (0, 1)) == "他 说，好。"


def test_nothing_is_said_where_nothing_is_shared():
    assert shared_pieces(encode(TEXT.replace("给了", ""))) == ()
    assert shared_pieces(encode("他好。”")) == ()  # 。” is one piece, but marks are no words
    assert shared_pieces(load("minilm").tokenizer.encode(TEXT, limit=512)) == ()
    assert shared_pieces(load("minilm").tokenizer.encode("The cat can't sit.", limit=512)) == ()


def test_words_that_are_given():
    tokens = load("minilm").tokenizer.encode("I cannot go.", limit=512)
    (found,) = shared_pieces(tokens, [(0, 1), (2, 5), (5, 8), (9, 11), (11, 12)])  # can + not, as treebanks part it
    assert found.text == "cannot" and found.left_out == ((5, 8),)
    assert pronouns_of(tokens, found) == ()


def test_all_pronouns_of_a_text_are_parted_at_once():
    text = "因为他帮过她，他说好。" * 3
    assert part_pronouns(encode, text) == "因为 他帮过她，他 说好。" * 3
    assert shared_pronouns(encode(part_pronouns(encode, text))) == ()
    assert part_pronouns(encode, "小明 好") == "小明 好"


def test_what_does_not_help_is_not_offered():
    stubborn = encode("因为他")
    assert part_from_others(lambda _text: stubborn, "因为他", (2, 3)) is None


def test_in_the_model_that_reads_chinese():
    try:
        model = load("e5-small-4bit")
    except HeadworkError as error:
        pytest.skip(str(error))

    def read(text):
        return model.tokenizer.encode(text, limit=512)

    assert labels(TEXT, tokens=read(TEXT)) == "小明 把 苹果 递给了 小红 ， 因为 她 帮过 他 。"
    for text, pronoun, wanted in (
        ("小红把苹果递给了小明，因为他帮过她。", "他", "小红把苹果递给了小明，因为 他帮过她。"),
        ("老师表扬了她，因为他们努力。", "他们", "老师表扬了她，因为 他们努力。"),
        ("他说今天好冷。", "他", "他 说今天好冷。"),
    ):
        tokens = read(text)
        (found,) = [each for each in shared_pieces(tokens) if pronouns_of(tokens, each)]
        ((start, end),) = pronouns_of(tokens, found)
        assert text[start:end] == pronoun
        assert part_from_others(read, text, (start, end)) == wanted
