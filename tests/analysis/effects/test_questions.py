"""Questions: read from text and JSON, refused with a sentence, and put into a model's tokens."""

import json
import time
from pathlib import Path

import pytest
import tokenizers

from analysis.effects.questions import (
    Question,
    SeveralTokens,
    encode_question,
    encode_questions,
    first_difference,
)
from analysis.effects.reading import MOST_LINE, MOST_QUESTIONS, parse_questions, read_questions
from model import HeadworkError
from model.tokenizers.tokenizer_json import FastTokenizer
from tests.models import load, tiny_decoder


@pytest.fixture(scope="module")
def smollm2():
    return load("smollm2-135m")


def test_lines_of_text_and_of_json_are_the_same_question():
    text = "When Mary and John left, John called | Mary | John"
    asked = {"prompt": "When Mary and John left, John called", "right": " Mary", "wrong": " John"}
    found = parse_questions(f"\n{text}\n\n{json.dumps(asked)}\n")
    assert found.questions == (Question(**asked), Question(**asked)) and found.lines == (2, 4)
    assert found.problems == () and found.n_left_out == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no parts", "It has 1 of three parts"),
        ("a | b", "It has 2 of three parts"),
        ("a | b | c | d", "It has 4 of three parts"),
        (" | b | c", "There is no prompt"),
        ("a | | c", "The right answer is missing"),
        ("a | b | ", "The wrong answer is missing"),
        ("a | b | b", "Both answers are ' b'"),
        ('{"prompt": "a ", "right": " b", "wrong": " c"}', "ends in a space"),
        ('{"prompt": "a", "right": " b"}', "The wrong answer is missing"),
        ('{"prompt": "a", "right": 3, "wrong": " c"}', "are texts in quotes"),
        ('{"prompt": "a", ', "It is no JSON"),
        ("{" * 5000, "It is no JSON"),
        ("x" * (MOST_LINE + 1), "more than 20000 characters"),
    ],
)
def test_a_line_that_is_no_question_says_why_and_the_others_are_taken(line, said):
    found = parse_questions(["a | b | c", line, "d | e | f"])
    assert [each.prompt for each in found.questions] == ["a", "d"]
    assert [each.line for each in found.problems] == [2]
    assert said in str(found.problems[0]) and len(str(found.problems[0])) < 300


def test_half_a_character_in_json_becomes_the_sign_for_what_cant_be_read_and_a_whole_one_stays():
    (question,) = parse_questions(r'{"prompt": "\ud800 x \ud83d\ude42", "right": "\udfff", "wrong": " b"}').questions
    assert (question.prompt, question.right) == ("\ufffd x \U0001f642", "\ufffd")


def test_two_thousand_prompts_are_bounded_and_said(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("".join(f"prompt {i} | a | b\n" for i in range(2000)))
    found = read_questions(path)
    assert len(found.questions) == MOST_QUESTIONS and found.n_left_out == 2000 - MOST_QUESTIONS
    assert found.questions[-1].prompt == f"prompt {MOST_QUESTIONS - 1}"


def test_reading_takes_time_that_grows_with_the_file_alone(tmp_path):
    """Ten times the lines in at most thirty times the time; and a line without an end is cut, not kept."""
    seconds = []
    for n in (20_000, 200_000):
        path = tmp_path / f"{n}.txt"
        path.write_bytes(b"broken\n" * n + b"x" * 5_000_000)
        start = time.thread_time()
        with pytest.raises(HeadworkError, match=r"holds no question\. line 1: It has 1 of three parts"):
            read_questions(path)
        seconds.append(time.thread_time() - start)
    assert seconds[1] < 30 * seconds[0]


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "it is empty"), (b"\n \n", "it is empty"), (b"\xff\xfe\n", "line 1: It has 1 of three")]
)
def test_a_file_without_a_question_gets_a_sentence(content, said, tmp_path):
    path = tmp_path / "q.txt"
    path.write_bytes(content)
    with pytest.raises(HeadworkError, match=said):
        read_questions(path)
    with pytest.raises(HeadworkError, match=r"missing\.txt can't be read"):
        read_questions(tmp_path / "missing.txt")


def test_a_file_without_an_end_is_refused():
    with pytest.raises(HeadworkError, match="zero has more than 20 MB"):
        read_questions(Path("/dev/zero"))


def test_a_line_of_megabytes_is_one_problem(tmp_path):
    path = tmp_path / "q.txt"
    path.write_bytes(b"a | b | c\n" + b"x" * 3_000_000 + b"\nd | e | f")
    found = read_questions(path)
    assert [each.prompt for each in found.questions] == ["a", "d"] and [each.line for each in found.problems] == [2]
    assert "more than 20000 characters" in str(found.problems[0]) and found.lines == (1, 3)


def test_a_question_in_tokens(smollm2):
    asked = encode_question(smollm2, Question("When Mary and John left, John called", " Mary", " John"))
    text_of = smollm2.tokenizer.text_of
    assert (text_of([asked.right_id]), text_of([asked.wrong_id])) == (" Mary", " John")
    assert [asked.labels[i] for i in asked.places] == ["▁Mary"] and len(asked.ids) == len(asked.labels)


@pytest.mark.parametrize(
    ("prompt", "cue", "labels"),
    [
        ("Mary saw that Mary called", "", ["Mary", "▁Mary"]),  # both places, also without a space before
        ("Maryland is where Marys called", "", []),  # a part of a word is another word
        ("The keys to the cabinet", "keys", ["▁keys"]),
        ("The teacher from Liechtenstein", "Liechtenstein", ["stein"]),  # of several tokens, the last
    ],
)
def test_where_the_word_stands_in_the_prompt(smollm2, prompt, cue, labels):
    asked = encode_question(smollm2, Question(prompt, " Mary", " John", cue))
    assert [asked.labels[i] for i in asked.places] == labels


def test_an_answer_of_several_tokens_is_named_and_the_first_that_differ_are_offered(smollm2):
    question = Question("The capital of Argentina is", " Buenos Aires", " Paris")
    with pytest.raises(
        SeveralTokens, match=r"' Buenos Aires' is 2 tokens .*▁Buenos · ▁Aires.* ' Buenos' and ' Paris'"
    ) as e:
        encode_question(smollm2, question)
    assert e.value.offer == Question("The capital of Argentina is", " Buenos", " Paris", cue="Buenos Aires")
    assert encode_question(smollm2, e.value.offer).right_id != 0


def test_what_the_answers_share_goes_to_the_prompt(smollm2):
    offer = first_difference(smollm2, Question("The book was", " New York", " New Delhi"))
    assert (offer.prompt, offer.right, offer.wrong) == ("The book was New", " York", " Delhi")


def test_an_answer_is_read_as_it_is_after_the_prompt():
    """Llama 2 and Mistral put a space before every text: an answer by itself would have two."""
    model = tiny_decoder()
    pieces = ["<unk>", "▁", "t", "o", "▁to", "M", "J", "▁M", "▁J"]
    merges = [("▁", "M"), ("▁", "J"), ("t", "o")]
    bpe = tokenizers.models.BPE({piece: i for i, piece in enumerate([*pieces, "to"])}, merges, unk_token="<unk>")
    backend = tokenizers.Tokenizer(bpe)
    prepend, replace = tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")
    backend.normalizer = tokenizers.normalizers.Sequence([prepend, replace])
    model.tokenizer = FastTokenizer(backend, {"unk_token": "<unk>"})
    assert len(model.tokens(" M").ids) == 2
    asked = encode_question(model, Question("M to", " M", " J"))
    assert [pieces[asked.right_id], pieces[asked.wrong_id]] == ["▁M", "▁J"]


def test_one_answer_inside_the_other_has_nothing_to_offer(smollm2):
    with pytest.raises(SeveralTokens, match="Choose another word") as error:
        encode_question(smollm2, Question("I live in", " New York", " New"))
    assert error.value.offer is None


def test_questions_that_cant_be_asked_are_told_by_number(smollm2):
    questions = [
        Question("The capital of France is", " Paris", " Rome"),
        Question("The capital of Argentina is", " Buenos Aires", " Paris"),
        Question("word " * 600 + "word", " Paris", " Rome"),
    ]
    asked, problems = encode_questions(smollm2, questions)
    assert len(asked) == 1 and [each.line for each in problems] == [2, 3]
    assert "has more than 512 tokens, so its end would be cut off" in str(problems[1])
    assert len(encode_questions(smollm2, questions, shorten=True)[0]) == 2


def test_answers_that_a_model_reads_alike_are_equal():
    """Bytes that make no character become the same token."""
    model = tiny_decoder()
    with pytest.raises(HeadworkError, match="Both answers are"):
        encode_question(model, Question("a", "b", "b"))


@pytest.mark.parametrize(
    ("question", "changed"),
    [
        (Question("When Ann and Bob left, Bob called", " Ann", " Bob"), "When Bob and Ann left, Ann called"),
        (Question("Ann met Bob. (Bob's dog saw", " Ann", " Bob"), "Bob met Ann. (Ann's dog saw"),
        (Question("Anne met Bob, and Bob saw", " Ann", " Bob"), None),
        (Question("The key", " is", " are"), None),
        (Question("The key", " is", " are", other="The keys"), "The keys"),
    ],
)
def test_the_changed_prompt(question, changed):
    assert question.changed == changed
