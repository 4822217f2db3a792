"""model.tokenizers: labels, ids, characters and words stay in step."""

import json
import time

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

from model.errors import HeadworkError
from model.tokenizers.tokenizer_json import FastTokenizer, load_tokenizer
from model.tokenizers.tokens import LONGEST_LABEL, MAX_CHARACTERS, clean_text
from model.tokenizers.toy import ToyTokenizer, word_id

FAMILY = "👩\u200d👩\u200d👧"
HARD = [
    "The cat sat.",
    "the the the",
    "don't re-enter",
    "猫吃鱼",
    "猫 吃 鱼",
    "我爱Python,真的！",
    "cafe\u0301 café",
    f"{FAMILY} 🎉 👍🏽 🇨🇳🇩🇪 ❤️ 1️⃣",
    "<s>hi</s> $x$ <b onclick='a()'>&amp;</b>",
    "[SEP] a [CLS] b [PAD] [MASK] [UNK]",
    "a\x00b\x07c\x1b[31m\x7f\x85d",
    "one\ntwo\r\n\tthree",
    "\ud800x \ud83d\ude00 \udfff",
    "\u202eabc\u202c שלום \u2066مرحبا\u2069",
    "\ufeffBOM\u00ad soft\u200bhyphen",
    "ﬁ İ ß ŉ ² ½ ™ Ａ",
    "हिन्दी ภาษาไทย 한국어 ひらがな カタカナー",
    "{braces} %s \\n \\u0041",
    "x" * 300,
]


def byte_level():
    """RoBERTa's kind: bytes as characters, "Ġ" for a space."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", tokenizers.AddedToken("<mask>", lstrip=True)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(["the cat sat on the mat the cats sat"] * 10, trainer)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return FastTokenizer(backend)


def metaspace():
    """SentencePiece's kind: "▁" for a space, a whole Chinese clause as one of its words."""
    words = ["▁the", "▁cat", "▁", "s", "小明", "把", "因为他", "▁c", "苹果"]
    backend = tokenizers.Tokenizer(
        models.Unigram([(name, 0.0) for name in ("<s>", "<pad>", "</s>", "<unk>")] + [(w, -2.0) for w in words], 3)
    )
    backend.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    template = {"single": "<s> $A </s>", "special_tokens": [("<s>", 0), ("</s>", 2)]}
    backend.post_processor = processors.TemplateProcessing(**template)
    return FastTokenizer(backend)


@pytest.fixture(scope="module")
def wordpiece(minilm_folder):
    return load_tokenizer(minilm_folder)


@pytest.fixture(scope="module")
def every_tokenizer(wordpiece):
    return {"wordpiece": wordpiece, "byte-level": byte_level(), "metaspace": metaspace(), "toy": ToyTokenizer()}


KINDS = ("wordpiece", "byte-level", "metaspace", "toy")


def assert_in_step(tokens):
    n = len(tokens.ids)
    for name in ("pieces", "labels", "spans", "word_ids", "is_special", "is_padding", "segments", "token_types"):
        assert len(getattr(tokens, name)) == n, name
    assert len(tokens) == n
    for label in tokens.labels:
        assert label and len(label) <= 8 * LONGEST_LABEL
        assert not set(label) & set("\n\r\t\0\u2028\u202e"), label
    for start, end in tokens.spans:
        assert 0 <= start <= end <= len(tokens.text)
    for special, word, padding in zip(tokens.is_special, tokens.word_ids, tokens.is_padding, strict=True):
        assert special == (word is None)
        assert special or not padding
    seen = [word for word in tokens.word_ids if word is not None]
    assert sorted(set(seen)) == list(range(len(tokens.words))) and seen == sorted(seen)
    assert all(tokens.words)
    tokens.text.encode("utf-8")  # no half of a surrogate pair is left
    "".join(tokens.labels).encode("utf-8")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", HARD)
def test_hard_texts_come_through_in_step(every_tokenizer, kind, text):
    assert_in_step(every_tokenizer[kind].encode(text, limit=512))


anything = st.text(
    st.one_of(
        st.characters(),  # surrogates and controls among them
        st.sampled_from("猫吃 \t\n\0'’-_.<>$&\u200d\ufe0f\u0301👩👧🏽🇨🇳ab"),
        st.sampled_from(["[SEP]", "[CLS]", "[MASK]", "<s>", "</s>"]).map(lambda token: token[0]),
    ),
    max_size=40,
)


@pytest.mark.parametrize("kind", KINDS)
@given(text=anything, limit=st.integers(4, 30), extra=st.integers(0, 5))
@example(text="\u200d", limit=4, extra=0)
@example(text="[SEP][SEP][SEP][SEP]", limit=4, extra=0)
def test_any_text_is_tokens_in_step_or_a_sentence(every_tokenizer, kind, text, limit, extra):
    tokenizer = every_tokenizer[kind]
    try:
        tokens = tokenizer.encode(text, limit=limit)
    except HeadworkError as error:
        assert "no text" in str(error)
        return
    assert_in_step(tokens)
    assert len(tokens) <= limit
    padded = tokenizer.encode(text, limit=limit + extra, pad_to=limit + extra)
    assert_in_step(padded)
    assert len(padded) == limit + extra


# Against transformers, and by hand


@pytest.mark.parametrize("text", [text for text in HARD if "\ud800" not in text])
def test_pieces_and_ids_are_those_of_transformers(wordpiece, minilm_folder, text):
    transformers = pytest.importorskip("transformers")
    reference = transformers.AutoTokenizer.from_pretrained(str(minilm_folder))
    ours = wordpiece.encode(text, limit=512)
    assert list(ours.ids) == reference(text)["input_ids"]
    assert list(ours.pieces) == reference.convert_ids_to_tokens(ours.ids)


def test_a_sentence_by_hand(wordpiece):
    tokens = wordpiece.encode("The catnaps!", limit=512)
    assert tokens.pieces == ("[CLS]", "the", "cat", "##na", "##ps", "!", "[SEP]")
    assert tokens.spans == ((0, 0), (0, 3), (4, 7), (7, 9), (9, 11), (11, 12), (0, 0))
    assert tokens.word_ids == (None, 0, 1, 1, 1, 2, None)
    assert tokens.words == ("The", "catnaps", "!")
    assert tokens.is_special == (True, False, False, False, False, False, True)
    assert not any(tokens.is_padding) and (tokens.n_cut, tokens.n_unknown) == (0, 0)


def test_unknown_pieces_are_counted_and_belong_to_their_word(wordpiece):
    tokens = wordpiece.encode("猫吃鱼 ok", limit=512)
    assert tokens.labels == ("[CLS]", "[UNK]", "[UNK]", "[UNK]", "ok", "[SEP]")
    assert tokens.n_unknown == 3
    assert tokens.words == ("猫", "吃", "鱼", "ok")
    assert tokens.is_special == (True, False, False, False, False, True)


def test_typed_special_tokens_are_the_models_own_and_in_step(wordpiece):
    tokens = wordpiece.encode("a [SEP] b [PAD] [MASK]", limit=512)
    assert tokens.pieces == ("[CLS]", "a", "[SEP]", "b", "[PAD]", "[MASK]", "[SEP]")
    assert tokens.is_special == (True, False, True, False, True, False, True)
    assert tokens.spans[2] == (2, 7)
    assert tokens.words == ("a", "b", "[MASK]")
    assert not any(tokens.is_padding)  # nobody padded


PAIRS = [("the cat sat", "on the mat"), ("a", "b"), ("the cats! ", " sat"), ("猫", "the")]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_is_what_the_library_makes_of_it(every_tokenizer, pair):
    for kind in ("wordpiece", "byte-level"):
        tokenizer = every_tokenizer[kind]
        tokens = tokenizer.encode(tokenizer.pair(*pair), limit=512)
        expected = tokenizer.backend.encode(*pair)
        assert list(tokens.ids) == expected.ids
        assert list(tokens.token_types) == expected.type_ids
        assert [text for text, special in zip(tokens.segments, tokens.is_special, strict=True) if not special] == [
            text for text in expected.sequence_ids if text is not None
        ]
        assert_in_step(tokens)


@pytest.mark.parametrize("limit", range(5, 16))
@pytest.mark.parametrize("pair", [("one two three four five six", "a b c"), ("a b c", "one two three four five six")])
def test_of_a_pair_that_is_too_long_the_longer_text_is_cut_as_in_transformers(wordpiece, minilm_folder, pair, limit):
    transformers = pytest.importorskip("transformers")
    reference = transformers.AutoTokenizer.from_pretrained(str(minilm_folder))
    tokens = wordpiece.encode(wordpiece.pair(*pair), limit=limit)
    expected = reference(*pair, truncation="longest_first", max_length=limit)
    assert list(tokens.ids) == expected["input_ids"]
    assert list(tokens.token_types) == expected["token_type_ids"]
    assert tokens.n_cut == max(0, 12 - limit)


@pytest.mark.parametrize("limit", range(3, 9))
def test_a_pair_with_hardly_any_room_stays_in_step(every_tokenizer, limit):
    for kind in ("wordpiece", "byte-level"):
        tokenizer = every_tokenizer[kind]
        tokens = tokenizer.encode(tokenizer.pair("the cat sat", "on the mat"), limit=limit)
        assert_in_step(tokens)
        assert len(tokens) <= limit


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("a [SEP] b", (0, 0, 0, 1, 1)),
        ("a[SEP]b", (0, 0, 0, 1, 1)),
        ("a [SEP] b [SEP] c", (0, 0, 0, 1, 1, 1, 1)),
        ("a [SEP] [MASK]", (0, 0, 0, 1, 1)),
        ("a [SEP]", (0, 0, 0, 0)),
        ("[SEP] a", (0, 0, 0, 0)),
        ("a [SEP] [SEP]", (0, 0, 0, 0, 0)),
        ("a [CLS] b", (0, 0, 0, 0, 0)),
        ("a b", (0, 0, 0, 0)),
    ],
)
def test_only_a_separator_between_two_texts_makes_a_pair(wordpiece, text, segments):
    tokens = wordpiece.encode(text, limit=512)
    assert tokens.segments == tokens.token_types == segments
    assert tokens.is_pair is any(segments)


def test_padding_after_a_pair_is_of_the_first_type(wordpiece):
    tokens = wordpiece.encode("a [SEP] b", limit=512, pad_to=7)
    assert tokens.token_types == (0, 0, 0, 1, 1, 0, 0)  # transformers' pad_token_type_id


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (("a [SEP] c", "b"), "can't hold \\[SEP\\] itself"),
        (("", "b"), "no text"),
        (("a", " "), "no text"),
        (("a" * MAX_CHARACTERS, "b"), "a pair may have"),
    ],
)
def test_what_makes_no_pair_is_refused(wordpiece, pair, said):
    with pytest.raises(HeadworkError, match=said):
        wordpiece.pair(*pair)


def test_a_tokenizer_without_a_separator_refuses_a_pair():
    for tokenizer in (ToyTokenizer(), metaspace()):  # its template has no second text
        with pytest.raises(HeadworkError, match="reads one text"):
            tokenizer.pair("a", "b")


def test_a_typed_separator_does_not_survive_a_cut_in_place_of_text(wordpiece):
    tokens = wordpiece.encode("a b c d [SEP] [SEP]", limit=5)
    assert tokens.pieces == ("[CLS]", "a", "b", "c", "[SEP]")
    assert tokens.n_cut == 3


def test_byte_level_labels_are_readable():
    tokens = byte_level().encode("the cat 猫\n<mask>", limit=512)
    assert tokens.labels == ("<s>", "the", "▁cat", "▁", "<0xE7>", "<0x8C>", "<0xAB>", "<mask>", "</s>")
    assert tokens.spans[2] == (4, 7)  # without the space
    assert set(tokens.spans[4:7]) == {(8, 9)}
    assert tokens.words == ("the", "cat", "猫", "<mask>")
    assert tokens.is_special == (True, *[False] * 7, True)


def test_sentencepiece_words_are_pieces_in_chinese_and_between_spaces_in_english():
    tokens = metaspace().encode("小明把苹果 the cats", limit=512)
    assert tokens.labels == ("<s>", "▁", "小明", "把", "苹果", "▁the", "▁cat", "s", "</s>")
    assert tokens.words == ("小明", "把", "苹果", "the", "cats")
    assert tokens.word_ids == (None, 0, 0, 1, 2, 3, 4, 4, None)
    assert tokens.spans[1] == (0, 0)  # the mark before the first word stands for no character


# The toy


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("猫 吃 鱼", ("猫", "吃", "鱼")),
        ("猫吃鱼", ("猫", "吃", "鱼")),
        ("小猫 吃 鱼。", ("小猫", "吃", "鱼", "。")),
        ("小猫吃鱼。", ("小", "猫", "吃", "鱼", "。")),
        ("床前明月光 疑是地上霜", tuple("床前明月光疑是地上霜")),
        ("我爱 Python 和你", ("我", "爱", "Python", "和", "你")),
        ("ひらがな", ("ひ", "ら", "が", "な")),
        ("한국어 좋아요", ("한국어", "좋아요")),
        ("हिन्दी है", ("हिन्दी", "है")),
        ("The cat doesn't sit-up.", ("The", "cat", "doesn't", "sit", "-", "up", ".")),
        ("'quoted'", ("'", "quoted", "'")),
        ("<s>$x$", ("<", "s", ">", "$", "x", "$")),
        (f"{FAMILY}👍🏽🇨🇳🇩🇪❤️1️⃣", (FAMILY, "👍🏽", "🇨🇳", "🇩🇪", "❤️", "1️⃣")),
        ("cafe\u0301s", ("cafe\u0301s",)),
        ("the [MASK] sat [SEP]", ("the", "[MASK]", "sat", "[", "SEP", "]")),
        ("שלום \u202eabc", ("שלום", "abc")),
        ("3.14", ("3", ".", "14")),
    ],
)
def test_the_toy_splits_words_marks_and_chinese_characters(text, words):
    tokens = ToyTokenizer().encode(text, limit=512)
    assert tokens.words == tokens.pieces == words
    assert not any(tokens.is_special) and tokens.n_unknown == 0


def test_toy_ids_are_stable_numbers_of_the_word():
    tokens = ToyTokenizer().encode("the cat the Cat", limit=512)
    assert tokens.ids[0] == tokens.ids[2]
    assert len(set(tokens.ids)) == 3
    assert all(0 < id_ < 2**63 for id_ in tokens.ids)
    assert word_id("cat") == 1843079001574132759  # the same on every computer and in every process
    assert word_id("café") == word_id("cafe\u0301")


def test_toy_padding_is_its_only_special_token():
    tokens = ToyTokenizer().encode("猫吃鱼", limit=512, pad_to=5)
    assert tokens.labels == ("猫", "吃", "鱼", "[PAD]", "[PAD]")
    assert tokens.ids[3:] == (0, 0)
    assert tokens.is_special == tokens.is_padding == (False, False, False, True, True)


# Cutting, padding, refusing


def test_cutting_keeps_the_special_tokens_and_counts_what_went(wordpiece):
    text = "one two three four five six"
    full, cut = wordpiece.encode(text, limit=512), wordpiece.encode(text, limit=5)
    assert cut.pieces == ("[CLS]", "one", "two", "three", "[SEP]")
    assert cut.n_cut == len(full) - len(cut) == 3
    assert cut.words == ("one", "two", "three")
    assert wordpiece.encode(text, limit=8).n_cut == 0  # exactly as long as the limit


def test_padding_adds_the_models_own_token(wordpiece):
    tokens = wordpiece.encode("one two", limit=512, pad_to=6)
    assert tokens.pieces == ("[CLS]", "one", "two", "[SEP]", "[PAD]", "[PAD]")
    assert tokens.ids[4:] == (0, 0) and tokens.spans[4:] == ((0, 0), (0, 0))
    assert tokens.is_padding == (False,) * 4 + (True,) * 2
    assert tokens.is_special == (True, False, False, True, True, True)
    assert wordpiece.encode("one two", limit=512, pad_to=4).is_padding == (False,) * 4
    assert byte_level().encode("the", limit=9, pad_to=4).pieces == ("<s>", "the", "</s>", "<pad>")


@pytest.mark.parametrize(("pad_to", "numbers"), [(3, ("3", "4")), (513, ("513", "512"))])
def test_impossible_padding_says_both_numbers(wordpiece, pad_to, numbers):
    with pytest.raises(HeadworkError) as caught:
        wordpiece.encode("one two", limit=512, pad_to=pad_to)
    assert all(number in str(caught.value) for number in numbers)


def test_a_model_without_padding_token_says_so():
    backend = tokenizers.Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = FastTokenizer(backend)
    assert tokenizer.encode("a b", limit=9, pad_to=2).n_unknown == 1
    with pytest.raises(HeadworkError, match="no padding token"):
        tokenizer.encode("a", limit=9, pad_to=3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", " ", " \t\n\u3000\u00a0", "\0\x07", "\x1b"])
def test_no_text_is_said_to_be_none(every_tokenizer, kind, text):
    with pytest.raises(HeadworkError) as caught:
        every_tokenizer[kind].encode(text, limit=512)
    assert str(caught.value) == "There is no text to look at. Type a sentence."


def test_text_that_only_the_tokenizer_drops_is_none_too(wordpiece):
    for tokenizer in (wordpiece, ToyTokenizer()):
        with pytest.raises(HeadworkError, match="There is no text"):
            tokenizer.encode("\u200d\u200e", limit=512)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", ["word ", "猫", "a", FAMILY, "[SEP]"])
def test_a_pasted_book_is_cut_visibly_and_quickly(every_tokenizer, kind, unit):
    text = (unit * 30_000)[: MAX_CHARACTERS + 5_000]
    started = time.process_time()
    tokens = every_tokenizer[kind].encode(text, limit=512)
    assert time.process_time() - started < 2  # 0.03 s on the machine where it was written
    assert_in_step(tokens)
    assert tokens.n_cut_characters == 5_000
    assert len(tokens) <= 512 and len(tokens) + tokens.n_cut >= 1


def test_clean_text_keeps_everything_but_control_characters_and_half_surrogates():
    assert clean_text("a\x00b\tc\nd\x7f\x9f e\u200d\u202e猫") == ("ab\tc\nd e\u200d\u202e猫", 0)
    assert clean_text("\ud83d\ude00 \ud800") == ("😀 \ufffd", 0)
    assert clean_text("x" * (MAX_CHARACTERS + 7)) == ("x" * MAX_CHARACTERS, 7)


# Folders


def save(folder, tokenizer, settings=None):
    tokenizer.backend.save(str(folder / "tokenizer.json"))
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def test_a_saved_limit_and_padding_do_not_apply(tmp_path):
    tokenizer = byte_level()
    tokenizer.backend.enable_truncation(3)
    tokenizer.backend.enable_padding(length=9, pad_id=1, pad_token="<pad>")
    assert len(load_tokenizer(save(tmp_path, tokenizer)).encode("the cat sat", limit=512)) == 5


def test_tokenizer_config_overrules_the_case_as_in_transformers(minilm_folder, tmp_path):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "tokenizer.json").write_bytes((minilm_folder / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": False})
    )
    ours = load_tokenizer(tmp_path).encode("The cat", limit=512)
    assert list(ours.ids) == transformers.AutoTokenizer.from_pretrained(str(tmp_path))("The cat")["input_ids"]
    assert "the" not in ours.pieces


def test_a_vocabulary_alone_is_enough(minilm_folder, tmp_path, wordpiece):
    pytest.importorskip("transformers")
    for name in ("vocab.txt", "config.json"):
        (tmp_path / name).write_bytes((minilm_folder / name).read_bytes())
    tokenizer = load_tokenizer(tmp_path)
    for text in ("The catnaps! 猫 [MASK]", "café [SEP]"):
        assert tokenizer.encode(text, limit=512, pad_to=20) == wordpiece.encode(text, limit=512, pad_to=20)


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", '{"model": 5}'])
def test_a_broken_tokenizer_file_is_told(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(HeadworkError, match=r"tokenizer\.json can't be read"):
        load_tokenizer(tmp_path)


def test_a_folder_without_tokenizer_is_told(tmp_path):
    with pytest.raises(HeadworkError, match=r"no tokenizer \(tokenizer\.json or vocab\.txt\)"):
        load_tokenizer(tmp_path)


def test_a_tokenizer_with_code_of_its_own_is_refused(tmp_path):
    pytest.importorskip("transformers")
    (tmp_path / "vocab.json").write_text("{}")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"auto_map": {"AutoTokenizer": ["evil.T", None]}}))
    with pytest.raises(HeadworkError, match="No tokenizer could be made"):
        load_tokenizer(tmp_path)
    assert not (tmp_path / "ran").exists()
