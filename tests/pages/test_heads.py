"""The page of heads: every control, every claim on screen, links, one's own sentence and corpus, broken input."""

import base64
import json

import numpy as np
import pytest

from analysis.evidence.corpora.corpus import read_content
from analysis.evidence.parsing import NoParser, is_there
from analysis.evidence.records import shipped
from model import HeadworkError
from tests.models import load
from ui.frame import links
from ui.heads import corpus as heads_corpus
from ui.heads import data, own


@pytest.fixture
def heads(app):
    """Opens the page with a link."""

    def open_with(**link: str):
        return app.open_page("heads", **link)

    return open_with


def decoded(z):
    return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])


def grid(app, number=0):
    """(coloured cells, grey cells) of a figure of scores; NaN elsewhere."""
    figure = app.figures()[number]
    return decoded(figure["data"][1]["z"]), decoded(figure["data"][0]["z"])


def ranked(app):
    """The rows of the table of heads: name, accuracy, gain."""
    names = [button.label for button in app.test.button if (button.key or "").startswith("heads_pick")]
    cells = [each.value.replace("\\", "") for each in app.test.markdown]
    at = cells.index(next(cell for cell in cells if cell.startswith(":small[points above"))) + 1
    return [(name, *cells[at + 2 * row : at + 2 * row + 2]) for row, name in enumerate(names)]


def test_opens_on_objects_with_the_head_that_follows_them_and_its_baseline(heads):
    app = heads()
    assert ranked(app)[0] == ("◆ 3-1", "75 % [71, 79]", "+37 [32, 42]")
    assert app.words.count("of 596 objects") == 2 and app.words.count("38 %") == 2  # the sentence and the table's head
    assert "Head 3-1 gets 75 % [71, 79] of 596 objects; looking two words back gets 38" in app.words
    assert "+37 [32, 42] points better" in app.words
    assert "MiniLM-L6 (built in) · Real text: EWT + GUM · 869 sentences" in app.words
    assert "no head clearly beats position on: amod" in app.words


def test_cells_that_dont_beat_the_baseline_are_grey_and_only_those(heads):
    coloured, grey = grid(heads())
    table = shipped("ud").table("obj", "dep>head")
    np.testing.assert_array_equal(~np.isnan(coloured), table.beats)
    np.testing.assert_array_equal(np.isnan(grey), table.beats)
    np.testing.assert_allclose(coloured[table.beats], table.accuracy[table.beats], atol=1e-6)


def test_gain_shows_what_is_left_over_the_baseline(heads):
    app = heads().pick("heads_show", "gain")
    coloured, _grey = grid(app)
    table = shipped("ud").table("obj", "dep>head")
    np.testing.assert_allclose(coloured[2, 0], table.accuracy[2, 0] - table.baseline, atol=1e-6)
    assert app.link["show"] == "gain"


def test_coreference_opens_on_gum_where_4_2_finds_nouns_and_names_the_other_corpora(heads):
    app = heads(relation="coref-noun")
    assert app.value("heads_corpus") == "gum" and app.value("heads_at") == "4-2"
    assert "Head 4-2 gets 81 % [74, 88] of 247 pronouns; the nearest subject gets 53 %" in app.words
    assert "Baselines: the nearest mention 25 %" in app.words and "asked from other words" in app.words
    assert "4-2 elsewhere — GAP: 73 % of 300, best 4-2; Headwork's own sentences: 67 % of 131, best 2-4." in app.words
    app.pick("heads_corpus", "own")
    assert app.value("heads_at") == "2-4" and "Head 2-4 gets 88 %" in app.words
    assert "2-4 by cue: " in app.words and "only meaning " in app.words  # where it fails


def test_another_relation_opens_on_its_own_best_head_and_the_link_says_all(heads):
    app = heads().pick("heads_relation", "det").pick("heads_corpus", "own").pick("heads_direction", "head>dep")
    app.pick("heads_at", "2-9")
    link = app.link
    assert (link["relation"], link["corpus"], link["direction"], link["at"]) == ("det", "own", "head>dep", "2-9")
    assert ranked(app)[-1][0] == "◆ 2-9"


def test_a_link_restores_the_view(heads):
    app = heads(relation="nsubj", corpus="own", at="3-9", show="gain", view="card", run="trained")
    assert [app.value(f"heads_{name}") for name in ("relation", "corpus", "at", "show")] == [
        "nsubj",
        "own",
        "3-9",
        "gain",
    ]
    assert "What else it does" in app.words


@pytest.mark.parametrize(
    "link",
    [
        {"relation": "nonsense", "corpus": "gap", "at": "9-99", "run": "x", "show": "y", "view": "z"},
        {"relation": "obj", "corpus": "gap", "direction": "sideways"},
        {"relation": "coref", "corpus": "ud", "at": "0-0"},
        {"relation": "<b>", "sentence": "none", "source": "?", "labour": "?"},
    ],
)
def test_wrong_values_in_the_link_fall_back_quietly(heads, link):
    app = heads(**link)
    assert not app.errors and app.figures()


def test_back_to_another_relation_and_corpus_shows_the_head_that_the_link_names(heads, monkeypatch):
    app = heads(relation="obj").pick("heads_at", "4-9")
    link = app.link
    app.pick("heads_relation", "det").pick("heads_corpus", "own")
    for name in app.link:
        del app.test.query_params[name]
    for name, value in link.items():
        app.test.query_params[name] = value
    monkeypatch.setattr(links, "went_back", lambda: True)
    app.run()
    assert [app.value(f"heads_{name}") for name in ("relation", "corpus", "at")] == ["obj", "ud", "4-9"]
    assert app.link == link


def test_a_claim_chooses_its_head_and_so_does_a_cell(heads):
    app = heads()
    button = next(each for each in app.test.button if each.key == "heads_pick_4-9")
    button.click()
    app.run()
    assert app.value("heads_at") == "4-9" and app.link["at"] == "4-9"
    (box,) = app.figures()[0]["layout"]["shapes"]
    assert (box["x0"], box["y0"]) == (7.5, 2.5)


@pytest.mark.parametrize(("run", "says"), [("untrained", "random weights"), ("mask", "only positions are left")])
def test_controls_at_a_switch_reach_little_and_are_named(heads, run, says):
    app = heads().pick("heads_run", run)
    assert says in app.words and "Trained, with words, the best reaches 75 %." in app.words
    coloured, _grey = grid(app)
    assert np.isnan(coloured).sum() >= 70


def test_the_causal_run_is_compared_with_the_fair_one(heads):
    app = heads(labour="causal")
    assert "fair comparison asks the same arcs" in app.words and "trained without a causal mask" in app.words
    (table,) = (frame.value for frame in app.test.dataframe)
    row = table[table["relation"] == "obj"].iloc[0]
    assert row["n"] == 560 and row["bidirectional"].startswith("3-1: 80 %") and row["change (points)"] == "−16"


def test_beside_controls_the_trained_model_stands_alone(heads):
    app = heads(labour="controls")
    assert "trained, bidirectional: 13 of 31; control: untrained weights: 0 of 31" in app.words
    (table,) = (frame.value for frame in app.test.dataframe)
    assert {"trained", "untrained", "mask token for words", "best baseline", "n"} < set(table.columns)


def test_division_of_labour_shows_that_one_head_serves_several_relations(heads):
    app = heads()
    assert "One head serves several: 3-9 beats the baseline on" in app.words
    figure = app.figures()[1]
    assert "3-9" in figure["layout"]["xaxis"]["ticktext"] and len(figure["layout"]["xaxis"]["ticktext"]) == 8
    app.pick("heads_all_heads", True)
    assert len(app.figures()[1]["layout"]["xaxis"]["ticktext"]) > 8


def test_a_head_card_says_what_else_the_head_does(heads):
    words = heads(view="card").words
    for said in (
        "3-1 beats the baseline on 5 of",
        "66 % of its arrows join words that no arc links.",
        "3.7 % of all its arrows are obj: object → verb",
        "rests on [CLS]",
        "In 8 sequences of 25 random tokens, each twice in a row:",
        "Without a causal mask the next token is in sight anyway: there this is no prediction.",
        "Nearest heads:",
        "A head is not a fixed label",
        "High weight is not proof of use",
    ):
        assert said in words


def test_a_head_without_a_role_is_told_so(heads):
    assert "No clear role: 1-1 beats the baseline on none of 62 tasks." in heads(view="card", at="1-1").words


def test_a_sentence_of_the_corpus_has_gold_arcs_arrows_and_framed_cells(heads):
    app = heads(view="sentence")
    _grid, arcs, map_ = app.figures()
    names = [trace.get("name") for trace in arcs["data"]]
    assert "gold arc" in names and "head's arrow: right" in names
    assert len(map_["layout"]["shapes"]) == 2  # two objects in the first sentence
    assert "3-1 gets 2 of 2 right here." in app.words and "of 72 heads" in app.words
    app.pick("heads_all", True)
    assert len(app.figures()[2]["layout"]["shapes"]) > 2


def test_another_sentence_and_another_head_change_the_arrows(heads):
    app = heads(view="sentence")
    before = app.figures()[1]
    app.pick("heads_at", "6-12")
    assert app.figures()[1] != before
    app.pick("heads_sentence", data.sentences_with("obj")[5].id)
    assert "here." in app.words


def test_a_pronoun_is_shown_with_what_it_refers_to(heads):
    app = heads(view="sentence", relation="coref-noun", corpus="own")
    notes = [note["text"] for note in app.figures()[1]["layout"]["annotations"]]
    assert "refers to" in notes and "2-4 gets 1 of 1 right here." in app.words


def test_ones_own_link_by_hand_gets_no_percentage_of_its_own(heads):
    app = heads(view="sentence", source="own", relation="coref-noun")
    assert "4-2 looks from “they” at “students”." in app.words
    assert "heads point there." in app.words and "Looking two words back finds it too" in app.words
    assert "Its record for pronoun → the noun it stands for: 4-2: 81 % [74, 88] of 247 pronouns" in app.words
    app.pick("heads_asking", 0)
    assert "not at “students”" in app.words or "at “students”" in app.words
    app.pick("heads_wanted", 0)
    assert any("with itself" in info.value for info in app.test.info)


@pytest.mark.skipif(not is_there(), reason="the parser is not installed")
def test_ones_own_sentence_parsed_is_marked_as_such(heads):
    app = heads(view="sentence", source="own", link="parser")
    assert "Parsed automatically, about 1 in 10 wrong." in app.words
    assert "3-1 looks from “students” at “praised”." in app.words
    assert "parsed arc" in [trace.get("name") for trace in app.figures()[1]["data"]]


def test_without_the_parser_the_page_says_how_to_add_it_and_links_by_hand_work(heads, monkeypatch):
    def absent(text):
        raise NoParser("The parser isn't installed. Add it with: {command}", command="pip install spacy")

    monkeypatch.setattr(own.parsing, "parse", absent)
    app = heads(view="sentence", source="own", link="parser")
    assert any("pip install spacy" in info.value for info in app.test.info)
    app.pick("heads_link", "hand")
    assert "heads point there." in app.words


@pytest.mark.parametrize("text", ["one", "x" * 300, "<b>bold</b> **x**", "你好，世界。"])
def test_any_sentence_of_ones_own(heads, text):
    app = heads(view="sentence", source="own", text=text)
    assert not app.errors


def test_switching_heads_off_sets_looking_against_being_used(heads):
    app = heads(view="sentence").pick("heads_used", True)
    points = app.figures()[3]["data"][0]
    assert len(points["customdata"]) == 72
    assert "3-1 gives 0.70" in app.words and "of 72 heads); without it “Peter” moves by" in app.words
    one = app.figures()[3]["data"][0]["y"]
    app.pick("heads_moves", "sentence")
    assert app.figures()[3]["data"][0]["y"] != one and "the sentence moves by" in app.words
    app.pick("heads_used_word", 0)
    assert "largest weight from “Anna” to another word" in app.figures()[3]["layout"]["xaxis"]["title"]["text"]


class Upload:
    def __init__(self, name, content):
        self.name, self.content = name, content
        self.file_id = f"{name}-{id(content)}"

    def getvalue(self):
        return self.content


CONLLU = "\n".join(
    "1\tThe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n3\tbarked\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    for _ in range(40)
)


@pytest.fixture
def upload(heads, monkeypatch):
    """The page with a file in its uploader."""

    def with_file(name, content):
        monkeypatch.setattr(heads_corpus.st, "file_uploader", lambda *args, **kwargs: Upload(name, content))
        return heads(view="corpus")

    return with_file


def press(app, key):
    app.test.get_by_key(key).click()
    return app.run()


def test_a_corpus_of_ones_own_is_scored_shown_and_can_be_taken_away(upload):
    app = press(upload("mine.conllu", CONLLU.encode()), "heads_score")
    assert app.value("heads_corpus") == "mine.conllu" and app.value("heads_relation") in ("det", "nsubj")
    assert "of 40 " in app.words and "MiniLM-L6 (built in) · mine.conllu · 40 sentences" in app.words
    record = app.test.session_state["heads_fresh"]["minilm", "mine.conllu"]
    assert {each["relation"] for each in record.raw["dependencies"]} == {"det", "nsubj"}
    assert json.loads(heads_corpus.as_lines(dict(record.raw)))["provenance"]["corpus"] == "mine.conllu"
    assert any("mine.conllu" in button.proto.label for button in app.test.get("download_button"))


@pytest.mark.parametrize(
    ("words", "language"),
    [
        (["猫", "吃", "鱼"], "zh"),
        (["東京", "へ", "行った"], "en"),
        (["It", "works", "."], "en"),
    ],
)
def test_the_language_of_an_uploaded_corpus_is_that_of_its_texts(upload, words, language):
    line = {"words": words, "heads": [1, -1, 1], "deprels": ["nsubj", "root", "obj"], "space_after": [0, 0, 0]}
    app = press(upload("mine.jsonl", json.dumps(line).encode()), "heads_score")
    record = app.test.session_state["heads_fresh"]["minilm", "mine.jsonl"]
    assert data.language_of(record) == language


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.conllu", b"1\tThe\n\n2\tdog\n"),
        ("broken.jsonl", b'{"words": ["a"], \n[1]\n{"words": [], "heads": [], "deprels": []}'),
        ("not-utf8.conllu", b"\xff\xfe\x00"),
        ("picture.json", bytes(range(256))),
    ],
)
def test_broken_files_are_told_line_by_line_and_nothing_is_scored(upload, name, content):
    app = upload(name, content)
    assert app.test.get_by_key("heads_score").disabled
    assert any("left out" in warning.value for warning in app.test.warning)
    assert f"{name}, line 1" in app.test.code[0].value


def test_an_upload_is_read_once_however_often_the_page_runs(upload, monkeypatch):
    names = []
    monkeypatch.setattr(heads_corpus, "read_content", lambda *args: names.append(args[0]) or read_content(*args))
    app = upload("mine.conllu", CONLLU.encode())
    app.run()
    app.run()
    assert names == ["mine.conllu"] and "40 sentences with arcs" in app.words
    upload("other.conllu", CONLLU.encode())
    assert names == ["mine.conllu", "other.conllu"]


def test_an_upload_with_too_many_lines_gets_a_sentence(upload, monkeypatch):
    monkeypatch.setattr("analysis.evidence.corpora.corpus.MOST_LINES", 5)
    app = upload("mine.conllu", CONLLU.encode())
    assert app.test.get_by_key("heads_score").disabled
    assert any("at most 5 are read" in error for error in app.errors)


def test_an_empty_file_and_one_with_too_many_sentences_cant_be_scored(upload):
    assert upload("empty.conllu", b"").test.get_by_key("heads_score").disabled


def test_too_many_sentences_are_sent_to_the_command_line(upload, monkeypatch):
    monkeypatch.setattr(heads_corpus, "MOST_SENTENCES", 10)
    app = upload("mine.conllu", CONLLU.encode())
    assert app.test.get_by_key("heads_score").disabled
    assert any("python -m analysis" in error.replace("\\", "") for error in app.errors)


def test_sentences_without_a_choice_give_an_error_and_no_record(upload):
    app = press(upload("one.jsonl", b'{"words": ["Stop"], "heads": [-1], "deprels": ["root"]}'), "heads_score")
    assert any("nothing can be scored" in error for error in app.errors)
    assert not app.test.session_state["heads_fresh"]


def test_a_stopped_run_keeps_nothing(upload, monkeypatch):
    """Stop reruns the script; Streamlit ends the run from inside the progress bar, as this does."""
    from streamlit.runtime.scriptrunner_utils.exceptions import StopException

    seen = []

    def stopped(model, corpus, progress):
        progress(0, 40)
        seen.append("started")
        raise StopException

    monkeypatch.setattr(heads_corpus, "score", stopped)
    app = press(upload("mine.conllu", CONLLU.encode()), "heads_score")
    assert seen == ["started"] and not app.test.session_state["heads_fresh"]
    app.run()
    assert app.value("heads_corpus") == "ud"


def test_a_model_without_scores_offers_to_score_it(heads):
    app = heads(model="toy")
    assert any("has no scores yet" in info.value for info in app.test.info)
    app.pick("heads_upload_source", "zh")
    assert "73 sentences with arcs, 44 passages" in app.words
    app = press(app, "heads_score")
    assert "Headwork's Chinese sentences" in app.words and app.figures()
    assert not app.errors


def test_everything_in_chinese(heads):
    for view in ("labour", "sentence", "card", "corpus"):
        app = heads(lang="zh", view=view, model="minilm")
        assert "宾语 → 动词" in app.words and "往前看两个词得 38 %" in app.words


COURSE = "小明把苹果递给了小红，因为她帮过他。"
GENDER = "Head 8-1 gets 96 % [91, 99] of 384 pronouns; the first mention gets 50 %: +46 [41, 49] points better."


@pytest.fixture
def chinese(heads):
    """The page with the model that reads Chinese and the course's sentence."""

    def open_with(**link: str):
        return heads(**{"model": "e5-small-4bit", "text": COURSE} | link)

    try:
        load("e5-small-4bit")
    except HeadworkError as error:
        pytest.skip(str(error))
    return open_with


def test_a_chinese_sentence_opens_on_gender_in_chinese_with_what_it_is_not(chinese):
    app = chinese()
    assert [app.value(f"heads_{name}") for name in ("relation", "corpus", "at")] == ["gender", "gender_zh", "8-1"]
    assert (
        GENDER in app.words and "mean of all ways to halve them. Intervals: bootstrap over pairs of nouns." in app.words
    )
    assert "This is gender matching, not understanding." in app.words
    assert "8-1 moves its arrow in 0 of 8 pairs; no head gets both right in more than 1." in app.words
    assert "Other nouns in the same sentences: 96 % [91, 99] of 384." in app.words
    assert "Rarer nouns, never chosen on: 85 % of 128, 4 pairs of nouns." in app.words
    assert "The mean of all heads' maps: 49 %. 64 sentences are left out" in app.words
    assert "8-1 fails most for 国王/王后 78 %" in app.words and "noun of the other gender: 8-3 1 %" in app.words
    assert "The best of 144 heads is partly luck" in app.words


def test_the_grid_of_144_heads_is_as_high_as_fits_above_the_fold(chinese):
    figure = chinese().figures()[0]
    coloured, grey = grid(chinese())
    assert coloured.shape == (12, 12) and figure["layout"]["height"] <= 400
    assert np.isnan(coloured).sum() == (~np.isnan(grey)).sum()


def test_an_english_sentence_opens_on_objects_in_english_with_the_same_model(chinese):
    app = chinese(text="The teacher praised the students because they worked hard.")
    assert [app.value(f"heads_{name}") for name in ("relation", "corpus")] == ["obj", "ud"]
    app.test.session_state["text"] = COURSE  # the records show no sentence; it stands on the other pages
    app.run()
    assert app.value("heads_corpus") == "ud_zh"  # the relation stays, the corpus follows the sentence
    assert "Head 8-5 gets 73 % [67, 79] of 190 objects; looking at the word before gets 37 %" in app.words
    assert "809 of 3264 arcs are left out" in app.words
    app.pick("heads_relation", "gender").pick("heads_corpus", "gender_en")
    assert "Head 8-1 gets 99 % [99, 100] of 432 pronouns" in app.words
    assert app.link["corpus"] == "gender_en"


def test_the_english_model_has_the_task_too(heads):
    app = heads(model="minilm", relation="gender")
    assert app.value("heads_corpus") == "gender_en" and "Head 2-4 / 3-5 / 2-1 gets 95 %" in app.words
    assert "How often each was chosen: 2-4 79 %" in app.words and "The best of 72 heads is partly luck" in app.words
    assert "2-4 moves its arrow in 0 of 8 pairs" in app.words


def test_sentences_of_the_set_are_named_in_chinese_and_controls_have_none(chinese):
    app = chinese(lang="zh")
    assert "花园相遇" in app.figures()[1]["layout"]["yaxis"]["ticktext"] and "这是性别匹配，不是理解。" in app.words
    app.pick("heads_run", "mask")
    assert "逐对名词的结果只有训练过的运行才有。" in app.words


def test_nouns_and_sentences_stand_beside_the_heads(chinese):
    figure = chinese().figures()[1]
    names = figure["layout"]["yaxis"]["ticktext"]
    assert names[0] == "爸爸/妈妈" and "外公/外婆 *" in names and "met in the garden" in names
    assert "because" not in names  # 因为他 is one piece
    assert figure["layout"]["xaxis"]["ticktext"][0] == "8-1"


@pytest.mark.parametrize(
    ("labour", "says"), [("controls", "best baseline"), ("causal", "not scored under a causal mask")]
)
def test_gender_beside_controls_and_without_a_causal_run(chinese, labour, says):
    app = chinese(labour=labour)
    frames = [frame.value for frame in app.test.dataframe]
    if labour == "controls":
        (row,) = frames[0].to_dict("records")
        assert row["trained"].startswith("8-1: 96 %") and row["n"] == 384 and says in row
        assert row["mask token for words"].split(": ")[1].startswith("50 %")
    else:
        assert says in app.words


def test_under_a_causal_mask_chinese_objects_lose_some(chinese):
    app = chinese(relation="obj", labour="causal")
    row = app.test.dataframe[0].value.query("relation == 'obj'").iloc[0]
    assert row["n"] == 190 and row["bidirectional"].startswith("8-5: 80 %")


def test_chinese_sentences_have_gold_arcs_between_chinese_words(chinese):
    app = chinese(view="sentence")
    assert app.value("heads_sentence") == "gender-zh-garden-01-mf-m"
    _grid, arcs, map_ = app.figures()
    words = [note["text"] for note in arcs["layout"]["annotations"]]
    assert {"爸爸", "妈妈", "他", "refers to"} <= {word.replace("<b>", "").replace("</b>", "") for word in words}
    assert len(map_["layout"]["shapes"]) == 1
    assert "8-1 gets 1 of 1 right here. “他” gives “爸爸” 0.31, “妈妈” 0.03." in app.words
    app.pick("heads_sentence", "gender-zh-garden-01-fm-f")
    assert "“她” gives “妈妈”" in app.words and "gets 1 of 1 right here" in app.words


def test_a_pronoun_without_a_row_is_told_where_its_sentence_is_shown(chinese):
    app = chinese(view="sentence", sentence="gender-zh-because-09-mf-m")
    assert "“他” has no row of its own: the model reads “因为他” as one token." in app.words
    assert "No such arc can be asked here." in app.words


def test_chinese_arcs_that_share_a_piece_are_not_asked_and_counted(chinese):
    app = chinese(view="sentence", relation="obj")
    assert "right here." in app.words  # the list begins with sentences that can be asked
    last = data.askable("obj", "zh", "e5-small-4bit")[-1]
    app.pick("heads_sentence", last.id)
    assert "not asked: one of" in app.words


def test_the_card_shows_the_heads_pronouns_on_every_corpus(chinese):
    bars = chinese(view="card").figures()[1]
    names = bars["layout"]["yaxis"]["ticktext"]
    assert {"Balanced set, Chinese", "Balanced set, English", "Real text: GUM", "Real text: GAP"} < set(names)
    assert bars["data"][0]["x"][names.index("Real text: GUM")] == pytest.approx(0.84, abs=0.01)


def test_the_card_of_the_head_says_what_it_is_not_on_every_corpus(chinese):
    app = chinese(view="card", relation="coref-noun", corpus="own_zh", at="8-1")
    assert "Balanced set, Chinese: pronoun → its gender 96 % (+46)." in app.words
    assert "This is gender matching, not understanding." in app.words
    assert "rests on <s>" in app.words and "on </s>" in app.words
    app.pick("heads_at", "8-5")
    assert "not understanding" not in app.words


def test_the_courses_sentence_is_linked_where_it_is_about(chinese):
    app = chinese(view="sentence", source="own")
    assert "8-1 looks from “她” at “小红”." in app.words and app.value("heads_link_name") == "gender"
    assert "Its record for pronoun → the noun of its gender: 8-1: 96 %" in app.words
    app.pick("heads_link", "parser")
    assert any("reads English only" in info.value for info in app.test.info)


def test_any_model_can_be_scored_on_the_balanced_sets(heads):
    app = heads(model="toy")
    app.pick("heads_upload_source", "gender_zh")
    assert "0 sentences with arcs, 576 passages with a pronoun" in app.words
    app = press(app, "heads_score")
    assert app.value("heads_relation") == "gender" and "of 432 pronouns" in app.words
    assert "This is gender matching, not understanding." in app.words and "moves its arrow in" not in app.words


# -- a decoder -------------------------------------------------------------------------------------------------------


def test_a_decoder_opens_on_its_record_under_its_own_mask(heads):
    app = heads(model="smollm2-135m")
    assert ranked(app)[0] == ("◆ 11-2", "91 % [89, 94]", "+51 [46, 56]")
    assert app.test.get_by_key("heads_run").options == ["trained, causal mask", "control: untrained weights"]
    assert "SmolLM2-135M-Instruct, 4-bit · trained, causal mask · Real text: EWT + GUM · 869 sentences" in app.words
    assert "36 arcs of this relation can't be asked this way round" in app.words
    assert "Under a causal mask" not in app.test.get_by_key("heads_labour").options  # it is never without one
    app.pick("heads_labour", "controls")
    assert "trained, causal mask: 8 of 18; control: untrained weights: 0 of 18" in app.words
    assert "bidirectional" not in app.words and "[CLS]" not in app.words
    app.pick("heads_run", "untrained")
    assert "Under a causal mask" not in app.test.get_by_key("heads_labour").options
    assert "not scored under a causal mask" not in app.words


def test_the_card_of_a_decoders_head_says_where_it_rests_and_what_it_does_in_random_tokens(heads):
    app = heads(model="smollm2-135m", view="card", at="19-7")
    assert "of its weight rests on <|im_start|>." in app.words and "[SEP]" not in app.words
    assert "0.86 on the one that came after the same token earlier (induction; Olsson et al. 2022)." in app.words
    assert "this is no prediction" not in app.words


def test_a_sentence_is_shown_to_a_decoder_as_it_was_scored(heads):
    app = heads(model="smollm2-135m", view="sentence")
    assert "Before the sentence stands <|im_start|>, as when it was scored." in app.words
    assert "mask causal" in app.words and "right here." in app.words
    _grid, arcs, map_ = app.figures()
    assert not any("im_start" in note["text"] for note in arcs["layout"]["annotations"])
    assert "im_start" not in json.dumps(map_["layout"]["xaxis"])
