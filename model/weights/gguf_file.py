"""Reads a GGUF file of the Llama architecture: llama.cpp's one file for sizes, vocabulary and quantised weights.

The package `gguf` parses it and turns blocks into numbers. Here its sizes become a config.json of the family Llama, its
vocabulary two lists, and its tensors those of a Transformer, every one checked against the sizes.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, dequantize
from gguf.gguf_reader import ReaderField, ReaderTensor
from numpy.typing import NDArray

from model.errors import HeadworkError, clipped, first_line
from model.files import sha256_of
from model.transformer import Transformer, TransformerConfig
from model.weights.checkpoints import check_published, config_from
from model.weights.families.decoders import not_supported
from model.weights.names import check_finite, tensor_names

MAGIC = b"GGUF"
ARCHITECTURE = "llama"
ROWS_AT_ONCE = 2048
SPECIAL_TYPES = (3, 4)  # in tokenizer.ggml.token_type: control tokens and those a user added (enum llama_token_type)
_NAMES = {  # our tensors → theirs, as `tensor_names` takes them
    "embeddings.token": "token_embd",
    "blocks.{i}.attention_norm": "blk.{i}.attn_norm",
    "blocks.{i}.attention.W_q": "blk.{i}.attn_q",
    "blocks.{i}.attention.W_k": "blk.{i}.attn_k",
    "blocks.{i}.attention.W_v": "blk.{i}.attn_v",
    "blocks.{i}.attention.W_o": "blk.{i}.attn_output",
    "blocks.{i}.ffn_norm": "blk.{i}.ffn_norm",
    "blocks.{i}.ffn.W_gate": "blk.{i}.ffn_gate",
    "blocks.{i}.ffn.W_1": "blk.{i}.ffn_up",
    "blocks.{i}.ffn.W_2": "blk.{i}.ffn_down",
    "final_norm": "output_norm",
    "output": "output",
}
_SIZES = {  # entries of config.json → a file's, which begin with the architecture
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
    "num_attention_heads": "attention.head_count",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
}
_REFUSED = {  # what changes the numbers and isn't done here → the value under which it doesn't
    "rope.scaling.type": "none",
    "expert_count": 0,
    "attention.sliding_window": 0,
}


@dataclass(frozen=True)
class GGUFFile:
    """What a file holds. Tensors are views of the file, which stays mapped as long as one of them lives.

    Attributes:
        tokenizer: its kind, and how it parts a text into words, as llama.cpp calls them ("gpt2", "smollm").
        pieces: the vocabulary, in the order of the ids.
        merges: of byte-level BPE, "left right", the first is made first.
        special: the ids of control tokens.
        start_id, padding_id: of the token before a text, and of the one that fills up; None = the file names none.
        tensors: by their names in the file, quantised.
        sha256: of the whole file.
    """

    path: Path
    config: TransformerConfig
    tokenizer: tuple[Any, Any]
    pieces: list[str]
    merges: list[str]
    special: list[int]
    start_id: int | None
    padding_id: int | None
    tensors: dict[str, ReaderTensor]
    sha256: str


def read_gguf(path: Path, *, expected_sha256: str | None = None) -> GGUFFile:
    """Reads and checks a file. Weights are not decoded.

    Args:
        path: the file.
        expected_sha256: refuse a file with another hash.

    Raises:
        HeadworkError: it can't be opened, is no GGUF file, is cut short, of another architecture, or says things that
            don't fit together.
    """
    try:
        sha256 = sha256_of(path)
        check_published(path.name, sha256, expected_sha256)
        with path.open("rb") as stream:
            start = stream.read(len(MAGIC))
    except OSError as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=path.name, reason=first_line(error)) from error
    if start != MAGIC:
        raise HeadworkError("{file} is not a model in the format {format}.", file=path.name, format=MAGIC.decode())
    try:
        reader = _Reader(path)
        values = {name: _value(field) for name, field in reader.fields.items()}
    except HeadworkError:
        raise
    except Exception as error:  # whatever cut or strange bytes lead the package to
        raise damaged(path, first_line(error)) from error
    if reader.byte_order != "I":
        raise damaged(path, "its bytes are in the order of another kind of processor")
    return _checked(path, values, {tensor.name: tensor for tensor in reader.tensors}, sha256)


def damaged(path: Path, reason: str) -> HeadworkError:
    """The error for a file that doesn't hold together."""
    return HeadworkError(
        "{file} is damaged: {reason}. Install the package {package} again.",
        file=path.name,
        reason=reason,
        package=path.parent.name,
    )


def decoded_weights(file: GGUFFile, transformer: Transformer) -> dict[str, torch.Tensor]:
    """Every tensor in float32, under our names.

    Args:
        file: what `read_gguf` read.
        transformer: of the file's config, without numbers: its shapes are what the file must have.

    Raises:
        HeadworkError: a tensor is missing, left over, of another shape or not finite, or its quantisation is not known.
    """
    names = tensor_names(transformer, _NAMES)
    if missing := sorted(set(names.values()) - file.tensors.keys()):
        raise damaged(file.path, f"it lacks the tensor {missing[0]}")
    if surplus := sorted(file.tensors.keys() - set(names.values())):
        raise damaged(file.path, f"a model of its sizes has no place for the tensor {clipped(surplus[0])}")
    return {
        ours: _decoded(file, ours, file.tensors[names[ours]], tuple(tensor.shape))
        for ours, tensor in transformer.state_dict().items()
    }


class _Reader(GGUFReader):
    """The package's reader, which takes an array whole instead of making an object of each of its elements.

    For the 98,000 strings of a vocabulary and its merges that saves 1.5 s and 160 MB, and an array that says it is
    longer than the file ends at once.
    """

    def _get_field_parts(
        self, orig_offs: int, raw_type: int
    ) -> tuple[int, list[NDArray[Any]], list[int], list[GGUFValueType]]:
        if raw_type != GGUFValueType.ARRAY:
            return super()._get_field_parts(orig_offs, raw_type)
        kind = GGUFValueType(self._get(orig_offs, np.uint32)[0])
        count = int(self._get(orig_offs + 4, np.uint64)[0])
        start = orig_offs + 12
        end = start
        if kind == GGUFValueType.STRING:
            for _ in range(count):
                end += 8 + int.from_bytes(self.data[end : end + 8].data, "little")
                if end > len(self.data):
                    break
        else:
            end += count * np.dtype(self.gguf_scalar_to_np[kind]).itemsize
        if end > len(self.data):
            raise ValueError("an array is longer than the file")
        dtype = np.uint8 if kind == GGUFValueType.STRING else self.gguf_scalar_to_np[kind]
        parts = [self._get(start, dtype, end - start if kind == GGUFValueType.STRING else count)]
        return end - orig_offs, parts, [0], [GGUFValueType.ARRAY, kind]

    def _get_tensor_info_field(self, orig_offs: int) -> ReaderField:
        field = super()._get_tensor_info_field(orig_offs)
        if (kind := int(field.parts[4][0])) not in set(GGMLQuantizationType):
            raise _unknown_quantisation(field.name, str(kind))
        return field


def _value(field: ReaderField) -> Any:
    """What a field says: a number, a text, or a list of such."""
    if field.types != [GGUFValueType.ARRAY, GGUFValueType.STRING]:
        return field.contents()
    content = field.parts[-1].tobytes()
    strings = []
    at = 0
    while at < len(content):
        end = at + 8 + int.from_bytes(content[at : at + 8], "little")
        strings.append(content[at + 8 : end].decode("utf-8"))
        at = end
    return strings


def _checked(path: Path, values: Mapping[str, Any], tensors: dict[str, ReaderTensor], sha256: str) -> GGUFFile:
    pieces = values.get("tokenizer.ggml.tokens", [])
    merges = values.get("tokenizer.ggml.merges", [])
    kinds = values.get("tokenizer.ggml.token_type", [])
    if not all(isinstance(each, list) for each in (pieces, merges, kinds)):
        raise damaged(path, "its vocabulary is no list")
    if not all(isinstance(text, str) for text in (*pieces, *merges)):
        raise damaged(path, "its vocabulary holds no text")
    embedding = tensors.get("token_embd.weight")
    if embedding is not None and len(embedding.data) != len(pieces):
        raise damaged(path, f"it has {len(pieces)} pieces for {len(embedding.data)} vectors")
    if len(kinds) != len(pieces):
        raise damaged(path, f"it has {len(pieces)} pieces and {len(kinds)} kinds of them")
    return GGUFFile(
        path,
        config_from(_config_json(path, values, len(pieces), is_tied="output.weight" not in tensors)),
        (values.get("tokenizer.ggml.model"), values.get("tokenizer.ggml.pre")),
        pieces,
        merges,
        [id_ for id_, kind in enumerate(kinds) if kind in SPECIAL_TYPES],
        values.get("tokenizer.ggml.bos_token_id"),
        values.get("tokenizer.ggml.padding_token_id"),
        tensors,
        sha256,
    )


def _config_json(path: Path, values: Mapping[str, Any], vocab_size: int, *, is_tied: bool) -> dict[str, Any]:
    """The sizes as a config.json of the family Llama has them."""
    architecture = values.get("general.architecture")
    if architecture != ARCHITECTURE:
        raise HeadworkError(
            "The architecture {model_type} is not supported. These are: {families}.",
            model_type=clipped(architecture),
            families=ARCHITECTURE,
        )
    own = {name.removeprefix(f"{ARCHITECTURE}."): value for name, value in values.items()}
    for name, harmless in _REFUSED.items():
        if own.get(name, harmless) != harmless:
            raise not_supported(path.name, name, own[name])
    if missing := [name for name in _SIZES.values() if name not in own]:
        raise damaged(path, f"it has no entry {ARCHITECTURE}.{missing[0]}")
    sizes = {name: own[theirs] for name, theirs in _SIZES.items()}
    width, turned = own.get("attention.key_length"), own.get("rope.dimension_count")
    if None not in (width, turned) and width != turned:  # some columns only: which ones, this format doesn't say
        raise not_supported(path.name, "rope.dimension_count", turned)
    return {
        **sizes,
        "model_type": ARCHITECTURE,
        "vocab_size": vocab_size,
        "rms_norm_eps": _shortest(sizes["rms_norm_eps"]),
        "num_key_value_heads": own.get("attention.head_count_kv"),
        "head_dim": own.get("attention.key_length", own.get("rope.dimension_count")),
        "rope_theta": own.get("rope.freq_base", 10_000.0),
        "tie_word_embeddings": is_tied,
    }


def _shortest(value: Any) -> Any:
    """A number of the file, in float32, as it was written before: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value))) if isinstance(value, float) else value


def _decoded(file: GGUFFile, name: str, tensor: ReaderTensor, shape: tuple[int, ...]) -> torch.Tensor:
    """One tensor as numbers, its rows in the order that transformers has."""
    found = tuple(int(size) for size in reversed(tensor.shape))
    if found != shape:
        raise damaged(file.path, f"the tensor {tensor.name} has the shape {found}, not {shape}")
    rows = tensor.data
    if name.endswith("W_q.weight"):
        rows = _rows_in_order(rows, file.config.num_heads)
    elif name.endswith("W_k.weight"):
        rows = _rows_in_order(rows, file.config.key_heads)
    # Pages of its own: what packing lets go of (model.packed) returns to the system, which freed small blocks don't.
    numbers = np.frombuffer(mmap.mmap(-1, 4 * math.prod(shape)), np.float32).reshape(shape)
    try:
        with np.errstate(all="ignore"):  # what isn't finite is said below
            for start in range(0, len(rows), ROWS_AT_ONCE):  # the package takes twice the memory of what it decodes
                part = slice(start, start + ROWS_AT_ONCE)
                numbers[part] = dequantize(rows[part], tensor.tensor_type)
    except NotImplementedError:
        raise _unknown_quantisation(tensor.name, tensor.tensor_type.name) from None
    weights = torch.from_numpy(numbers)
    check_finite(tensor.name, weights)
    return weights


def _rows_in_order(rows: NDArray[Any], n_heads: int) -> NDArray[Any]:
    """Undoes what llama.cpp does to W_q and W_k, so that the two columns that a rotation turns lie side by side.

    Row 2i of a head goes back to i, row 2i + 1 to i + d_k / 2 (LlamaModel.permute in convert_hf_to_gguf.py).
    """
    return rows.reshape(n_heads, -1, 2, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def _unknown_quantisation(tensor: str, kind: str) -> HeadworkError:
    return HeadworkError(
        "The tensor {name} is quantised as {kind}, which can't be read here. Choose another model.",
        name=clipped(tensor),
        kind=kind,
    )
