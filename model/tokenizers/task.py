"""The tokenizer of a model trained on a task: words parted by spaces, and only those of the task."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from model.errors import HeadworkError
from model.tokenizers.tokens import Token, Tokenizer, Tokens, assemble, clean_text, no_text, visible

_NAMED = 3  # unknown words that an error names


class TaskTokenizer(Tokenizer):
    """Knows the words of one task, Chinese ones too, parted by spaces. There is no padding.

    Args:
        vocabulary: the words, by id.
        sample: a sentence of them, for an error.
        marks: which of the words are special, such as those of start and end.
    """

    def __init__(self, vocabulary: tuple[str, ...], sample: str, marks: tuple[str, ...] = ()) -> None:
        self.sample = sample
        self._vocabulary = vocabulary
        self._marks = frozenset(marks)
        self._ids = {word: number for number, word in enumerate(vocabulary)}

    def text_of(self, ids: Sequence[int]) -> str:
        """The words, each with a space before it."""
        return "".join(f" {self._vocabulary[id_]}" for id_ in ids)

    def label_of(self, id_: int) -> str:
        """The word."""
        return self._vocabulary[id_]

    def is_special(self, id_: int) -> bool:
        """Whether it is one of the marks."""
        return self._vocabulary[id_] in self._marks

    def encode(self, text: str, *, limit: int, pad_to: int | None = None) -> Tokens:
        """The text as at most `limit` tokens; see `model.tokenizers.tokens.Tokenizer`.

        Raises:
            HeadworkError: no text, a word that isn't of the task, or any padding.
        """
        text, n_cut_characters = clean_text(text)
        found = list(re.finditer(r"\S+", text))
        if not found:
            raise no_text()
        unknown = list(dict.fromkeys(word for match in found if (word := match.group()) not in self._ids))
        if unknown:
            raise HeadworkError(
                "This model was trained on one task and knows only its words, not {words}. A sentence of the task: "
                "{sample}",
                words=", ".join(visible(word) for word in unknown[:_NAMED]),
                sample=self.sample,
            )
        words, tokens = itertools.count(), []
        for match in found:
            is_mark = match.group() in self._marks
            number = None if is_mark else next(words)
            tokens.append(Token(match.group(), self._ids[match.group()], match.span(), number, is_special=is_mark))
        return assemble(
            text,
            tokens,
            limit=limit,
            pad_to=pad_to,
            padding=None,
            n_cut_characters=n_cut_characters,
        )
