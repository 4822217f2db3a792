"""A Unigram tokenizer (Kudo 2018) with a large vocabulary, at a fifth of the memory and start of the library's own.

The `tokenizers` library builds a tree of all pieces, which for XLM-R's 250,002 takes two seconds and 280 MB. The best
way to cut a text depends on nothing but the pieces that stand in it. So the library gets those alone, some hundreds,
anew for each text, and the result is the same, to the last offset.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from model.fast_tokens import MASK_TOKENS, FastTokenizer
from model.tokens import SPACE, Tokens, clean_text

# SentencePiece's nmt_nfkc, by which XLM-R's vocabulary was made, leaves these alone, and NFKC doesn't ("~", "配").
LEFT_ALONE = {"～": "\ufdd0", "🈻": "\ufdd1"}  # in the meantime a code point that is never a character


class UnigramTokenizer:
    """SentencePiece's Unigram as XLM-R has it: <s> … </s>, "▁" for a space, characters in their NFKC form.

    Args:
        ids: every piece, in the order of the ids, which count from 0.
        scores: log probabilities (n,).
        bos, eos, pad, unk: ids of the special tokens.
    """

    def __init__(
        self, ids: dict[str, int], scores: NDArray[np.float32], *, bos: int, eos: int, pad: int, unk: int
    ) -> None:
        self._ids = ids
        self._scores = scores
        names = list(ids)
        mask = [ids[name] for name in MASK_TOKENS if name in ids]
        self._special = {names[id_]: id_ for id_ in (bos, eos, pad, unk, *mask)}
        self._unk = names[unk]
        # What isn't in the vocabulary gets the lowest score of all pieces less ten, so that piece is never missing.
        self._always = {**self._special, names[int(scores.argmin())]: int(scores.argmin())}
        self._longest = max(map(len, names))
        self._normaliser = normalizers.Sequence(
            [
                normalizers.Nmt(),
                *(normalizers.Replace(character, other) for character, other in LEFT_ALONE.items()),
                normalizers.NFKC(),
                *(normalizers.Replace(other, character) for character, other in LEFT_ALONE.items()),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        )
        self._special_in_text = re.compile("|".join(map(re.escape, self._special)))
        first, last = names[bos], names[eos]
        self._frame = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            special_tokens=[(name, list(self._always).index(name)) for name in (first, last)],
        )
        self._settings = {"unk_token": names[unk], "pad_token": names[pad]}

    def encode(self, text: str, *, limit: int, pad_to: int | None = None) -> Tokens:
        """Tokenise `text` into at most `limit` tokens; see `model.tokens.Tokenizer`."""
        known = self._pieces_in(clean_text(text)[0])
        small = FastTokenizer(self._backend(known), self._settings)
        tokens = small.encode(text, limit=limit, pad_to=pad_to)
        ids = list(known.values())
        return replace(tokens, ids=tuple(ids[id_] for id_ in tokens.ids))

    def _pieces_in(self, text: str) -> dict[str, int]:
        """Every piece that occurs in the text, and those that are needed in any case, first."""
        text = self._normaliser.normalize_str(self._special_in_text.sub(" ", text))
        text = (SPACE + text).replace(" ", SPACE)
        places = {text[i : i + self._longest] for i in range(len(text))}
        parts = {place[:length] for place in places for length in range(1, len(place) + 1)}
        found = sorted((self._ids[part], part) for part in parts if part in self._ids and part not in self._always)
        return self._always | {part: id_ for id_, part in found}

    def _backend(self, known: dict[str, int]) -> Tokenizer:
        scores = self._scores[list(known.values())].tolist()
        unknown = list(known).index(self._unk)
        backend = Tokenizer(models.Unigram(list(zip(known, scores, strict=True)), unknown))
        backend.normalizer = self._normaliser
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        backend.post_processor = self._frame
        backend.add_special_tokens(
            [AddedToken(name, lstrip=name in MASK_TOKENS, normalized=False, special=True) for name in self._special]
        )
        return backend
