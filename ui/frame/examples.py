"""The sentences that come with the app. Choosing one sets sentence, model, layer, head and the token to look at.

An example opens in the model in which its head was found. A model that the person chose by hand stays if it reads the
example's language; either way one sentence says what happened, with the way back.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from analysis.evidence.agreement import Question
from model import HeadworkError
from model.catalogue import DEFAULT_MODEL, E5, allowed_ids, default_id, local_folder, resolve
from model.weights.e5 import E5_HUB, e5_path
from ui.frame.captions import small
from ui.frame.languages import _, plain

FILE = Path(__file__).parents[2] / "data" / "examples.json"
SAME_WEIGHTS = {E5_HUB: E5}  # heads found in one are looked at in the other
SWAPPED = "⇄ "  # before a sentence whose nouns changed places

Head = tuple[int, int]  # layer and head, counted from 1


@dataclass(frozen=True)
class Agreement:
    """Two nouns and two pronouns that agree with one of them each (analysis.evidence.agreement).

    Attributes:
        swapped: the sentence with its nouns in each other's place.
        questions: which pronoun belongs to which noun.
        seems: model → a head that gets some pronouns right and others never.
    """

    swapped: str
    questions: tuple[Question, ...]
    seems: Mapping[str, Head]


@dataclass(frozen=True)
class Example:
    """A sentence and where something can be seen in it.

    Attributes:
        language: "en" or "zh".
        look: the token whose row shows it.
        heads: model → head; the first is the model that the example opens in.
        is_swapped: the one before it, with its nouns swapped.
    """

    text: str
    language: str
    look: str
    heads: Mapping[str, Head]
    agreement: Agreement | None = None
    is_swapped: bool = False

    def head(self, model_id: str) -> Head | None:
        """The head to look at in a model."""
        return self.heads.get(SAME_WEIGHTS.get(model_id, model_id))

    def seems(self, model_id: str) -> Head | None:
        """The head that only seems to do it in a model."""
        return self.agreement.seems.get(SAME_WEIGHTS.get(model_id, model_id)) if self.agreement else None

    @property
    def beside(self) -> tuple[str, ...]:
        """The other pronouns, shown together with the token to look at."""
        asked = self.agreement.questions if self.agreement else ()
        return tuple(question.pronoun for question in asked if question.pronoun != self.look)


@cache
def examples() -> tuple[Example, ...]:
    """All of them. A sentence with its nouns swapped follows the sentence."""
    found: list[Example] = []
    for row in json.loads(FILE.read_text(encoding="utf-8")):
        raw = row.pop("agreement", None)
        row["heads"] = _heads(row["heads"])
        if raw is None:
            found.append(Example(**row))
            continue
        questions = tuple(Question(*words) for words in raw["questions"])
        for text, other in ((row["text"], raw["swapped"]), (raw["swapped"], row["text"])):
            agreement = Agreement(other, questions, _heads(raw["seems"]))
            found.append(Example(**{**row, "text": text}, agreement=agreement, is_swapped=text == raw["swapped"]))
    return tuple(found)


def of(text: str) -> Example | None:
    """The example with this text."""
    return next((example for example in examples() if example.text == text), None)


def look(text: str) -> str | None:
    """The token to look at first, when `text` is an example sentence."""
    example = of(text)
    return example.look if example else None


def beside(text: str) -> tuple[str, ...]:
    """The tokens shown together with it."""
    example = of(text)
    return example.beside if example else ()


def brings(text: str | None, model_id: str) -> bool:
    """Whether `text` is an example that opens in this model."""
    example = of(text or "")
    return example is not None and _home(example) == model_id


def is_here(model_id: str) -> bool:
    """Whether a model of the examples opens at once: offered by this server, its package installed, or downloaded."""
    ids = allowed_ids()
    if ids is not None and model_id not in ids:
        return False
    if model_id == E5:
        return e5_path() is not None
    return model_id != E5_HUB or local_folder(resolve(E5_HUB)) is not None


# -- the menu --------------------------------------------------------------------------------------------------------


def menu() -> None:
    """The menu below the sentence."""
    names = {example.text: (SWAPPED if example.is_swapped else "") + example.text for example in _ordered()}
    st.selectbox(
        _("Example sentences"),
        list(names),
        index=None,
        key="example",
        format_func=lambda text: names.get(text, text),
        placeholder=_("Choose an example"),
        on_change=_take,
        label_visibility="collapsed",
    )


def _take() -> None:
    chosen = of(str(st.session_state["example"]))
    if chosen is not None:
        st.session_state["example"] = None  # so that it can be chosen again after an edit
        show(chosen)


def show(chosen: Example) -> None:
    """Lets the controls say the example on the next run: for callbacks."""
    before = _now()
    model_id = _model_for(chosen, before["model"])
    st.session_state["text"] = chosen.text
    _go_to(model_id, chosen.head(model_id))
    home = _home(chosen)
    st.session_state.pop("example_told", None)
    if home is not None and (model_id != before["model"] or chosen.head(model_id) is None):
        told = {"text": chosen.text, "model": model_id, "before": before, "home": home, "head": chosen.head(home)}
        st.session_state["example_told"] = told


def swap(agreement: Agreement) -> None:
    """Lets the controls say the sentence with its nouns swapped, and all else as it is: for callbacks."""
    st.session_state["text"] = agreement.swapped
    _forget_pin()


def opening() -> None:
    """The app opens on the first example of the page's language that a model here can show; the link then says so.

    In Chinese that is a Chinese sentence and the model that reads it. Only an address that says nothing but the
    language opens like this. Any other link means what it says, and by what it leaves out the same in every language:
    the English sentence and the built-in model.
    """
    found = None if set(st.query_params) - {"lang"} else opens_on()
    if found is None:
        return
    first, home = found
    layer, head = first.head(home) or (1, 1)
    st.query_params.update({"text": first.text, "model": home, "layer": str(layer), "head": str(head)})
    st.rerun()


def opens_on() -> tuple[Example, str] | None:
    """The example and model on which an address with nothing but the language opens, where they aren't the usual."""
    first = next((example for example in _ordered() if _home(example)), None)
    home = _home(first) if first is not None else None
    if first is None or home is None or (first, home) == (examples()[0], DEFAULT_MODEL):
        return None
    return first, home


def _ordered() -> list[Example]:
    """On a Chinese page Chinese sentences come first."""
    is_chinese = st.session_state.get("lang") == "zh"
    return sorted(examples(), key=lambda example: is_chinese and example.language != "zh")


def told(names: Mapping[str, str]) -> None:
    """What the last example did to the model, and the way back. Nothing once text or model is another.

    Args:
        names: model → what it is called in the menu.
    """
    said: dict[str, Any] | None = st.session_state.get("example_told")
    if said is None or (said["text"], said["model"]) != (st.session_state["text"], st.session_state["model"]):
        return
    before, home = said["before"], said["home"]
    if said["model"] != before["model"]:
        text = _("This model came with the example.")
        way = _("Back to {model}").format(model=names.get(before["model"], before["model"]))
        sign, target = "↩", (before["model"], before["head"])
    else:
        layer, head = said["head"]
        text = _("The example was found in another model, head {head}.").format(head=f"{layer}-{head}")
        way = _("Open it in {model}").format(model=names.get(home, home))
        sign, target = "→", (home, said["head"])
    with st.container(gap=None, key="example-told"):
        small(text)
        st.button(plain(f"{sign} {way}"), key="example_way", type="tertiary", on_click=_go_back, args=target)


def _go_back(model_id: str, head: Head | None) -> None:
    _go_to(model_id, head)
    st.session_state["model_by_hand"] = True
    st.session_state.pop("example_told", None)


def _model_for(chosen: Example, now: str) -> str:
    """The model in which an example is shown when `now` is the model of the sidebar."""
    home = _home(chosen)
    if home is None or (st.session_state.get("model_by_hand") and _reads(now, chosen.language)):
        return now
    return home


def _home(chosen: Example) -> str | None:
    """The first model that the example can open in, on this computer."""
    twins = {theirs: ours for ours, theirs in SAME_WEIGHTS.items()}
    known = [id_ for model_id in chosen.heads for id_ in (model_id, twins.get(model_id)) if id_ is not None]
    return next((model_id for model_id in known if is_here(model_id)), None)


def _reads(model_id: str, language: str) -> bool:
    """Whether a model reads a language, as far as is known: one that doesn't say is believed to."""
    try:
        languages = resolve(model_id).languages
    except HeadworkError:  # what was typed names nothing
        return False
    return not languages or language in languages or "mul" in languages


def _now() -> dict[str, Any]:
    layer, head = st.session_state.get("layer_wish"), st.session_state.get("head_wish")
    model_id = str(st.session_state.get("model") or default_id())
    return {"model": model_id, "head": (layer, head) if layer and head else None}


def _go_to(model_id: str, head: Head | None) -> None:
    if model_id != _now()["model"]:
        st.session_state["model_by_hand"] = False
    st.session_state["model"] = model_id
    st.session_state.pop("wanted", None)
    if head is not None:
        st.session_state["wanted"] = {"layer": head[0], "head": head[1]}
    _forget_pin()


def _forget_pin() -> None:
    st.session_state["pinned"] = ((), None)  # the token to look at is pinned anew


def _heads(raw: Mapping[str, str]) -> dict[str, Head]:
    pairs = {model_id: name.split("-") for model_id, name in raw.items()}
    return {model_id: (int(layer), int(head)) for model_id, (layer, head) in pairs.items()}
