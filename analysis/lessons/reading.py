"""From a file to a lesson. Each mistake is one sentence with the file, the line and what to do.

docs/lessons.md describes the format; YAML and JSON say the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import analysis.lessons.answers  # noqa: F401  registers the functions
from analysis.lessons.answer import ANSWERS, Parameter, parameters
from analysis.lessons.lesson import (
    LANGUAGES,
    PREDICTS,
    Ask,
    Choice,
    Given,
    Lesson,
    Option,
    Range,
    SelfTest,
    Step,
    Words,
)
from analysis.lessons.marked import MOST_BYTES, LessonError, Node, read
from analysis.lessons.setup import LONGEST_TEXT
from model import HeadworkError, Mask
from model.catalogue import ENTRIES
from model.errors import clipped, first_line
from model.weights.toy import toy_sizes

MOST_STEPS, MOST_QUESTIONS, MOST_CHOICES = 40, 30, 8
LONGEST = LONGEST_TEXT  # characters of any text of a lesson
MOST_MINUTES = 90
PAGES = ("attention", "masks", "inside", "positions", "cost", "heads", "effects", "atlas", "lessons", "learn")
SHAPES = {"minilm": (6, 12), "e5-small-4bit": (12, 12), "smollm2-135m": (30, 9)}  # layers and heads

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def read_file(path: Path) -> Lesson:
    """The lesson in a file.

    Raises:
        HeadworkError: it can't be read, or holds a mistake (LessonError).
    """
    try:
        if not path.is_file():
            raise OSError("it is not a regular file")
        with path.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=path.name, reason=first_line(error)) from error
    return read_lesson(raw, path.name)


def read_lesson(raw: bytes, file: str) -> Lesson:
    """The lesson in a file's content.

    Args:
        raw: YAML or JSON in UTF-8.
        file: its name, for errors and as `Lesson.source`.

    Raises:
        LessonError: the first mistake.
    """
    file = clipped(file, 80)
    return _Reader(file).lesson(read(raw, file))


class _Reader:
    """Makes the parts of a lesson from a tree, and says what is wrong with it."""

    def __init__(self, file: str) -> None:
        self.file = file

    def at(self, node: Node) -> dict[str, Any]:
        """Where a mistake stands, for its sentence."""
        return {"file": self.file, "line": node.line}

    # -- parts of a lesson -------------------------------------------------------------------------------------------

    def lesson(self, root: Node) -> Lesson:
        fields = self.fields(root, "lesson", ("id", "title", "minutes", "steps"), ("self_test",))
        steps = [self.step(each) for each in self.entries(fields["steps"], "steps", MOST_STEPS)]
        tests = self.entries(fields["self_test"], "self_test", MOST_QUESTIONS) if "self_test" in fields else []
        self.differ([(step.id, step.line) for step in steps])
        return Lesson(
            id=self.id(fields["id"]),
            title=self.bare(fields["title"], "title"),
            minutes=self.whole(fields["minutes"], "minutes", 1, MOST_MINUTES),
            steps=tuple(steps),
            self_test=tuple(self.self_test(each) for each in tests),
            source=self.file,
        )

    def step(self, node: Node) -> Step:
        needed = ("id", "context", "question", "predict", "answer", "why")
        fields = self.fields(node, "step", needed, ("setup", "own_text", "options", "picture", "view"))
        predict = self.one_of(fields["predict"], "predict", PREDICTS)
        if (predict in ("choice", "order", "number")) != ("options" in fields):
            if "options" in fields:
                raise LessonError(
                    "{file}, line {line}: options belong to choice, order and number, not to {predict}. Remove them.",
                    **self.at(fields["options"]),
                    predict=predict,
                )
            raise LessonError(
                "{file}, line {line}: predict: {predict} needs options. Add them.",
                **self.at(fields["predict"]),
                predict=predict,
            )
        setup = self.given(fields["setup"]) if "setup" in fields else None
        own_text = self.flag(fields["own_text"], "own_text") if "own_text" in fields else False
        if own_text and (setup is None or setup.text is None):
            raise LessonError(
                "{file}, line {line}: a sentence can be typed only where the step has a setup with a text and a model.",
                **self.at(fields["own_text"]),
            )
        choices = self.choices(fields["options"]) if predict in ("choice", "order") else ()
        return Step(
            id=self.id(fields["id"]),
            context=self.words(fields["context"], "context"),
            question=self.words(fields["question"], "question"),
            predict=predict,  # type: ignore[arg-type]
            answer=self.ask(fields["answer"], setup),
            why=self.words(fields["why"], "why"),
            setup=setup,
            own_text=own_text,
            choices=choices,
            range=self.range(fields["options"]) if predict == "number" else None,
            picture=self.name(fields["picture"], "picture") if "picture" in fields else "",
            view=self.view(fields["view"]) if "view" in fields else None,
            line=node.line,
        )

    def given(self, node: Node) -> Given:
        fields = self.fields(node, "setup", (), ("text", "model", "mask"))
        if "text" in fields and "model" not in fields:
            raise self.missing("setup", "model", node)
        mask = None if "mask" not in fields else self.text(fields["mask"], "mask")
        if mask is not None:
            try:
                Mask.of(mask)
            except HeadworkError as error:
                raise LessonError(
                    "{file}, line {line}: there is no mask {mask}. Write bidirectional, causal, window:2, prefix:3, or "
                    "several joined with +.",
                    **self.at(fields["mask"]),
                    mask=clipped(mask),
                ) from error
        model = self.by_language(fields["model"], "model") if "model" in fields else None
        for id_ in dict.fromkeys(() if model is None else (model.en, model.zh)):
            self.check_model(id_, fields["model"])
        return Given(self.by_language(fields["text"], "text") if "text" in fields else None, model, mask)

    def check_model(self, id_: str, node: Node) -> None:
        """Models of the catalogue and toys only: a file of a stranger names no folder of this computer."""
        try:
            known = id_ in {entry.id for entry in ENTRIES} or (id_.startswith("toy:") and bool(toy_sizes(id_)))
        except HeadworkError:
            known = False
        if not known:
            raise LessonError(
                "{file}, line {line}: there is no model {model}. Choose one of {models}.",
                **self.at(node),
                model=clipped(id_),
                models=", ".join(entry.id for entry in ENTRIES),
            )

    def ask(self, node: Node, setup: Given | None) -> Ask:
        if not isinstance(node.value, dict) or "of" not in node.value:
            raise self.missing("answer", "of", node)
        name = self.text(node.value["of"], "of")
        if name not in ANSWERS:
            raise LessonError(
                "{file}, line {line}: there is no answer {name}. Choose one of {names}.",
                **self.at(node.value["of"]),
                name=clipped(name),
                names=", ".join(sorted(ANSWERS)),
            )
        taken = parameters(name)
        needed = [each for each, parameter in taken.items() if parameter.is_needed]
        fields = self.fields(node, f"answer: {name}", ("of", *needed), [*taken])
        values = {each: self.value(fields[each], each, taken[each]) for each in fields if each != "of"}
        self.check_head(values, fields, setup)
        return Ask(name, values)

    def check_head(self, values: Mapping[str, Any], fields: Mapping[str, Node], setup: Given | None) -> None:
        """Whether layer and head are there in the models whose sizes are known without loading them."""
        if setup is None or setup.model is None:
            return
        for language in LANGUAGES:
            model = getattr(setup.model, language)
            for name, most in zip(("layer", "head"), SHAPES.get(model, ()), strict=False):
                value = values.get(name)
                value = value[language] if isinstance(value, dict) else value
                if isinstance(value, int) and not 1 <= value <= most:
                    raise LessonError(
                        "{file}, line {line}: {model} has no {name} {value}. They count from 1 to {most}.",
                        **self.at(fields[name]),
                        model=model,
                        name=name,
                        value=value,
                        most=most,
                    )

    def choices(self, node: Node) -> tuple[Choice, ...]:
        found = []
        entries = self.entries(node, "options", MOST_CHOICES)
        for each in entries:
            fields = self.fields(each, "options", ("id", "text"), ("wrong",))
            wrong = self.words(fields["wrong"], "wrong") if "wrong" in fields else None
            found.append(Choice(self.id(fields["id"]), self.words(fields["text"], "text"), wrong))
        self.differ([(choice.id, each.line) for choice, each in zip(found, entries, strict=True)])
        return tuple(found)

    def range(self, node: Node) -> Range:
        fields = self.fields(node, "options", ("least", "most", "step", "tolerance"), ("unit",))
        least, most, step, tolerance = (self.number(fields[n], n) for n in ("least", "most", "step", "tolerance"))
        if not (least < most and 0 < step <= most - least and 0 <= tolerance < most - least):
            raise LessonError(
                "{file}, line {line}: a number goes from least to most in steps, with a tolerance smaller than that. "
                "These don't fit together.",
                **self.at(node),
            )
        unit = self.bare(fields["unit"], "unit") if "unit" in fields else Words("", "")
        return Range(least, most, step, tolerance, unit)

    def self_test(self, node: Node) -> SelfTest:
        fields = self.fields(node, "self_test", ("question", "choices"), ("view",))
        found, entries = [], self.entries(fields["choices"], "choices", MOST_CHOICES)
        for each in entries:
            parts = self.fields(each, "choices", ("id", "text", "why"), ("right",))
            is_right = self.flag(parts["right"], "right") if "right" in parts else False
            text, why = self.bare(parts["text"], "text"), self.bare(parts["why"], "why")
            found.append(Option(self.id(parts["id"]), text, why, is_right))
        self.differ([(option.id, each.line) for option, each in zip(found, entries, strict=True)])
        if sum(option.right for option in found) != 1:
            raise LessonError(
                "{file}, line {line}: exactly one choice is right; here {n} are. Mark it with right: true.",
                **self.at(fields["choices"]),
                n=sum(option.right for option in found),
            )
        view = self.view(fields["view"]) if "view" in fields else None
        return SelfTest(self.bare(fields["question"], "question"), tuple(found), view)

    def view(self, node: Node) -> dict[str, Any]:
        if not isinstance(node.value, dict) or "page" not in node.value:
            raise self.missing("view", "page", node)
        self.one_of(node.value["page"], "page", PAGES)
        scalar = Parameter((str, int, float, bool), False, False)
        for name, each in node.value.items():
            if not _NAME.fullmatch(name):
                raise self.unknown(name, each, "view", ("page",))
        return {name: self.value(each, name, scalar) for name, each in node.value.items()}

    # -- values ------------------------------------------------------------------------------------------------------

    def fields(self, node: Node, what: str, needed: Collection[str], more: Collection[str] = ()) -> dict[str, Node]:
        """The fields of a map: all that are needed, no unknown ones."""
        if not isinstance(node.value, dict):
            raise LessonError(
                "{file}, line {line}: “{what}” is a map with the names {names}.",
                **self.at(node),
                what=what,
                names=", ".join(needed or more),
            )
        for name, each in node.value.items():
            if name not in needed and name not in more:
                raise self.unknown(name, each, what, list(dict.fromkeys((*needed, *more))))
        for name in needed:
            if name not in node.value:
                raise self.missing(what, name, node)
        return node.value

    def unknown(self, name: str, node: Node, what: str, known: Collection[str]) -> LessonError:
        return LessonError(
            "{file}, line {line}: “{what}” takes no “{name}”. It takes {names}.",
            **self.at(node),
            what=what,
            name=clipped(name),
            names=", ".join(known),
        )

    def missing(self, what: str, name: str, node: Node) -> LessonError:
        return LessonError(
            "{file}, line {line}: “{what}” begins here and has no “{name}”. Add it.",
            **self.at(node),
            what=what,
            name=name,
        )

    def entries(self, node: Node, name: str, most: int) -> list[Node]:
        if not isinstance(node.value, list) or not 1 <= len(node.value) <= most:
            raise LessonError(
                "{file}, line {line}: “{name}” is a list of 1 to {most} entries.",
                **self.at(node),
                name=name,
                most=most,
            )
        return node.value

    def differ(self, ids: list[tuple[str, int]]) -> None:
        seen: set[str] = set()
        for id_, line in ids:
            if id_ in seen:
                raise LessonError(
                    "{file}, line {line}: the id {id} stands here a second time. Give it another one.",
                    file=self.file,
                    line=line,
                    id=id_,
                )
            seen.add(id_)

    def words(self, node: Node, name: str) -> Words:
        """A text in both languages, with the same places in both."""
        alone = [key for key, each in node.value.items() if each.value is None] if isinstance(node.value, dict) else []
        if alone and set(LANGUAGES) <= set(node.value):  # type: ignore[arg-type]
            raise LessonError(
                "{file}, line {line}: a comma parts “{name}” before “{rest}”. Put a text with a comma in quotes.",
                **self.at(node),
                name=name,
                rest=clipped(alone[0]),
            )
        if not isinstance(node.value, dict) or set(node.value) != set(LANGUAGES):
            raise LessonError(
                "{file}, line {line}: “{name}” is a text in both languages: {example}.",
                **self.at(node),
                name=name,
                example="{en: …, zh: …}",
            )
        found = Words(*(self.text(node.value[language], f"{name}, {language}") for language in LANGUAGES))
        if found.places("en") != found.places("zh"):
            differing = sorted(found.places("en") ^ found.places("zh"))
            raise LessonError(
                "{file}, line {line}: “{name}” has the place {place} in one language only. Put it into both.",
                **self.at(node),
                name=name,
                place=f"{{{differing[0]}}}",
            )
        return found

    def bare(self, node: Node, name: str) -> Words:
        """A text that belongs to no answer, so that nothing would fill a place in it."""
        found = self.words(node, name)
        for place in sorted(found.places("en")):
            raise LessonError(
                "{file}, line {line}: “{name}” has the place {place}, which no answer fills. Write the text out.",
                **self.at(node),
                name=name,
                place=f"{{{place}}}",
            )
        return found

    def by_language(self, node: Node, name: str) -> Words:
        """One text for both languages, or one each."""
        if isinstance(node.value, dict):
            return self.words(node, name)
        text = self.text(node, name)
        return Words(text, text)

    def text(self, node: Node, name: str) -> str:
        value = str(node.value) if isinstance(node.value, int | float) else node.value  # 42 is a text too
        if not isinstance(value, str) or isinstance(node.value, bool) or not value.strip():
            raise LessonError(
                "{file}, line {line}: “{name}” is a text. Write one, in quotes if it has a colon.",
                **self.at(node),
                name=name,
            )
        if len(value) > LONGEST:
            raise LessonError(
                "{file}, line {line}: “{name}” has {n} characters; a text has up to {most}. Shorten it.",
                **self.at(node),
                name=name,
                n=len(value),
                most=LONGEST,
            )
        return " ".join(value.split())

    def id(self, node: Node) -> str:
        value = str(node.value) if isinstance(node.value, int) and not isinstance(node.value, bool) else node.value
        if not isinstance(value, str) or not _ID.fullmatch(value):
            raise LessonError(
                "{file}, line {line}: an id has small letters, digits and hyphens, up to 40, such as one-head.",
                **self.at(node),
            )
        return value

    def name(self, node: Node, name: str) -> str:
        if not isinstance(node.value, str) or not _NAME.fullmatch(node.value):
            raise LessonError(
                "{file}, line {line}: “{name}” is the name of a picture, such as strip.",
                **self.at(node),
                name=name,
            )
        return node.value

    def one_of(self, node: Node, name: str, options: Collection[str]) -> str:
        if not isinstance(node.value, str) or node.value not in options:
            raise LessonError(
                "{file}, line {line}: “{name}” is one of {options}.",
                **self.at(node),
                name=name,
                options=", ".join(options),
            )
        return node.value

    def flag(self, node: Node, name: str) -> bool:
        if not isinstance(node.value, bool):
            raise LessonError("{file}, line {line}: “{name}” is true or false.", **self.at(node), name=name)
        return node.value

    def whole(self, node: Node, name: str, least: int, most: int) -> int:
        value = node.value
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise LessonError(
                "{file}, line {line}: “{name}” is a whole number from {least} to {most}.",
                **self.at(node),
                name=name,
                least=least,
                most=most,
            )
        return value

    def number(self, node: Node, name: str) -> float:
        value = node.value
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= 1e15:
            raise LessonError("{file}, line {line}: “{name}” is a number.", **self.at(node), name=name)
        return float(value)

    def value(self, node: Node, name: str, taken: Parameter) -> Any:
        """A parameter: a value, a list of them, or {en, zh} of either."""
        if isinstance(node.value, dict) and set(node.value) == set(LANGUAGES):
            return {language: self.value(node.value[language], name, taken) for language in LANGUAGES}
        if taken.is_list and isinstance(node.value, list) and 1 <= len(node.value) <= MOST_STEPS:
            single = Parameter(taken.kinds, False, taken.is_needed)
            return [self.value(each, name, single) for each in node.value]
        value = node.value
        if str in taken.kinds and int not in taken.kinds and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        fits = not taken.is_list and (
            type(value) in taken.kinds or (float in taken.kinds and isinstance(value, int) and type(value) is int)
        )
        if not fits or (isinstance(value, str) and len(value) > LONGEST):
            example = ", ".join(_EXAMPLES[kind] for kind in taken.kinds)
            raise LessonError(
                "{file}, line {line}: “{name}” takes a value such as {example} here, or one for each language, {both}.",
                **self.at(node),
                name=clipped(name),
                example=f"[{example}, …]" if taken.is_list else example,
                both="{en: …, zh: …}",
            )
        return value


_EXAMPLES: dict[type, str] = {int: "4", float: "0.5", str: "word", bool: "true"}
