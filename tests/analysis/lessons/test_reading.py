"""Lesson files: what they may say, and each mistake with its line."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from analysis.lessons import LessonError, Words, read_lesson
from analysis.lessons.marked import MOST_BYTES
from analysis.lessons.marked import read as read_tree

LESSON = """\
id: small
title: {en: A small one, zh: 小课}
minutes: 3
steps:
  - id: look
    context: {en: A sentence., zh: 一句话。}
    question: {en: "Where does “{query}” look?", zh: "“{query}”看哪里？"}
    setup: {model: minilm, text: The cat sat.}
    predict: token
    answer: {of: most_attended, layer: 1, head: 2, query: cat}
    why: {en: "{weight}.", zh: "{weight}。"}
self_test:
  - question: {en: "Why?", zh: 为什么？}
    choices:
      - {id: a, text: {en: So, zh: 所以}, right: true, why: {en: "Yes.", zh: 对。}}
      - {id: b, text: {en: But, zh: 但是}, why: {en: "That is another thing.", zh: 那是另一回事。}}
"""


def lesson(text=LESSON):
    return read_lesson(text.encode(), "small.yaml")


def mistake(text):
    with pytest.raises(LessonError) as caught:
        lesson(text)
    return caught.value


def test_a_lesson_is_read_as_it_stands():
    found = lesson()
    (step,) = found.steps
    assert (found.id, found.minutes, found.source) == ("small", 3, "small.yaml")
    assert step.setup.text == Words("The cat sat.", "The cat sat.")
    assert step.answer.in_language("zh") == {"layer": 1, "head": 2, "query": "cat"}
    assert [option.right for option in found.self_test[0].choices] == [True, False]


def test_json_says_the_same_even_with_tabs_and_halves_of_characters():
    value = yaml.safe_load(LESSON)
    value["title"]["en"] = "A 🐈 one"
    for text in (json.dumps(value), json.dumps(value, indent="\t"), json.dumps(value, separators=(",", ":"))):
        assert read_lesson(text.encode(), "small.yaml").title.en == "A 🐈 one"
        assert read_lesson(text.encode(), "small.yaml").steps[0].answer == lesson().steps[0].answer


MISTAKES = [
    # what is replaced, by what, the line, what the sentence names
    ("minutes: 3\n", "minutes: 3\nteacher: me\n", 4, "teacher"),
    ("minutes: 3\n", "", 1, "minutes"),
    ("minutes: 3", "minutes: no", 3, "minutes"),
    ("id: small", "id: Größe", 1, "id"),
    ("{en: A small one, zh: 小课}", "{en: A small one}", 2, "both languages"),
    ("{en: A small one, zh: 小课}", "{en: A small, one, zh: 小课}", 2, "comma"),
    ("{en: A small one, zh: 小课}", "{en: 'A {small} one', zh: 小课}", 2, "{small}"),
    ("{en: A small one, zh: 小课}", "{en: 'A {small} one', zh: '{small}小课'}", 2, "{small}, which no answer fills"),
    ("en: But, zh: 但是", "en: 'But {weight}', zh: '但是{weight}'", 16, "{weight}, which no answer fills"),
    ("model: minilm", "model: gpt-9", 8, "gpt-9"),
    ("model: minilm", "model: /etc", 8, "/etc"),
    ("model: minilm", "model: toy:heads=900", 8, "toy:heads=900"),
    ("text: The cat sat.}", "text: The cat sat., mask: sideways}", 8, "sideways"),
    (", text: The cat sat.}", "}\n    own_text: true", 9, "typed only where"),
    ("model: minilm, ", "", 8, "model"),
    ("predict: token", "predict: fate", 9, "predict"),
    ("predict: token", "predict: choice", 9, "options"),
    ("of: most_attended", "of: oracle", 10, "oracle"),
    ("layer: 1,", "layer: 7,", 10, "minilm has no layer 7"),
    ("head: 2,", "head: 13,", 10, "minilm has no head 13"),
    ("head: 2,", "", 10, "head"),
    ("head: 2,", "head: two,", 10, "such as 4"),
    ("head: 2,", "head: 2, colour: red,", 10, "colour"),
    ("right: true, ", "", 14, "exactly one"),
    ("id: b, text", "id: a, text", 16, "the id a"),
    ("minutes: 3", "minutes: 3\nminutes: 4", 4, "twice"),
    ("The cat sat.}", "The cat sat.}\n    own_text: maybe", 9, "true or false"),
    ("A sentence.", "x" * 601, 6, "601"),
    ("A sentence.", "\u202eevil", 6, "U+202E"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "names"), MISTAKES)
def test_each_mistake_is_a_sentence_with_its_line(old, new, line, names):
    assert old in LESSON
    error = mistake(LESSON.replace(old, new, 1))
    assert str(error).startswith(f"small.yaml, line {line}: ")
    assert names in str(error)


def test_anchors_aliases_tags_and_second_documents_are_refused():
    for line in ("&a {en: x, zh: y}", "*a", "!!python/object:os.system {en: x, zh: y}", "!!str x"):
        assert mistake(LESSON.replace("{en: A small one, zh: 小课}", line)).line == 2
    assert "second document" in str(mistake(LESSON + "---\nid: other\n"))
    assert "%" in str(mistake("%YAML 1.1\n---\n" + LESSON))


def test_a_billion_laughs_is_refused_at_the_first_anchor():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    assert mistake("\n".join(lines)).line == 1


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_where_it_begins(opening):
    error = mistake(opening * 20_000)  # libyaml has a limit of its own, which says "nesting"
    assert "nest" in str(error) and error.line == 1


def test_files_of_another_encoding_size_or_kind_are_refused():
    def said(raw):
        with pytest.raises(LessonError) as caught:
            read_lesson(raw, "x.yaml")
        return str(caught.value)

    assert "UTF-8" in said(LESSON.encode("gb18030"))
    assert "UTF-8" in said(LESSON.encode("utf-16"))
    assert "256" in said(b"#" * (MOST_BYTES + 1))
    assert "U+0000" in said(b"id: \0")
    assert said(b"").startswith("x.yaml, line 1: “lesson” is a map")
    assert said(b"\xff") == "x.yaml, line 1: this is not UTF-8. Save the file as UTF-8."


def test_a_byte_order_mark_and_windows_line_ends_are_taken():
    assert read_lesson(b"\xef\xbb\xbf" + LESSON.replace("\n", "\r\n").encode(), "small.yaml") == lesson()


def test_unquoted_words_mean_what_json_would_have_them_mean():
    tree = read_tree(b"[no, 1:30, 012, 2026-01-01, 1_000, .5, -3, true, ~, 1e3, e]", "x")
    assert [node.value for node in tree.value] == [
        "no",
        "1:30",
        "012",
        "2026-01-01",
        "1_000",
        0.5,
        -3,
        True,
        None,
        1e3,
        "e",
    ]


@given(st.binary(max_size=300))
def test_no_bytes_bring_anything_but_a_lesson_error(raw):
    with pytest.raises(LessonError):
        read_lesson(raw, "x.yaml")


@given(st.text(alphabet="{}[]:,-?&*!|>'\"%@`#~ \n\tab1", max_size=120), st.integers(0, len(LESSON)))
def test_what_is_typed_into_a_lesson_by_mistake_brings_nothing_but_a_lesson_error(typed, at):
    try:
        lesson(LESSON[:at] + typed + LESSON[at:])
    except LessonError as error:
        assert 1 <= error.line <= (LESSON + typed).count("\n") + 2


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(("id", "title", "minutes", "steps", "en", "zh", "setup", "answer", "of", "options")),
                inner,
            )
        ),
    )
)
def test_no_tree_of_values_brings_anything_but_a_lesson_error(value):
    for key in (None, *yaml.safe_load(LESSON)):
        whole = value if key is None else {**yaml.safe_load(LESSON), key: value}
        try:
            read_lesson(json.dumps(whole).encode(), "x.json")
        except LessonError:
            continue
        assert key is not None
