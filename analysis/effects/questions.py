"""A question: a prompt, and two tokens that may come next, of which one is right; and how a model reads it.

analysis.effects.reading takes questions from text and files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from model.errors import HeadworkError, clipped, shown
from model.tracing import AttentionModel


@dataclass(frozen=True)
class Question:
    """A prompt and what may come next.

    Attributes:
        prompt: ends before the answer, without a space.
        right, wrong: a token each, with the space that belongs to it: " Mary", " John".
        cue: the word of the prompt that decides, where that isn't the right answer itself: "keys" for " are". "" = the
            answer.
        other: the prompt changed so that the wrong answer is right; "" = the two answers swapped in it.
    """

    prompt: str
    right: str
    wrong: str
    cue: str = ""
    other: str = ""

    @property
    def changed(self) -> str | None:
        """The prompt that asks for the wrong answer instead; None where none is given and none can be made."""
        if self.other:
            return self.other
        right, wrong = self.right.strip(), self.wrong.strip()
        word = re.compile(rf"(?<!\w)({re.escape(right)}|{re.escape(wrong)})(?!\w)")
        if set(word.findall(self.prompt)) != {right, wrong}:
            return None
        return word.sub(lambda found: wrong if found[0] == right else right, self.prompt)


@dataclass(frozen=True)
class EncodedQuestion:
    """A question as a model reads it.

    Attributes:
        ids: of the N tokens of the prompt.
        labels: likewise, as on an axis.
        right_id, wrong_id: of the two answers.
        places: the tokens, from 0, of the cue, or of the right answer where it stands in the prompt; often none.
    """

    question: Question
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    right_id: int
    wrong_id: int
    places: tuple[int, ...]


class SeveralTokens(HeadworkError):
    """An answer is more than one token. `offer` is the question with the first tokens that differ; None = none do."""

    def __init__(self, template: str, *, offer: Question | None, **values: Any) -> None:
        super().__init__(template, offer=offer, **values)
        self.offer = offer


@dataclass(frozen=True)
class Problem:
    """A line that isn't taken, and why. `line` counts from 1."""

    line: int
    error: HeadworkError

    def __str__(self) -> str:
        return f"line {self.line}: {self.error}"


def checked(question: Question) -> Question:
    """The question itself, where it can be one in any model.

    Raises:
        HeadworkError: no prompt, a prompt that ends in a space, a missing answer, equal answers.
    """
    if not question.prompt.strip():
        raise HeadworkError("There is no prompt. Type the text that comes before the answer.")
    if question.prompt[-1].isspace():
        raise HeadworkError(
            "The prompt {prompt} ends in a space, which belongs to the answer. Take it away there.",
            prompt=shown(question.prompt[-40:]),
        )
    if not question.right.strip():
        raise HeadworkError("The right answer is missing.")
    if not question.wrong.strip():
        raise HeadworkError("The wrong answer is missing.")
    if question.right == question.wrong:
        raise _equal(question)
    return question


def _equal(question: Question) -> HeadworkError:
    return HeadworkError(
        "Both answers are {answer}: there is no difference to measure. Change one.", answer=shown(question.right)
    )


def encode_question(model: AttentionModel, question: Question) -> EncodedQuestion:
    """The question in the tokens of a model.

    Raises:
        SeveralTokens: an answer is several tokens.
        HeadworkError: as `checked`, and for a prompt longer than the model reads.
    """
    checked(question)
    ids, labels = encode_prompt(model, question.prompt)
    right, wrong = _answer(model, question, question.right), _answer(model, question, question.wrong)
    if right == wrong:
        raise _equal(question)
    wanted = (question.cue or question.right).strip()
    return EncodedQuestion(question, ids, labels, right, wrong, _places(model, question.prompt, wanted))


def encode_questions(
    model: AttentionModel, questions: Sequence[Question], *, shorten: bool = False
) -> tuple[tuple[EncodedQuestion, ...], tuple[Problem, ...]]:
    """The questions that this model can be asked, and of the others why not (`Problem.line`: the number, from 1).

    Args:
        model: whose tokens they become.
        questions: any.
        shorten: where answers are several tokens, ask about the first that differ.
    """
    asked: list[EncodedQuestion] = []
    problems: list[Problem] = []
    for number, question in enumerate(questions, 1):
        try:
            try:
                asked.append(encode_question(model, question))
            except SeveralTokens as error:
                if not shorten or error.offer is None:
                    raise
                asked.append(encode_question(model, error.offer))
        except HeadworkError as error:
            problems.append(Problem(number, error))
    return tuple(asked), tuple(problems)


def encode_prompt(model: AttentionModel, prompt: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Ids and labels of a prompt.

    Raises:
        HeadworkError: it is longer than the model reads, since then its end, where the answer comes, would be lost.
    """
    tokens = model.tokens(prompt)
    if tokens.n_cut or tokens.n_cut_characters:
        raise HeadworkError(
            "The prompt {prompt} has more than {most} tokens, so its end would be cut off. Shorten it.",
            prompt=shown(prompt),
            most=model.token_limit,
        )
    return tokens.ids, tokens.labels


def first_difference(model: AttentionModel, question: Question) -> Question | None:
    """The question asked about the first token in which the answers differ; what they share goes to the prompt.

    Returns:
        None where one answer is the beginning of the other, or where the prompt would be read in other tokens.
    """
    right, wrong = (_pieces(model, question.prompt, answer) for answer in (question.right, question.wrong))
    shared = next((i for i, (a, b) in enumerate(zip(right, wrong, strict=False)) if a != b), None)
    if shared is None:
        return None
    text = model.tokenizer.text_of
    offer = replace(
        question,
        prompt=question.prompt + text(right[:shared]),
        right=text([right[shared]]),
        wrong=text([wrong[shared]]),
        cue=question.cue or question.right.strip(),
        other=question.other and question.other + text(right[:shared]),
    )
    whole = (*model.tokens(question.prompt).ids, *right[:shared])
    is_same = model.tokens(offer.prompt).ids == whole and not offer.prompt[-1].isspace()
    return offer if is_same and offer.right.strip() and offer.wrong.strip() else None


def _answer(model: AttentionModel, question: Question, answer: str) -> int:
    ids = _pieces(model, question.prompt, answer)
    if len(ids) == 1:
        return ids[0]
    offer = first_difference(model, question)
    pieces = " · ".join(model.tokenizer.label_of(id_) for id_ in ids[:6])
    if offer is None:
        raise SeveralTokens(
            "The answer {answer} is {n} tokens of this model ({pieces}), and an answer here is one. Choose another "
            "word.",
            offer=None,
            answer=shown(answer),
            n=len(ids),
            pieces=clipped(pieces),
        )
    raise SeveralTokens(
        "The answer {answer} is {n} tokens of this model ({pieces}), and an answer here is one. The first tokens that "
        "differ are {right} and {wrong}: ask about these.",
        offer=offer,
        answer=shown(answer),
        n=len(ids),
        pieces=clipped(pieces),
        right=shown(offer.right),
        wrong=shown(offer.wrong),
    )


def _pieces(model: AttentionModel, prompt: str, answer: str) -> list[int]:
    """The answer's tokens after the prompt; by itself where the two would be read as other tokens together.

    A tokenizer may put a mark or a space before every text, so an answer by itself can be read in another way.
    """
    before, whole = _own(model, prompt), _own(model, prompt + answer)
    if whole[: len(before)] == before and len(whole) > len(before):
        return whole[len(before) :]
    return _own(model, answer)


def _own(model: AttentionModel, text: str) -> list[int]:
    """The tokens of a text without the marks that the tokenizer puts around it."""
    tokens = model.tokens(text)
    marks = [special and span == (0, 0) for special, span in zip(tokens.is_special, tokens.spans, strict=True)]
    return [id_ for id_, is_mark in zip(tokens.ids, marks, strict=True) if not is_mark]


def _places(model: AttentionModel, prompt: str, wanted: str) -> tuple[int, ...]:
    """The last token of each place where a word stands in the prompt, as a whole word."""
    tokens = model.tokens(prompt)
    prompt = tokens.text
    spans = []
    start = prompt.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not (prompt[start - 1 : start].isalnum() or prompt[end : end + 1].isalnum()):
            spans.append((start, end))
        start = prompt.find(wanted, end)
    return tuple(
        max(i for i, (_, stop) in enumerate(tokens.spans) if tokens.spans[i][0] < end and stop > start)
        for start, end in spans
        if any(a < end and b > start for a, b in tokens.spans)
    )
