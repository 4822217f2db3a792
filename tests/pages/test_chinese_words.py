"""Chinese by words on the pages: whose words they are, pronouns without a row of their own, and what files say."""

import sys

import numpy as np
import pytest

from analysis import by_words
from analysis.words import chinese
from model import HeadworkError
from tests.models import load

E5 = "e5-small-4bit"
TEXT = "小明把苹果递给了小红，因为她帮过他。"
SWAPPED = "小红把苹果递给了小明，因为他帮过她。"
HEAD = (7, 0)


@pytest.fixture(scope="module")
def e5():
    try:
        return load(E5)
    except HeadworkError as error:
        pytest.skip(str(error))


def labels(app):
    return app.figures()[0]["layout"]["xaxis"]["ticktext"]


def button(app):
    return [each for each in app.test.button if each.key == "part_pronouns"]


def test_words_of_the_course_sentence_by_jieba(app, e5):
    app.open(text=TEXT, model=E5, layer="8", head="1", level="words")
    expected = by_words(e5.trace(TEXT))
    assert " ".join(labels(app)[1:-1]) == "小明 把 苹果 递给了 小红 ， 因为 她 帮过 他 。"
    np.testing.assert_allclose(app.head_map(), expected.attention[HEAD], atol=1e-6)
    assert app.head_map()[8].argmax() == 5  # 她 looks at 小红
    assert "Chinese words by jieba. One token holds several words: “递给了”." in app.words
    assert not button(app)


@pytest.mark.parametrize(
    ("text", "level", "said"),
    [
        ("小明 把 苹果 递给 了 小红", "words", "Words by your spaces."),
        ("小明 把苹果递给了小红", "words", "Chinese words by your spaces and jieba."),
        ("小明 把苹果递给了小红", "spaces", "Words by your spaces."),
    ],
)
def test_your_own_spaces_are_named(app, text, level, said):
    app.open(text=text, model="toy", level=level)
    assert said in app.words


def test_nothing_is_said_about_english_words_or_pieces(app):
    app.open(text=TEXT, model="toy")
    assert "by jieba" not in app.words
    app.open(text="The cat sat.", level="words")
    assert "by jieba" not in app.words and "your spaces." not in app.words


def test_a_pronoun_without_a_row_is_named_and_one_click_gives_it_one(app, e5):
    app.open(text=SWAPPED, model=E5, level="words")
    assert "“他” has no row of its own: the model reads “因为他” as one token." in app.words
    assert "因为他" in labels(app)
    (write,) = button(app)
    assert write.label.replace("\\", "") == "Write “因为 他”"
    write.click()
    app.run()
    assert app.value("text") == "小红把苹果递给了小明，因为 他帮过她。"
    assert "他" in labels(app) and "因为" in labels(app)
    assert "row of its own" not in app.words and not button(app)


def test_several_pronouns_are_parted_at_once(app, e5):
    app.open(text="他说好，因为他们努力。", model=E5)
    assert "“他”, “他们” have no rows of their own" in app.words
    button(app)[0].click()
    app.run()
    assert app.value("text") == "他 说好，因为 他们努力。"
    assert "rows of their own" not in app.words


def test_the_notice_in_chinese(app, e5):
    app.open(text=SWAPPED, model=E5, lang="zh", level="words")
    assert "“他”没有自己的一行：模型把“因为他”读作一个词元。" in app.words
    assert "中文由 jieba 分词。" in app.words


def test_it_is_said_wherever_a_row_is_asked_for(app, e5):
    app.open(text=SWAPPED, model=E5)
    for page in ("pages/masks.py", "pages/inside.py"):
        app.test.switch_page(page)
        if "inside" in page:
            app.test.query_params["source"] = "model"
        app.run()
        assert "“他” has no row of its own" in app.words, page


def test_the_other_sentence_of_a_comparison_is_told_without_a_button(app, e5):
    app.open(text=TEXT, model=E5, view="compare", differs="sentence", b_text=SWAPPED, level="words")
    assert (
        "“他” has no row of its own: the model reads “因为他” as one token. Written “因为 他”, it has one." in app.words
    )
    assert not button(app)
    assert "A has 13 words and B has 12" in app.errors[0]
    app.pick("b_text", SWAPPED.replace("因为他", "因为 他"))
    assert not app.errors and "row of its own" not in app.words


def test_models_that_read_character_by_character_leave_every_pronoun_its_row(app):
    app.open(text=SWAPPED)
    assert "row of its own" not in app.words


def test_files_say_whose_words_they_hold(app, e5):
    app.open(text=TEXT, model=E5, view="take", level="words")
    assert f"level words, Chinese by jieba (rjieba {chinese.version()})" in app.words
    app.pick("level", "pieces")
    assert "level pieces" in app.words


def test_without_the_segmenter_the_page_says_what_to_do(app, monkeypatch):
    monkeypatch.setitem(sys.modules, chinese.PACKAGE, None)
    app.open(text=TEXT, model="toy", level="words")
    (error,) = app.errors
    assert "pip install rjieba" in error
    app.pick("level", "spaces")
    assert not app.errors


def test_words_of_ones_own_sentence_on_the_heads_page(app):
    app.open(text=TEXT)
    app.test.switch_page("pages/heads.py")
    app.open(view="sentence", source="own", relation="coref-noun")
    options = app.test.get_by_key("heads_asking").options
    assert options[:6] == ["小明 (1)", "把 (2)", "苹果 (3)", "递给 (4)", "了 (5)", "小红 (6)"]
    assert options[app.value("heads_asking")] == "她 (9)"
    assert "Chinese words by jieba." in app.words
