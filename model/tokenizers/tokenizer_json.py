"""The tokenizer of a checkpoint, read from its tokenizer.json by the `tokenizers` library, without transformers."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers

from model.errors import HeadworkError, clipped, first_line, is_fault
from model.files import read_json
from model.tokenizers.time_limit import TimeLimit
from model.tokenizers.tokens import (
    MAX_CHARACTERS,
    SPACE,
    Token,
    Tokenizer,
    Tokens,
    assemble,
    clean_text,
    is_letters,
    no_text,
    visible,
)

HAN_BLOCKS = (range(0x4E00, 0xA000), range(0x3400, 0x4DC0), range(0xF900, 0xFB00), range(0x20000, 0x2FA20))
VARIATION_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))  # marks, but of a sign and not of a letter
MASK_TOKENS = ("[MASK]", "<mask>")
PAD_TOKENS = ("[PAD]", "<pad>")
END = "<|endoftext|>"  # GPT-2's only special token, which fills up as well
UNKNOWN_TOKENS = ("[UNK]", "<unk>")
ENDS = ("bos_token", "eos_token")  # in tokenizer_config.json: what stands before and after a text
# Any one of these makes a tokenizer, and the first is enough where it is; all of them plain text or SentencePiece.
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model")


SECONDS = 10.0  # for one text: the longest takes a twentieth of one second, or a pattern in tokenizer.json backtracks


@dataclass(frozen=True)
class Separator:
    """What a tokenizer puts between two texts that are read as a pair."""

    text: str  # as it is typed: " [SEP] "
    ids: tuple[int, ...]
    has_token_types: bool  # whether what follows is of another token type


class FastTokenizer(Tokenizer):
    """A trained model's tokenizer: WordPiece, byte-level BPE or SentencePiece, whatever tokenizer.json says.

    A special token that is typed ("[SEP]") becomes the model's token, as transformers has it: it is flagged special,
    belongs to no word, and keeps its characters. So labels and ids can't fall out of step over it.
    """

    def __init__(self, backend: tokenizers.Tokenizer, settings: dict[str, Any] | None = None) -> None:
        """Takes over `backend`; `settings` is the content of tokenizer_config.json."""
        settings = settings or {}
        named = {key: _content(settings.get(key)) for key in ("mask_token", "pad_token", "unk_token", *ENDS)}
        padding = backend.padding or {}
        backend.no_truncation()
        backend.no_padding()
        _apply_case_settings(backend, settings)
        added = backend.get_added_tokens_decoder()
        self._added = {id_: token.content for id_, token in added.items()}
        self._unknown_id = _first_id(backend, (named["unk_token"], *UNKNOWN_TOKENS))
        if self._unknown_id in {_first_id(backend, (named[end],)) for end in ENDS}:
            self._unknown_id = None  # GPT-2 and SmolLM2 name their end of text here too; bytes leave nothing unknown
        ordinary = {self._unknown_id, _first_id(backend, (named["mask_token"], *MASK_TOKENS))}
        self._special = {id_ for id_, token in added.items() if token.special} - ordinary
        self._start = named["bos_token"]
        self._parts_words = backend.pre_tokenizer is not None  # Llama 2's and Mistral's take a text for one word
        self._byte_level = backend.pre_tokenizer is not None and any(
            b'"ByteLevel"'
            in part.__getstate__()  # its JSON; that of all of `backend` passes every id up to the largest
            for part in (backend.pre_tokenizer, backend.normalizer, backend.decoder, backend.post_processor)
            if part is not None
        )
        pads = (named["pad_token"], padding.get("pad_token"), *PAD_TOKENS, named["eos_token"], END)
        pad_id = _first_id(backend, pads)
        self._letter = _first_id(backend, ("a", "▁a", "A"))
        self._padding = None
        if pad_id is not None:
            name = backend.id_to_token(pad_id) or PAD_TOKENS[0]
            self._padding = Token(name, pad_id, (0, 0), None, is_special=True, is_padding=True)
        self.backend = backend
        self._limit: TimeLimit[tokenizers.Encoding] = TimeLimit(SECONDS)

    def encode(self, text: str, *, limit: int, pad_to: int | None = None) -> Tokens:
        """The text as at most `limit` tokens; see `model.tokenizers.tokens.Tokenizer`."""
        text, n_cut_characters = clean_text(text)
        encoded = self._encoded(text)
        tokens = self._with_segments(self._tokens(text, encoded))
        if all(token.is_special and token.span == (0, 0) for token in tokens):
            raise no_text()  # only characters that this tokenizer drops, such as joiners without an emoji
        return assemble(
            text,
            tokens,
            limit=limit,
            pad_to=pad_to,
            padding=self._padding,
            label=self._label,
            unknown_id=self._unknown_id,
            has_token_types=tokens[-1].segment > 0 and self._separator is not None and self._separator.has_token_types,
            n_cut_characters=n_cut_characters,
        )

    def text_of(self, ids: Sequence[int]) -> str:
        """What tokens add to a text; see `model.tokenizers.tokens.Tokenizer`."""
        # After a letter, since SentencePiece's decoders take the space from the beginning of a text.
        before = [] if self._letter is None else [self._letter]
        return self._decoded([*before, *ids])[len(self._decoded(before)) :]

    def _decoded(self, ids: list[int]) -> str:
        return self.backend.decode(ids, skip_special_tokens=False)

    @property
    def start_mark(self) -> str:
        """What may be typed before a text to stand for its beginning; see `model.tokenizers.tokens.Tokenizer`."""
        id_ = _first_id(self.backend, (self._start,))
        if id_ not in self._special or self._encoded("a").special_tokens_mask[0]:
            return ""
        return self._start or ""

    def label_of(self, id_: int) -> str:
        """The token's label; see `model.tokenizers.tokens.Tokenizer`."""
        piece = self._added.get(id_) or self.backend.id_to_token(id_) or ""
        return self._label(Token(piece, id_, (0, 0), None))

    def is_special(self, id_: int) -> bool:
        """Whether a token is one of the model's marks."""
        return id_ in self._special

    def is_ordinary(self, id_: int) -> bool:
        """Whether an id is that of a word or a part of one; see `model.tokenizers.tokens.Tokenizer`."""
        return id_ not in self._added and is_letters(self.label_of(id_))

    def pair(self, first: str, second: str) -> str:
        """The text that `encode` reads as this pair; see `model.tokenizers.tokens.Tokenizer`."""
        if (separator := self._separator) is None:
            return super().pair(first, second)
        typed = separator.text.strip()
        if typed in first:
            raise HeadworkError(
                "The first text of a pair can't hold {separator} itself: there the second begins.", separator=typed
            )
        together = f"{clean_text(first)[0]}{separator.text}{clean_text(second)[0]}"
        if len(together) > MAX_CHARACTERS:
            raise HeadworkError(
                "The two texts have {n} characters; a pair may have {most}. Shorten them.",
                n=len(together),
                most=MAX_CHARACTERS,
            )
        return together

    @cached_property
    def _separator(self) -> Separator | None:
        """What parts a pair, tried out: None when a pair can't be typed as one text that gives the same ids."""
        pair = self._encoded(("a", "b"))
        texts = pair.sequence_ids
        if 1 not in texts:
            return None
        between = slice(len(texts) - texts[::-1].index(0), texts.index(1))
        typed = "".join(self._added.get(id_, "") for id_ in pair.ids[between])
        text = next((text for text in (f" {typed} ", typed) if self._encoded(f"a{text}b").ids == pair.ids), None)
        return None if text is None else Separator(text, tuple(pair.ids[between]), any(pair.type_ids))

    def _encoded(self, text: str | tuple[str, str]) -> tokenizers.Encoding:
        """What the library makes of a text or a pair.

        Raises:
            HeadworkError: it panics, or takes too long.
        """
        try:  # encode_batch, since encode holds Python's lock
            return self._limit.run(lambda: self.backend.encode_batch([text])[0])
        except TimeoutError:
            raise HeadworkError(
                "The tokenizer of this model takes more than {seconds:.0f} seconds for a text, so it was stopped. "
                "Choose another model.",
                seconds=self._limit.seconds,
            ) from None
        except BaseException as error:
            if not is_fault(error):
                raise
            raise HeadworkError(
                "The tokenizer of this model can't read this text ({reason}). Try another text, or another model.",
                reason=first_line(error),
            ) from error

    def _with_segments(self, tokens: list[Token]) -> list[Token]:
        """The tokens; where a separator is typed between two texts, the second is marked."""
        if not any(token.is_special and token.span != (0, 0) for token in tokens) or self._separator is None:
            return tokens
        ids, n = tuple(token.id for token in tokens), len(self._separator.ids)
        for after in range(n, len(tokens)):
            if ids[after - n : after] == self._separator.ids and tokens[after - n].span != (0, 0):
                first, second = tokens[:after], tokens[after:]
                if _has_text(first) and _has_text(second):
                    return [*first, *(replace(token, segment=1) for token in second)]
                break
        return tokens

    def _tokens(self, text: str, encoded: tokenizers.Encoding) -> list[Token]:
        tokens: list[Token] = []
        word, last_number, last_end, word_has_text = -1, None, 0, False
        rows = zip(
            encoded.ids, encoded.tokens, encoded.offsets, encoded.word_ids, encoded.special_tokens_mask, strict=True
        )
        for id_, piece, (start, end), number, added_by_tokenizer in rows:
            # An added token's text can carry the space that stood before it ("\n<mask>").
            piece = self._added.get(id_, piece)
            if added_by_tokenizer or id_ in self._special:
                tokens.append(Token(piece, id_, (start, end), None, is_special=True))
                last_number = None
                continue
            if piece in (SPACE, "Ġ") and not text[start:end].isspace():
                end = start  # the mark put before the first word stands for no character
            is_new = number != last_number and not (self._byte_level and _goes_on(text, start, last_end))
            is_new |= not self._parts_words and piece.startswith(SPACE)
            if is_new or (word_has_text and _starts_chinese_word(text, start, last_end)):
                word += 1
                word_has_text = False
            word_has_text = word_has_text or bool(text[start:end].strip())
            last_number, last_end = number, end
            tokens.append(Token(piece, id_, (start, end), word))
        return tokens

    def _label(self, token: Token) -> str:
        if self._byte_level and token.id not in self._added:
            return _byte_level_label(token.text)
        return visible(token.text)


def _has_text(tokens: Sequence[Token]) -> bool:
    return not all(token.is_special for token in tokens)


def load_tokenizer(folder: Path) -> FastTokenizer:
    """The tokenizer of a checkpoint folder: its tokenizer.json, or what transformers builds from a vocabulary file.

    Raises:
        HeadworkError: the folder has no tokenizer, or one that can't be read.
    """
    settings = _settings(folder)
    file = folder / TOKENIZER_FILES[0]
    if file.is_file():
        try:
            backend = tokenizers.Tokenizer.from_file(str(file))
        except BaseException as error:  # the library raises bare Exception, and panics
            if not is_fault(error):
                raise
            raise HeadworkError(
                "The tokenizer file {file} can't be read ({reason}). Download the model again.",
                file=file.name,
                reason=first_line(error),
            ) from error
        return FastTokenizer(backend, settings)
    if not any((folder / name).is_file() for name in TOKENIZER_FILES[1:]):
        raise HeadworkError(
            "The folder {folder} has no tokenizer (tokenizer.json or vocab.txt). "
            "Save it there with tokenizer.save_pretrained.",
            folder=folder.name,
        )
    return FastTokenizer(_built_by_transformers(folder), settings)


def _built_by_transformers(folder: Path) -> tokenizers.Tokenizer:
    from transformers import AutoTokenizer  # 2 s to import, so only when there is no tokenizer.json

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        backend = tokenizer.backend_tokenizer
    except Exception as error:  # whatever a damaged vocabulary or a tokenizer with its own code leads to
        raise HeadworkError(
            "No tokenizer could be made from the files in {folder}: {reason}",
            folder=folder.name,
            reason=clipped(str(error).replace(str(folder), folder.name).split("\n")[0] or type(error).__name__, 200),
        ) from error
    if not isinstance(backend, tokenizers.Tokenizer):
        raise HeadworkError(
            "The tokenizer in {folder} has no fast form, so words can't be told apart. Choose another model.",
            folder=folder.name,
        )
    return backend


def _settings(folder: Path) -> dict[str, Any]:
    try:
        settings = read_json(folder / "tokenizer_config.json")
    except HeadworkError:
        return {}  # it refines the tokenizer and isn't needed
    return settings if isinstance(settings, dict) else {}


def _content(token: Any) -> str | None:
    """The name of a special token, which tokenizer_config.json gives as a string or as an object with `content`."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


def _first_id(backend: tokenizers.Tokenizer, names: tuple[str | None, ...]) -> int | None:
    ids = (backend.token_to_id(name) for name in names if name is not None)
    return next((id_ for id_ in ids if id_ is not None), None)


def _apply_case_settings(backend: tokenizers.Tokenizer, settings: dict[str, Any]) -> None:
    """Let tokenizer_config.json overrule the BERT normaliser's case, as transformers does."""
    normalizer = backend.normalizer
    if not isinstance(normalizer, tokenizers.normalizers.BertNormalizer):
        return
    for key, attribute in (
        ("do_lower_case", "lowercase"),
        ("strip_accents", "strip_accents"),
        ("tokenize_chinese_chars", "handle_chinese_chars"),
    ):
        if isinstance(settings.get(key), bool):
            setattr(normalizer, attribute, settings[key])


def _starts_chinese_word(text: str, start: int, last_end: int) -> bool:
    """Whether a piece at `start` begins a new word inside what the tokenizer calls one.

    SentencePiece takes a whole Chinese clause for one word, since no space parts it; there a piece is the better word.
    Pieces that are parts of one character (byte-level) have its span and stay together.
    """
    return last_end <= start < len(text) and (is_han(text[start]) or is_han(text[last_end - 1]))


def _goes_on(text: str, start: int, last_end: int) -> bool:
    """Whether a piece at `start` goes on with the word before it, though byte-level BPE parts the two.

    It takes apart each digit of a number (SmolLM2), the space before it, and a vowel sign or accent that is a
    character of its own (Hindi).
    """
    if not 0 < last_end == start < len(text):
        return False
    before, here = text[start - 1], text[start]
    if here.isdigit():
        return before.isdigit() or (before == " " and not text[max(start - 2, 0) : start - 1].isspace())
    is_mark, was_mark = (unicodedata.category(c).startswith("M") for c in (here, before))
    return is_mark or (was_mark and here.isalpha() and before not in VARIATION_SELECTORS)


def is_han(character: str) -> bool:
    """Whether a character is a Chinese one: the blocks that BERT's tokenizer sets apart."""
    point = ord(character)
    return any(point in block for block in HAN_BLOCKS)


def _bytes_of_characters() -> dict[str, int]:
    """Byte-level BPE writes each byte as one printable character (GPT-2's encoder.py, bytes_to_unicode)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


_BYTES = _bytes_of_characters()


def _bytes_as_numbers(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"<0x{byte:02X}>" for byte in error.object[error.start : error.end]), error.end


_AS_NUMBERS = "headwork.bytes_as_numbers"
codecs.register_error(_AS_NUMBERS, _bytes_as_numbers)


def _byte_level_label(piece: str) -> str:
    """The text that a byte-level token stands for; bytes that are no whole character are shown as <0xF0>."""
    if any(c not in _BYTES for c in piece):
        return visible(piece)
    return visible(bytes(_BYTES[c] for c in piece).decode("utf-8", _AS_NUMBERS))
