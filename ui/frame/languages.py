"""What the app says, in English and Chinese. English sentences are the keys; `ui/locales/zh_CN/` holds the Chinese.

A page has a file of its own there, and so do the frame and the model's errors (frame.po). The catalogue is read from
the .po files themselves, so that there is no compiled file to forget. The language is what the switch in the sidebar
says, at first what the link says (`lang=zh`), else the browser's.
"""

import re
from functools import cache, partial
from pathlib import Path

import streamlit as st
from babel.messages.pofile import read_po

from model import HeadworkError
from ui.frame import links
from viz.theme import Translate

LANGUAGES = {"en": "English", "zh": "简体中文"}
CATALOGUES = {"zh": Path(__file__).parents[1] / "locales" / "zh_CN"}

_MARKDOWN = re.compile(r"([\\`*_\[\]#!$:<>|~&])")
_LIST = re.compile(r"^(\d*)([-+.)])(?=[ -]|$)")  # "- ", "+ ", "1. " and "1) " begin a list, "---" is a line
# Addresses become links in finished text, where backslashes are gone already (mdast-util-gfm-autolink-literal).
# A character of no width (word joiner) keeps each from being one.
_ADDRESS = re.compile(r"(?<=https:)(?=//)|(?<=http:)(?=//)|(?<=www)(?=\.)|(?<=@)(?=[-\w])", re.IGNORECASE)
NO_WIDTH = "\u2060"
# Labels of models, as `model.catalogue` and the page Watch heads learn make them.
_TOY = re.compile(r"Toy (?P<sizes>\d+/\d+/\d+), seed (?P<seed>\d+) \(untrained\)")
_TRAINED = re.compile(
    r"(?P<task>.+?), (?P<heads>\d+) heads?(, (?P<layers>\d+) layers?)?, seed (?P<seed>\d+)( \((?P<origin>.+)\))?"
)


def _(text: str) -> str:
    """`text` in the language of this session."""
    return translate(text, st.session_state.get("lang", "en"))


def _n(one: str, many: str, n: int) -> str:
    """`one` or `many` in the language of this session, for n things. Fill in {n} yourself."""
    return _(one if n == 1 else many)


def translator() -> Translate:
    """`_` in this session's language as it is now: for files, which are made in a thread that knows no session."""
    return partial(translate, language=st.session_state.get("lang", "en"))


def translate(text: str, language: str) -> str:
    """`text` in `language`, labels of trained and toy models part by part; as it is where there is no translation."""
    known = catalogue(language)
    if text in known or not known:
        return known.get(text, text)
    if toy := _TOY.fullmatch(text):
        return known["Toy {sizes}, seed {seed} (untrained)"].format(**toy.groupdict())
    if trained := _TRAINED.fullmatch(text):
        return _trained_label(trained.groupdict(), known)
    return text


def _trained_label(found: dict[str, str | None], known: dict[str, str]) -> str:
    parts = [
        known.get(str(found["task"]), str(found["task"])),
        known["{n} heads"].format(n=found["heads"]),
        known["{n} layers"].format(n=found["layers"]) if found["layers"] else "",
        known["seed {seed}"].format(seed=found["seed"]),
    ]
    origin = known[" ({origin})"].format(origin=known.get(found["origin"], found["origin"])) if found["origin"] else ""
    return known[", "].join(filter(None, parts)) + origin


def spoken_names(names: dict[str, str]) -> dict[str, str]:
    """Name in any language → option, for a menu that also takes what is typed.

    When the language changes, the browser sends the label it shows, which is no label any more and comes in as typed.
    """
    return {translate(name, language): option for option, name in names.items() for language in LANGUAGES}


@cache
def catalogue(language: str) -> dict[str, str]:
    """English → translated, for one language. Empty for English."""
    if language not in CATALOGUES:
        return {}
    translated: dict[str, str] = {}
    for path in sorted(CATALOGUES[language].glob("*.po")):
        with path.open("rb") as stream:
            translated |= {str(entry.id): str(entry.string) for entry in read_po(stream) if entry.id and entry.string}
    return translated


def explain(error: HeadworkError) -> str:
    """The error's sentence in the language of this session, safe to put into Markdown."""
    return plain(words_of(error))


def words_of(error: HeadworkError) -> str:
    """The same as text, for what makes it safe itself."""
    return _(error.template).format(**error.values)


def plain(text: str) -> str:
    """Text that Markdown shows as it is. What a person typed could otherwise become a link or fetch an image."""
    return _LIST.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", _ADDRESS.sub(NO_WIDTH, " ".join(text.split()))))


def begin() -> None:
    """At a session's first run: the language of the link, else the browser's. Before anything that speaks."""
    if "lang" not in st.session_state:
        st.session_state["lang"] = links.read("lang", links.one_of(list(LANGUAGES)), of_browser())


def switch() -> None:
    """The language switch."""
    st.segmented_control(
        "Language · 语言",
        list(LANGUAGES),
        required=True,
        format_func=LANGUAGES.__getitem__,
        key="lang",
        on_change=_say_again,
        label_visibility="collapsed",
    )


def _say_again() -> None:
    """Sets every choice once more to what it is: the browser shows a menu's choice in the old words until then."""
    for key, value in st.session_state.items():
        if isinstance(value, str | int) and not isinstance(value, bool):
            st.session_state[key] = value


def of_browser() -> str:
    """The language that the browser asks for, if the app speaks it."""
    return "zh" if (st.context.locale or "").lower().startswith("zh") else "en"


def keep() -> None:
    """Lets the link say which language it is. Only after `st.navigation`: that clears what a page has not written."""
    links.write("lang", st.session_state["lang"], "en" if of_browser() == "en" else "")
