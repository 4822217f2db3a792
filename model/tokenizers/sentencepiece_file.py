"""A SentencePiece model file (Kudo & Richardson 2018), read without the sentencepiece library.

It is a protocol buffer, sentencepiece_model.proto. Of it are read the pieces with their scores and kinds, and how a
text is brought into its normal form; the `tokenizers` library then cuts a text as SentencePiece's Unigram does. (They
differ over a ▁ that is typed first, and over what stands after a letter that the normal form replaces by another.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from model.errors import HeadworkError, first_line, is_fault
from model.tokenizers.tokens import SPACE

MOST_BYTES = 50_000_000  # of one file; a vocabulary of 250,000 pieces takes 5 MB
NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5
UNIGRAM = 1
# What stands in the vocabulary for pieces that no text gives: characters that are none, so nobody types them.
_NEVER = "\ufdd0{}\ufdd1"


@dataclass(frozen=True)
class SentencePieceModel:
    """What a file says.

    Attributes:
        pieces: in the order of their numbers.
        scores: log probabilities, likewise.
        kinds: likewise; 1 normal, 2 unknown, 3 control, 5 unused.
        character_map: how characters are replaced, as SentencePiece compiles it; empty = they stay.
        adds_space: a space is put before a text.
        drops_spaces: spaces at both ends, and all but one of several, are left out.
    """

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    kinds: tuple[int, ...]
    character_map: bytes
    adds_space: bool
    drops_spaces: bool


def read_sentencepiece(path: Path) -> SentencePieceModel:
    """Reads a file.

    Raises:
        HeadworkError: it can't be read, is no such file, or asks for what isn't done here.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("too large")
        found = _parsed(path.read_bytes())
    except (OSError, ValueError, IndexError, TypeError, struct.error, OverflowError) as error:
        raise HeadworkError(
            "The tokenizer file {file} can't be read ({reason}). Get it again.",
            file=path.name,
            reason=first_line(error),
        ) from error
    strange = {kind for kind in found.kinds if kind not in (NORMAL, UNKNOWN, CONTROL, UNUSED)}
    if strange or found.kinds.count(UNKNOWN) != 1:
        raise _unsupported(path, f"pieces of kind {min(strange)}" if strange else "no single unknown piece")
    return found


def _parsed(data: bytes) -> SentencePieceModel:
    pieces, scores, kinds = [], [], []
    trainer: dict[int, int | bytes] = {}
    normaliser: dict[int, int | bytes] = {}
    for number, value in _fields(data):
        if number == 1:
            piece = dict(_fields(_bytes(value)))
            pieces.append(_bytes(piece.get(1, b"")).decode("utf-8"))
            scores.append(struct.unpack("<f", _bytes(piece.get(2, bytes(4))))[0])
            kinds.append(int(piece.get(3, NORMAL)))
        elif number == 2:
            trainer = dict(_fields(_bytes(value)))
        elif number == 3:
            normaliser = dict(_fields(_bytes(value)))
    if trainer.get(3, UNIGRAM) != UNIGRAM:
        raise ValueError("it is not of the kind Unigram")
    if trainer.get(24, 0) or not normaliser.get(5, 1):
        raise ValueError("its spaces are kept otherwise than as ▁ before a word")
    return SentencePieceModel(
        tuple(pieces),
        tuple(scores),
        tuple(kinds),
        _bytes(normaliser.get(2, b"")),
        bool(normaliser.get(3, 1)),
        bool(normaliser.get(4, 1)),
    )


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number stands where a text should")
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer's message: their numbers, and a whole number or the bytes of each."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind not in (1, 2, 5):
            raise ValueError("it is no SentencePiece model")
        length, at = _varint(data, at) if kind == 2 else (8 if kind == 1 else 4, at)
        if at + length > len(data):
            raise ValueError("it ends too soon")
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number in sevens of bits, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("it is no SentencePiece model")


def unigram_backend(found: SentencePieceModel) -> Tokenizer:
    """A tokenizer that gives the numbers of a file's pieces, without marks before or after a text.

    Raises:
        HeadworkError: the library doesn't take them.
    """
    vocabulary = [
        (piece if kind in (NORMAL, UNKNOWN) else _NEVER.format(i), score)
        for i, (piece, score, kind) in enumerate(zip(found.pieces, found.scores, found.kinds, strict=True))
    ]
    steps: list[normalizers.Normalizer] = []
    if found.drops_spaces:
        steps = [normalizers.Replace(Regex(r"\A +| +\z"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    try:
        if found.character_map:
            steps = [normalizers.Precompiled(found.character_map), *steps]
        backend = Tokenizer(models.Unigram(vocabulary, found.kinds.index(UNKNOWN)))
    except BaseException as error:  # the library raises bare Exception, and panics
        if not is_fault(error):
            raise
        raise HeadworkError(
            "The tokenizer of this model can't be used: {reason}. Get the model again, or choose another.",
            reason=first_line(error),
        ) from error
    backend.normalizer = normalizers.Sequence(steps)
    scheme = "always" if found.adds_space else "never"
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme=scheme)
    backend.decoder = decoders.Metaspace(replacement=SPACE, prepend_scheme=scheme)
    return backend


def _unsupported(path: Path, what: str) -> HeadworkError:
    return HeadworkError(
        "The tokenizer file {file} has {what}, which is not supported. Choose another model.", file=path.name, what=what
    )
