"""The tokenizer of a model trained on a task: words parted by spaces, and only those of the task."""

from __future__ import annotations

import re

from model.errors import HeadworkError
from model.tokenizers.tokens import Token, Tokenizer, Tokens, assemble, clean_text, no_text, visible

_NAMED = 3  # unknown words that an error names


class TaskTokenizer(Tokenizer):
    """Knows the words of one task, Chinese ones too, parted by spaces. There are no special tokens and no padding."""

    def __init__(self, vocabulary: tuple[str, ...], sample: str) -> None:
        self.sample = sample
        self._ids = {word: number for number, word in enumerate(vocabulary)}

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
        tokens = [
            Token(match.group(), self._ids[match.group()], match.span(), number) for number, match in enumerate(found)
        ]
        return assemble(
            text,
            tokens,
            limit=limit,
            pad_to=pad_to,
            padding=None,
            n_cut_characters=n_cut_characters,
        )
