"""Who may attend to whom: masks as values that can be named, combined and written into a link.

A mask is boolean and True means "the query (row) may attend to the key (column)". It enters attention as an added
−inf before the softmax (Vaswani et al. 2017, section 3.2.3). Libraries disagree on the polarity; this is ours.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.attention import not_boolean
from model.errors import HeadworkError, shown


@dataclass(frozen=True)
class Mask:
    """What a query may see, as the conjunction of up to five conditions. Equal masks compare equal and hash alike.

    `a & b` allows what both allow. The fields are already in normal form: a narrower window swallows a wider one,
    a causal mask swallows a prefix, and a prefix of at most one token is a causal mask. (Masks that happen to allow the
    same cells for one length only, such as a window wider than the sentence, stay different.)
    """

    is_causal: bool = False
    window_size: int | None = None
    prefix_length: int | None = None
    padded_length: int | None = None
    custom: tuple[tuple[bool, ...], ...] | None = None

    def __post_init__(self) -> None:
        """Checks the numbers and brings the conditions into normal form."""
        for name, value, least in (
            ("window", self.window_size, 0),
            ("prefix", self.prefix_length, 0),
            ("padding", self.padded_length, 1),
        ):
            if value is not None and value < least:
                raise HeadworkError(
                    "The mask {name}:{value} makes no sense: the number must be at least {least}.",
                    name=name,
                    value=value,
                    least=least,
                )
        if self.prefix_length is not None and self.prefix_length <= 1:  # the first key is no later than any query
            object.__setattr__(self, "is_causal", True)
        if self.is_causal:  # j ≤ i already implies "j < K or j ≤ i"
            object.__setattr__(self, "prefix_length", None)

    @classmethod
    def bidirectional(cls) -> Mask:
        """Every query sees every key, as in BERT."""
        return cls()

    @classmethod
    def causal(cls) -> Mask:
        """Query i sees keys j ≤ i, as in a decoder."""
        return cls(is_causal=True)

    @classmethod
    def window(cls, size: int) -> Mask:
        """Query i sees itself and `size` tokens to each side: |i − j| ≤ size (Beltagy et al. 2020, section 3.1)."""
        return cls(window_size=size)

    @classmethod
    def prefix(cls, length: int) -> Mask:
        """Every query sees the first `length` keys; beyond them it is causal (Raffel et al. 2020, section 3.2.1)."""
        return cls(prefix_length=length)

    @classmethod
    def padding(cls, length: int) -> Mask:
        """The sentence is padded to `length` tokens and no query sees a padding key."""
        return cls(padded_length=length)

    @classmethod
    def matrix(cls, allowed: Tensor | NDArray[Any] | Sequence[Sequence[bool]]) -> Mask:
        """Any matrix (N, N) of booleans, or of 1 = may attend and 0. It fits sentences of exactly N tokens.

        Raises:
            HeadworkError: it isn't square, or holds anything else.
        """
        rows = allowed.tolist() if isinstance(allowed, Tensor | np.ndarray) else allowed
        rows = rows if isinstance(rows, Sequence) else []
        sizes = {len(row) if isinstance(row, Sequence | np.ndarray) else 0 for row in rows}
        if sizes != {len(rows)}:
            raise HeadworkError(
                "A mask must be a square matrix, one row and one column for each token; "
                "this one has {n_rows} rows of {lengths} cells.",
                n_rows=len(rows),
                lengths=" / ".join(str(n) for n in sorted(sizes)) or "0",
            )
        for cell in itertools.chain.from_iterable(rows):
            if not isinstance(cell, int | np.bool_ | np.integer) or cell not in (0, 1):
                raise not_boolean(getattr(allowed, "dtype", type(cell).__name__))
        return cls(custom=tuple(tuple(bool(cell) for cell in row) for row in rows))

    @classmethod
    def of(cls, mask: MaskLike) -> Mask:
        """The mask that is meant: a mask as it is, a spelling read by `parse_mask`, or a `matrix`."""
        if isinstance(mask, Mask):
            return mask
        if isinstance(mask, Tensor | np.ndarray | list | tuple):
            return cls.matrix(mask)
        return parse_mask(mask if isinstance(mask, str) else shown(mask))

    def __and__(self, other: Mask) -> Mask:
        """The mask that allows what both allow."""
        if None not in (self.padded_length, other.padded_length) and self.padded_length != other.padded_length:
            raise HeadworkError(
                "A sentence can't be padded to {a} and to {b} tokens at once.",
                a=self.padded_length,
                b=other.padded_length,
            )
        return Mask(
            is_causal=self.is_causal or other.is_causal,
            window_size=_least(self.window_size, other.window_size),
            prefix_length=_least(self.prefix_length, other.prefix_length),
            padded_length=_least(self.padded_length, other.padded_length),
            custom=_both(self.custom, other.custom),
        )

    def __str__(self) -> str:
        """The mask's one spelling, the same in Python, on the command line and in links: `causal+padding:16`."""
        parts = []
        if self.is_causal:
            parts.append("causal")
        if self.window_size is not None:
            parts.append(f"window:{self.window_size}")
        if self.prefix_length is not None:
            parts.append(f"prefix:{self.prefix_length}")
        if self.padded_length is not None:
            parts.append(f"padding:{self.padded_length}")
        if self.custom is not None:
            parts.append(f"matrix:{len(self.custom)}:{_to_hex(self.custom)}")
        return "+".join(parts) or "bidirectional"

    @property
    def hides_later_tokens(self) -> bool:
        """Whether some query is kept from a later key by a causal or prefix rule."""
        return self.is_causal or self.prefix_length is not None

    def allowed(self, n_tokens: int, is_padding: Tensor | None = None) -> Tensor:
        """The mask as a matrix for sentences of N tokens.

        Args:
            n_tokens: N, padding included.
            is_padding: (N,) or (B, N), True = the token is [PAD]: its column is blocked. A row of a padding
                query stays as it is; nothing reads it.

        Returns:
            (N, N), or (B, 1, N, N) when is_padding is (B, N). True = may attend.

        Raises:
            HeadworkError: a padding mask without is_padding, or a drawn matrix of another size.
        """
        query = torch.arange(n_tokens)[:, None]  # (N, 1)
        key = torch.arange(n_tokens)[None, :]  # (1, N)
        allowed = torch.ones(n_tokens, n_tokens, dtype=torch.bool)  # (N, N)
        if self.is_causal:
            allowed &= key <= query
        if self.window_size is not None:
            allowed &= (query - key).abs() <= self.window_size
        if self.prefix_length is not None:
            allowed &= (key < self.prefix_length) | (key <= query)
        if self.custom is not None:
            if len(self.custom) != n_tokens:
                raise HeadworkError(
                    "This mask was drawn for {n_drawn} tokens, but the sentence has {n_tokens}. "
                    "Draw it again for this sentence.",
                    n_drawn=len(self.custom),
                    n_tokens=n_tokens,
                )
            allowed &= torch.tensor(self.custom, dtype=torch.bool)
        if is_padding is None:
            if self.padded_length is not None:
                raise HeadworkError("A padding mask needs to know which tokens are padding.")
            return allowed
        if is_padding.dim() == 1:
            return allowed & ~is_padding[None, :]  # (N, N)
        return allowed & ~is_padding[:, None, None, :]  # (B, 1, N, N)


MaskLike = Mask | str | Tensor | NDArray[Any] | Sequence[Sequence[bool]]
_WORDS = ("window", "prefix", "padding")
_LONGEST = 1_000_000  # a number in a link is checked before any matrix is made


def parse_mask(text: str) -> Mask:
    """Reads a mask's spelling: `bidirectional`, `causal`, `window:K`, `prefix:K`, `padding:M`, joined with `+`.

    Raises:
        HeadworkError: anything else.
    """
    mask = Mask.bidirectional()
    for part in text.strip().lower().replace(" ", "+").split("+"):  # a "+" in a link may arrive as a space
        mask &= _parse_part(part, text)
    return mask


def _parse_part(part: str, whole: str) -> Mask:
    name, _, argument = part.partition(":")
    if name in ("bidirectional", "causal") and not argument and ":" not in part:
        return Mask(is_causal=name == "causal")
    if name in _WORDS and re.fullmatch(r"[0-9]{1,7}", argument) and int(argument) <= _LONGEST:
        number = int(argument)
        if name == "window":
            return Mask.window(number)
        return Mask.prefix(number) if name == "prefix" else Mask.padding(number)
    if name == "matrix" and (found := re.fullmatch(r"([1-9][0-9]{0,2}):([0-9a-f]+)", argument)):
        n, digits = int(found[1]), found[2]
        if len(digits) == -(-n * n // 4):
            return Mask.matrix(_from_hex(n, digits))
    raise HeadworkError(
        'There is no mask "{text}". Use bidirectional, causal, window:K, prefix:K or padding:M, joined with +, '
        "for example causal+padding:16.",
        text=whole[:80],
    )


def _least(a: int | None, b: int | None) -> int | None:
    present = [n for n in (a, b) if n is not None]
    return min(present) if present else None


Matrix = tuple[tuple[bool, ...], ...]


def _both(a: Matrix | None, b: Matrix | None) -> Matrix | None:
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        raise HeadworkError(
            "Masks drawn for {a} and for {b} tokens can't be combined.",
            a=len(a),
            b=len(b),
        )
    return tuple(tuple(x and y for x, y in zip(row_a, row_b, strict=True)) for row_a, row_b in zip(a, b, strict=True))


def _to_hex(matrix: Matrix) -> str:
    """Cells row by row, four to a hexadecimal digit, the last digit filled up with zeros."""
    bits = "".join("1" if cell else "0" for row in matrix for cell in row)
    bits += "0" * (-len(bits) % 4)
    return "".join(f"{int(bits[i : i + 4], 2):x}" for i in range(0, len(bits), 4))


def _from_hex(n: int, digits: str) -> Matrix:
    bits = "".join(f"{int(digit, 16):04b}" for digit in digits)
    return tuple(tuple(bits[row * n + column] == "1" for column in range(n)) for row in range(n))
