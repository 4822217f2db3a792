"""Every sentence of the app has its Chinese, with the same values in it, and nothing a person typed becomes markup."""

import ast
import re
import string
from collections import defaultdict
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from analysis import METRICS, NO_PATTERN, READINGS, RULES
from model import HeadworkError
from model.catalogue import ENTRIES
from model.tasks import PEEK, TASKS, TRANSLATIONS
from model.tasks.translate import CLASSES
from model.weights.toy import TOY_DEFAULTS
from ui.attention.compare import KINDS, MASKS
from ui.attention.elsewhere import SINK
from ui.attention.layer_heads import SHOWN
from ui.attention.maps import LEFT_OUT
from ui.attention.page import TABS
from ui.attention.two_texts import TITLES
from ui.attention.view import COLOUR_TITLES, CURVES, LEVELS, WHAT_WORDS_ARE
from ui.cost import controls as cost_controls
from ui.cost import tabs as cost_tabs
from ui.effects import data as effects_data
from ui.effects import page as effects_page
from ui.effects import picture as effects_picture
from ui.effects import states as effects_states
from ui.effects import words as effects_words
from ui.frame.chinese_words import PARTERS
from ui.frame.languages import NO_WIDTH, catalogue, explain, plain, spoken_names, translate
from ui.frame.mask_choice import BASES
from ui.frame.shell import MENU
from ui.heads import card, choices, corpus, gender, labour, own, page, used, words
from ui.heads import sentence as heads_sentence
from ui.inside import words as inside_words
from ui.learn import controls, depth, export
from ui.learn import page as learn_page
from ui.learn import words as learn_words
from ui.positions import longer as positions_longer
from ui.positions import page as positions_page
from ui.positions import words as positions_words
from viz.export.layout import PRINTED

ROOT = Path(__file__).parents[3]
LEARN = {
    "HOW_TO_READ",
    "HOW_FAR",
    "TRANSLATE_READ",
    "PEEK_READ",
    "DEPTH_READ",
    "PEEK_HELP",
    "HEADS_HELP",
    "FFN_HELP",
    "MASK_HELP",
    "RATE_HELP",
    "SEED_HELP",
}
SYMBOLS = {"d_model", "d_k", "d_ff", "SwiGLU", "FFN"}  # the same in every language
ROOMS = ("ui", "pages", "viz", "analysis", "model")
SPEAKERS = {
    "_": 1,
    "t": 1,
    "_n": 2,
    "HeadworkError": 1,
    "LessonError": 1,
    "NotDownloaded": 1,
    "NoParser": 1,
    "NoSegmenter": 1,
    "SeveralTokens": 1,
    "TwoParts": 1,
}  # call → how many sentences it takes


def sentences():
    """Every sentence in the source that can reach the screen, with the place where it stands."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in SPEAKERS:
                    for argument in call.args[: SPEAKERS[call.func.id]]:
                        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                            yield argument.value, f"{path.relative_to(ROOT)}:{call.lineno}"
    for entry in ENTRIES:
        yield entry.about, "model/catalogue.py"
    for name in (*BASES.values(), *TOY_DEFAULTS):
        yield name, "ui/frame/controls.py"
    for section, pages in MENU.items():
        yield from ((title, "ui/frame/shell.py") for title in (section, *pages.values()))
    for metric in METRICS.values():
        yield from ((sentence, "analysis/maps/metrics.py") for sentence in (metric.title, metric.definition))
    for kind in READINGS.values():
        yield from ((sentence, "analysis/maps/readings.py") for sentence in (kind.title, kind.shows, kind.leaves_out))
    for rule in RULES:
        yield from ((sentence, "analysis/maps/patterns.py") for sentence in (rule.title, rule.source))
    yield NO_PATTERN, "analysis/maps/patterns.py"
    yield from ((sentence, "ui/attention/") for sentence in (SINK, *LEFT_OUT.values()))
    for titles in (TABS, TITLES, SHOWN, LEVELS, CURVES, KINDS, MASKS, PRINTED):
        yield from ((title, "ui/explorer*.py, viz/export/layout.py") for title in titles.values())
    for names in words.RELATIONS.values():
        yield from ((name, "ui/heads/words.py") for name in names)
    for titles in (
        *(words.COREFERENCE_NAMES, words.OFFSETS, words.CORPORA, words.VARIANTS, labour.WAYS, used.OF),
        *(choices.QUANTITIES, corpus.READY, own.WAYS, page.TABS),
        *(heads_sentence.SOURCES, words.SHORT, words.CUES, labour.HEADINGS, own.ARCS),
        *(gender.TEMPLATES, gender.ONLY_MEANING),
    ):
        yield from ((title, "ui/heads_*.py") for title in titles.values())
    yield from ((sentence, "ui/frame/chinese_words.py") for sentence in PARTERS.values())
    yield card.CAUTION, "ui/heads/card.py"
    for task in TASKS.values():
        names = (relation.id for relation in task.relations if relation.id.isalpha())
        yield from ((sentence, "model/tasks") for sentence in (task.title, task.about, task.note, *names))
    for task in (PEEK, *TRANSLATIONS.values()):
        yield from ((sentence, "model/tasks") for sentence in (task.title, task.about, task.note))
    yield from ((name, "model/tasks/translate.py") for name in CLASSES)
    for told in (inside_words.ARCHITECTURES, inside_words.PARTS, inside_words.CROSS):
        yield from ((sentence, "ui/inside/words.py") for several in told.values() for sentence in several)
    yield from ((name, "ui/inside/words.py") for name in inside_words.CROSS_NAMES.values())
    for titles in (controls.MASKS, learn_page.TABS, export.PAGES):
        yield from ((title, "ui/learn_*.py") for title in titles.values())
    for asked, _read in learn_page.QUESTIONS.values():
        yield asked, "ui/learn/page.py"
    yield from ((sentence, "ui/learn") for sentence in (*learn_page.TITLES, depth.TITLE, depth.ABOUT))
    for name, text in {**vars(controls), **vars(learn_words)}.items():
        if name in LEARN:
            yield text, "ui/learn_*.py"
    for titles in (cost_controls.HELP, cost_controls.LABELS, cost_tabs.PARTS, cost_tabs.RMS_PARTS):
        yield from ((title, "ui/cost") for title in titles.values() if title not in SYMBOLS)
    for titles in (
        *(effects_words.SETS, effects_words.OFF, effects_words.OFF_ABOUT, effects_words.CHANGES),
        *(effects_page.TABS, effects_states.TABS, effects_states.KINDS, effects_picture.ALTS, effects_data.WORDS),
    ):
        yield from ((title, "ui/effects") for title in titles.values())
    for sentence in (effects_words.HOW_TO_READ, effects_words.LIMITS, effects_words.LIMITS_STATES):
        yield sentence, "ui/effects/words.py"
    for titles in (positions_page.TABS, positions_longer.TITLES):
        yield from ((title, "ui/positions") for title in titles.values())
    yield positions_words.HOW_TO_READ, "ui/positions/words.py"
    for way in positions_words.WAYS.values():
        yield from ((text, "ui/positions/words.py") for text in (way.name, way.says, way.acts, way.tells, way.beyond))
    for sentence in (WHAT_WORDS_ARE, *COLOUR_TITLES.values()):
        yield sentence, "ui/attention/view.py"


def strings():
    """Every string in the source."""
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_every_sentence_has_its_chinese():
    chinese = catalogue("zh")
    missing = [f"{place}: {sentence}" for sentence, place in sentences() if sentence not in chinese]
    assert not missing, "\n".join(missing)


def test_no_sentence_is_translated_in_two_ways():
    """The files are read into one table: of two translations, one would be shown in the other's place."""
    found = defaultdict(set)
    for file in (ROOT / "ui" / "locales" / "zh_CN").glob("*.po"):
        with file.open("rb") as stream:
            for message in read_po(stream):
                if message.id:
                    found[message.id].add(message.string)
    assert not {sentence: ways for sentence, ways in found.items() if len(ways) > 1}


def test_translations_take_the_same_values_as_the_sentence():
    different = [english for english, chinese in catalogue("zh").items() if fields(english) < fields(chinese)]
    assert not different


def test_no_translation_is_left_over_from_a_sentence_that_is_gone():
    assert not set(catalogue("zh")) - set(strings())


def test_english_and_unknown_languages_are_the_sentence_itself():
    assert translate("Mask", "en") == translate("Mask", "xx") == "Mask"
    assert translate("Mask", "zh") == "掩码"
    assert translate("no such sentence", "zh") == "no such sentence"


@pytest.mark.parametrize(
    ("label", "chinese"),
    [
        ("Four neighbours, 4 heads, 1 layer, seed 0 (trained here)", "四个邻居，4 个头，1 层，种子 0（在此训练）"),
        ("Induction, 1 head, 2 layers, seed 7 (from a file)", "归纳，1 个头，2 层，种子 7（来自文件）"),
        ("Neighbour and twin, 2 heads, seed 3 (file)", "邻居与孪生，2 个头，种子 3（文件）"),
        ("Toy 64/4/2, seed 3 (untrained)", "玩具模型 64/4/2，种子 3（未训练）"),
        ("/models/Induction, my folder", "/models/Induction, my folder"),
    ],
)
def test_labels_of_trained_and_toy_models_are_translated_part_by_part(label, chinese):
    assert translate(label, "zh") == chinese and translate(label, "en") == label


def test_errors_are_told_with_their_values_and_braces_in_values_stay():
    error = HeadworkError("There is no folder {folder}. Check the path.", folder="{x}")
    assert explain(error) == "There is no folder {x}. Check the path."


@pytest.mark.parametrize(
    "text",
    [
        *("![i](http://x.org/i.png)", "$x$", ":red[x]", "<b>x</b>", "`code`", "**x**", "# x", "a|b", "~~x~~"),
        *("a\\*b*", "\\", "\\\\[x](y)", "- x", "+ x", "1. x", "12) x", "---", "-", "- - -"),
    ],
)
def test_markdown_in_what_a_person_typed_is_made_harmless(text):
    escaped = plain(text).replace(NO_WIDTH, "")
    assert re.sub(r"\\(.)", r"\1", escaped) == text  # as Markdown reads it: each backslash takes the next sign with it
    bare = re.sub(r"\\.", "", escaped)
    assert not set(bare) & set("\\![]$:<>`*#|~") and not re.match(r"[-+]|\d+[.)]", escaped)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see www.example.org/a/b", "see www|.example.org/a/b"),
        ("WWW.example.org", "WWW|.example.org"),
        ("http://a.org HTTPS://a.org", "http:|//a.org HTTPS:|//a.org"),
        ("a@b.org, a.b+c@d-e.co.uk", "a@|b.org, a.b+c@|d-e.co.uk"),
        ("www, @ and a @ b", "www, @ and a @ b"),
    ],
)
def test_an_address_is_broken_where_it_would_become_a_link(text, shown):
    assert plain(text).replace("\\", "") == shown.replace("|", NO_WIDTH)


def test_line_breaks_can_start_no_list_or_heading():
    assert plain("a\n\n- b\n# c") == "a - b \\# c"


def test_a_name_in_any_language_is_the_option_it_names():
    named = spoken_names({"minilm": "MiniLM-L6 (built in)", "other": "never translated"})
    assert named == {"MiniLM-L6 (built in)": "minilm", "MiniLM-L6（内置）": "minilm", "never translated": "other"}
