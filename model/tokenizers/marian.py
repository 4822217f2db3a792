"""Marian's tokenizers: SentencePiece cuts a text, and a vocabulary of its own numbers the pieces.

A folder has source.spm and target.spm, and one vocab.json for both, or target_vocab.json beside it. A text ends with
</s>; one for a translator into several languages begins with a code such as >>fr<<. transformers' own class needs the
sentencepiece library; ids are the same without it (tests/model/tokenizers/test_marian.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tokenizers import AddedToken, processors

from model.errors import HeadworkError
from model.files import read_json
from model.tokenizers.sentencepiece_file import SentencePieceModel, read_sentencepiece, unigram_backend
from model.tokenizers.tokenizer_json import FastTokenizer
from model.tokenizers.tokens import SPACE, Tokenizer, Tokens, is_letters, visible

SOURCE, TARGET, VOCABULARY, TARGET_VOCABULARY = "source.spm", "target.spm", "vocab.json", "target_vocab.json"
MARIAN_FILES = (SOURCE, TARGET, VOCABULARY)
END, PADDING, UNKNOWN_TOKEN = "</s>", "<pad>", "<unk>"
_LANGUAGE = re.compile(r">>.+<<")


class MarianTokenizer(Tokenizer):
    """One of the two.

    Args:
        found: what cuts a text.
        vocabulary: ids by piece. </s>, <unk> and <pad> are in it; a piece that isn't is unknown.
    """

    def __init__(self, found: SentencePieceModel, vocabulary: Mapping[str, int]) -> None:
        backend = unigram_backend(found)
        marks = [mark for mark in vocabulary if mark in (END, PADDING) or _LANGUAGE.fullmatch(mark)]
        # A code is said before the text, and the space after it isn't of the text.
        backend.add_special_tokens([AddedToken(mark, rstrip=mark not in (END, PADDING)) for mark in marks])
        end = backend.token_to_id(END)
        backend.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, end)])
        self._vocabulary, self._pieces = vocabulary, {id_: piece for piece, id_ in vocabulary.items()}
        self._special = {vocabulary[mark] for mark in marks}
        self._unknown = vocabulary[UNKNOWN_TOKEN]
        self._inner = FastTokenizer(backend, {"pad_token": PADDING, "unk_token": UNKNOWN_TOKEN})

    def encode(self, text: str, *, limit: int, pad_to: int | None = None) -> Tokens:
        """The text as at most `limit` tokens; see `model.tokenizers.tokens.Tokenizer`."""
        tokens = self._inner.encode(text, limit=limit, pad_to=pad_to)
        # By their text, as transformers does: what is unknown to one SentencePiece may be a piece of the other's.
        ids = tuple(self._vocabulary.get(piece, self._unknown) for piece in tokens.pieces)
        return replace(tokens, ids=ids, n_unknown=ids.count(self._unknown))

    def text_of(self, ids: Sequence[int]) -> str:
        """What tokens add to a text; see `model.tokenizers.tokens.Tokenizer`."""
        return "".join(self._pieces.get(id_, UNKNOWN_TOKEN) for id_ in ids).replace(SPACE, " ")

    def label_of(self, id_: int) -> str:
        """The token's label; see `model.tokenizers.tokens.Tokenizer`."""
        return visible(self._pieces.get(id_, UNKNOWN_TOKEN))

    def is_special(self, id_: int) -> bool:
        """Whether a token is one of the model's marks."""
        return id_ in self._special

    def is_ordinary(self, id_: int) -> bool:
        """Whether an id is that of a word or a part of one; see `model.tokenizers.tokens.Tokenizer`."""
        return id_ not in self._special and id_ != self._unknown and is_letters(self.label_of(id_))


def load_marian(folder: Path) -> tuple[MarianTokenizer, MarianTokenizer]:
    """The tokenizers of source and target.

    Raises:
        HeadworkError: a file is missing, or can't be read.
    """
    missing = [name for name in MARIAN_FILES if not (folder / name).is_file()]
    if missing:
        raise HeadworkError(
            "The folder {folder} has no tokenizer: {missing} is missing. A Marian model needs {files}; copy them there "
            "from where the model comes from.",
            folder=folder.name,
            missing=missing[0],
            files=", ".join(MARIAN_FILES),
        )
    shared = not (folder / TARGET_VOCABULARY).is_file()
    source, target = (_vocabulary(folder / name) for name in (VOCABULARY, VOCABULARY if shared else TARGET_VOCABULARY))
    return (
        MarianTokenizer(read_sentencepiece(folder / SOURCE), source),
        MarianTokenizer(read_sentencepiece(folder / TARGET), target),
    )


def _vocabulary(path: Path) -> dict[str, int]:
    vocabulary = read_json(path)
    is_one = isinstance(vocabulary, dict) and all(
        isinstance(id_, int) and not isinstance(id_, bool) and id_ >= 0 for id_ in vocabulary.values()
    )
    needed = (END, PADDING, UNKNOWN_TOKEN)
    if not is_one or not all(mark in vocabulary for mark in needed):
        raise HeadworkError(
            "{file} is no vocabulary of Marian: it should give a number for each piece, {needed} among them.",
            file=path.name,
            needed=", ".join(needed),
        )
    return dict(vocabulary)
