"""A decoder on the Attention page: the next token, how surprised it was, and writing on token by token."""

import numpy as np
import pytest

from model import generate
from model.weights.smollm2 import smollm2_path
from tests.models import load
from tests.pages.conftest import App
from tests.pages.test_explorer import component
from ui.attention import writer

pytestmark = pytest.mark.skipif(smollm2_path() is None, reason="the package of SmolLM2-135M isn't installed")
SMOLLM2 = "smollm2-135m"
MARY = "When Mary and John went to the store, John gave a drink to"


@pytest.fixture
def decoder(app):
    def opened(text=MARY, **link):
        return app.open(model=SMOLLM2, text=text, **link)

    return opened


def rows(app):
    return component(app, "next_tokens")["rows"]


def labels(app):
    return component(app, "strip")["tokens"]["labels"]


def click(app, key):
    app.test.get_by_key(key).click()
    return app.run()


def disabled(app, key):
    return app.test.get_by_key(key).disabled


# -- the next token --------------------------------------------------------------------------------------------------


def test_mary_gets_the_drink(decoder):
    app = decoder()
    (mary, p), *others = rows(app)[-1]["next"]
    assert mary == "▁Mary" and p == pytest.approx(0.923, abs=0.002)
    assert len(others) == 4 and all(0 < other < 0.05 for _label, other in others)
    assert rows(app)[-1]["came"] is None


def test_every_token_says_how_surprised_the_model_was(decoder):
    app = decoder()
    trace = load(SMOLLM2).trace(MARY)
    surprise = trace.surprise()
    assert rows(app)[0]["surprise"] is None
    assert [row["surprise"] for row in rows(app)[1:]] == pytest.approx(surprise[1:].tolist(), abs=0.006)
    bars = component(app, "strip")["tokens"]["surprise"]
    assert bars[0] is None and bars[1:] == pytest.approx((surprise[1:] / np.log(49152)).tolist(), abs=0.001)


def test_the_token_that_came_is_marked_among_the_candidates_or_beside_them(decoder):
    app = decoder("The cat sat on the photosynthesis")
    trace = load(SMOLLM2).trace("The cat sat on the photosynthesis")
    seen = set()
    for position, row in enumerate(rows(app)[:-1]):
        label, p, rank = row["came"]
        assert label == trace.tokens[position + 1]
        assert p == pytest.approx(np.exp(-trace.surprise()[position + 1]), abs=1e-3)
        if rank is not None and rank <= len(row["next"]):
            assert row["next"][rank - 1][0] == label
        seen.add(rank is None)
    assert seen == {True, False}


def test_by_words_the_last_token_of_a_word_predicts_and_surprises_add_up(decoder):
    text = "Photosynthesis feeds plants"
    app = decoder(text)
    tokens, words = rows(app), rows(app.pick("level", "words"))
    n = len(tokens) - 2
    assert [row["label"] for row in words][-2:] == [row["label"].strip("▁") for row in tokens][-2:] and n > 1
    assert words[0]["surprise"] is None and words[0]["next"] == tokens[n - 1]["next"]


def test_an_encoder_predicts_nothing(app):
    app.open()
    assert not any(part.proto.id.endswith("next_tokens") for part in app.test.get("bidi_component"))
    assert component(app, "strip")["tokens"]["surprise"] == []
    with pytest.raises(KeyError):
        app.test.get_by_key("write_on")


def test_who_has_seen_the_answer_does_not_predict_it(decoder):
    seen = "the model has read the answer"
    assert seen not in decoder().words
    app = App().open(model=SMOLLM2, text=MARY, mask="bidirectional")
    assert seen in app.words and disabled(app, "write_on")
    assert "would change the rows before it" in app.test.get_by_key("write_on").help


# -- writing on ------------------------------------------------------------------------------------------------------


def test_each_step_adds_a_row_and_leaves_the_others_as_they_are(decoder):
    app = click(decoder(), "write_on")
    before, text = app.head_map(), labels(app)
    assert text[-1] == "▁Mary" and component(app, "strip")["pinned"] == len(text) - 1
    click(app, "write_step")
    after = app.head_map()
    n = len(before)
    assert after.shape == (n + 1, n + 1)
    assert np.array_equal(after[:n, :n], before, equal_nan=True)  # bit by bit
    assert f"2 tokens written; the last step computed row {n + 1} alone." in app.words
    assert component(app, "strip")["tokens"]["written"] == [0] * (n - 1) + [1, 1]


def test_ten_tokens_are_those_of_the_model(decoder):
    app = click(click(decoder(), "write_on"), "write_run")
    made = generate(load(SMOLLM2), MARY, 11)
    assert labels(app) == list(made.tokens.labels)
    assert app.link["write"] == "11"
    assert f"30 layers × 3 key heads × {len(made.tokens)} tokens × 64 numbers = {made.cache.nbytes / 1e6:.2f} MB" in (
        app.words
    )
    assert rows(app)[-1]["next"][0][1] == pytest.approx(made.trace().next(1)[0].probability, abs=1e-3)


def test_a_step_back_and_forth(decoder):
    app = click(click(decoder(), "write_on"), "write_step")
    there = labels(app)
    click(app, "write_back")
    assert labels(app) == there[:-1] and app.link["write"] == "1"
    click(app, "write_back")
    assert labels(app) == there[:-2] and "write" not in app.link and disabled(app, "write_back")
    click(click(app, "write_step"), "write_step")
    assert labels(app) == there


def test_a_link_restores_text_and_settings(decoder):
    app = decoder(write="6", temperature="1.5", write_seed="3")
    made = generate(load(SMOLLM2), MARY, 6, temperature=1.5, seed=3)
    assert labels(app) == list(made.tokens.labels) != list(generate(load(SMOLLM2), MARY, 6).tokens.labels)
    assert (app.value("write_temperature"), app.value("write_seed")) == (1.5, 3)
    assert (app.link["write"], app.link["temperature"], app.link["write_seed"]) == ("6", "1.5", "3")


def test_another_setting_or_sentence_begins_anew(decoder):
    app = decoder(write="3").pick("write_temperature", 0.5)
    assert labels(app) == list(load(SMOLLM2).trace(MARY).tokens) and "write" not in app.link
    click(app, "write_step")
    assert app.link["write"] == "1"
    app.pick("text", "Once upon a")
    assert labels(app) == ["Once", "▁upon", "▁a"] and "write" not in app.link


def test_what_was_written_becomes_the_sentence(decoder):
    app = click(decoder(write="2"), "write_take")
    text = generate(load(SMOLLM2), MARY, 2).tokens.text
    assert app.value("text") == text and app.link["text"] == text and "write" not in app.link
    assert component(app, "strip")["tokens"]["written"] == [0] * len(labels(app))


def test_files_say_what_the_model_wrote(decoder):
    app = decoder(write="2", temperature="0.5", view="take")
    assert "written 2 tokens by the model, temperature 0.5, seed 0" in app.words
    assert "written 2 tokens" not in click(click(app, "write_back"), "write_back").words


def test_a_reading_that_runs_the_model_again_is_refused_where_the_text_would_be_read_otherwise(decoder):
    app = decoder(write="6", temperature="5", write_seed="6", reading="norm")
    made = generate(load(SMOLLM2), MARY, 6, temperature=5.0, seed=6)
    assert load(SMOLLM2).tokens(made.tokens.text).ids != made.tokens.ids  # drawn tokens that no reader would choose
    assert "has other tokens when it is read again" in app.errors[0]
    assert not app.pick("reading", "raw").errors and app.link["write"] == "6"


def test_two_people_write_on_the_same_prompt(decoder):
    click(click(decoder(), "write_on"), "write_run")
    other = App().open(model=SMOLLM2, text=MARY)
    click(other, "write_on")
    click(other, "write_step")
    assert labels(other) == list(generate(load(SMOLLM2), MARY, 2).tokens.labels)


def test_the_end_of_the_text_ends_it_with_a_word(decoder):
    asked = "<|im_start|>user\nSay only: yes<|im_end|>\n<|im_start|>assistant\n"
    app = decoder(asked, write="40")
    assert "The model ended the text with <|im_end|>." in app.words
    assert disabled(app, "write_step") and disabled(app, "write_run") and not disabled(app, "write_back")
    assert int(app.link["write"]) < 40


def test_it_stops_where_the_text_is_full(decoder, monkeypatch):
    n = len(load(SMOLLM2).trace(MARY).tokens)
    monkeypatch.setattr(writer, "MOST_TOKENS", n + 2)
    writer.forget()
    app = click(click(decoder(), "write_on"), "write_run")
    assert f"Writing on stops here: the text has {n + 2} tokens." in app.words
    assert disabled(app, "write_step") and app.link["write"] == "2"
    monkeypatch.setattr(writer, "MOST_TOKENS", n)
    app = App().open(model=SMOLLM2, text=MARY)
    assert disabled(app, "write_on")
    assert f"The sentence has {n} tokens, and writing on stops at {n}." in app.test.get_by_key("write_on").help
    writer.forget()


# -- odd input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"temperature": "nan"}, "The link asks for the temperature nan; here it is 0 to 5."),
        ({"temperature": "-1"}, "The link asks for the temperature -1; here it is 0 to 5."),
        ({"temperature": "inf"}, "The link asks for the temperature inf; here it is 0 to 5."),
        ({"temperature": "hot"}, "The link asks for the temperature hot; here it is 0 to 5."),
        ({"temperature": "1e9"}, "The link asks for the temperature 1e9; here it is 0 to 5."),
        ({"write_seed": "-3"}, "The seed is -1: it must be a whole number"),
        ({"write": "9999"}, "The link asks for 9999 tokens to be written; here it is 0 to 256."),
    ],
)
def test_an_impossible_link_is_told_in_a_sentence_and_nothing_is_lost(decoder, link, said):
    app = decoder(**link)
    assert said in app.words and not app.errors
    assert labels(app) == list(load(SMOLLM2).trace(MARY).tokens) and not set(link) & set(app.link)
    assert said not in click(app, "write_on").words


def test_an_end_of_text_that_a_person_types_is_a_token(decoder):
    app = decoder("Hello<|endoftext|> there")
    assert labels(app)[1] == "<|endoftext|>" and component(app, "strip")["tokens"]["special"][1]
    assert len(labels(click(app, "write_on"))) == 4


def test_no_prompt_is_told(decoder):
    (error,) = decoder("   ").errors
    assert error == "There is no text to look at. Type a sentence."


# -- grouped queries -------------------------------------------------------------------------------------------------


def test_the_overview_groups_heads_that_share_keys(app, decoder):
    assert component(decoder(), "overview")["group"] == 3  # 9 query heads over 3 key heads
    assert component(App().open(), "overview")["group"] == 1
