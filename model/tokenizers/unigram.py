"""A Unigram tokenizer (Kudo 2018) with a large vocabulary, in a twentieth of the memory that the library's own takes.

The `tokenizers` library builds a tree of all pieces: for XLM-R's 250,002 that is 260 MB (benchmarks/models.py). The
best way to cut a text depends on nothing but the pieces that stand in it. So the library gets those alone, some
hundreds, anew for each text, and the result is the same, to the last offset.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers, processors

from model.tokenizers.tokenizer_json import MASK_TOKENS, FastTokenizer
from model.tokenizers.tokens import SPACE, Tokenizer, Tokens, clean_text, is_letters
from model.tokenizers.vocabulary import Vocabulary

# SentencePiece's nmt_nfkc, by which XLM-R's vocabulary was made, leaves these alone, and NFKC doesn't ("~", "配"). In
# the meantime they are code points that are no characters; whoever types one of those gets a third, as unknown as they.
LEFT_ALONE = {"～": "\ufdd0", "🈻": "\ufdd1"}
_NO_CHARACTER = "\ufdd2"
BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
SPECIAL = (BEGIN, "<pad>", END, UNKNOWN, "<mask>")
_SPECIAL_IN_TEXT = re.compile("|".join(map(re.escape, SPECIAL)))


class UnigramTokenizer(Tokenizer):
    """SentencePiece's Unigram as XLM-R has it: <s> … </s>, "▁" for a space, characters in their NFKC form.

    Args:
        pieces: the vocabulary. <s>, </s> and <unk> are in it.
        scores: log probabilities (n,).
    """

    def __init__(self, pieces: Vocabulary, scores: NDArray[np.float32]) -> None:
        self._vocabulary = pieces
        self._scores = scores
        lowest = int(scores.argmin())
        special = pieces.find(SPECIAL)
        # A character without a piece gets the lowest score of all pieces less ten: that piece has to be among them.
        self._always = special | {pieces[lowest]: lowest}
        self._normaliser = normalizers.Sequence(
            [
                normalizers.Nmt(),
                *(normalizers.Replace(other, _NO_CHARACTER) for other in LEFT_ALONE.values()),
                *(normalizers.Replace(character, other) for character, other in LEFT_ALONE.items()),
                normalizers.NFKC(),
                *(normalizers.Replace(other, character) for character, other in LEFT_ALONE.items()),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        )
        self._special = [AddedToken(name, lstrip=name in MASK_TOKENS) for name in special]
        self._frame = processors.TemplateProcessing(
            single=f"{BEGIN} $A {END}",
            pair=f"{BEGIN} $A {END} {END} $B {END}",
            special_tokens=[(name, list(self._always).index(name)) for name in (BEGIN, END)],
        )

    def pair(self, first: str, second: str) -> str:
        """The text that `encode` reads as this pair; see `model.tokenizers.tokens.Tokenizer`."""
        return FastTokenizer(self._backend(self._always)).pair(first, second)

    def encode(self, text: str, *, limit: int, pad_to: int | None = None) -> Tokens:
        """The text as at most `limit` tokens; see `model.tokenizers.tokens.Tokenizer`."""
        known = self._pieces_in(clean_text(text)[0])
        tokens = FastTokenizer(self._backend(known)).encode(text, limit=limit, pad_to=pad_to)
        ids = list(known.values())
        return replace(tokens, ids=tuple(ids[id_] for id_ in tokens.ids))

    def is_ordinary(self, id_: int) -> bool:
        """Whether an id is that of a word or a part of one; see `model.tokenizers.tokens.Tokenizer`."""
        return id_ < len(self._vocabulary) and is_letters(self._vocabulary[id_])

    def _pieces_in(self, text: str) -> dict[str, int]:
        """Every piece that occurs in the text, and those that are needed in any case, first."""
        text = self._normaliser.normalize_str(_SPECIAL_IN_TEXT.sub(" ", text))
        text = (SPACE + text).replace(" ", SPACE)
        places = {text[i : i + self._vocabulary.longest] for i in range(len(text))}
        parts = {place[:length] for place in places for length in range(1, len(place) + 1)}
        return self._always | self._vocabulary.find(parts)

    def _backend(self, known: dict[str, int]) -> tokenizers.Tokenizer:
        scores = self._scores[list(known.values())].tolist()
        backend = tokenizers.Tokenizer(
            models.Unigram(list(zip(known, scores, strict=True)), list(known).index(UNKNOWN))
        )
        backend.normalizer = self._normaliser
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        backend.post_processor = self._frame
        backend.add_special_tokens(self._special)
        return backend
