"""Trained weights from a folder: BERT, DistilBERT and RoBERTa families, safetensors only.

A folder holds config.json and model.safetensors (or shards with model.safetensors.index.json), as `save_pretrained`
writes them. Names of tensors are matched against the Transformer built from the config: a tensor that is missing, left
over or of another shape is an error that names it. Pickled weights (pytorch_model.bin) are never opened.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from model.blank import blank, fill
from model.blocks import Activation
from model.errors import HeadworkError
from model.transformer import Transformer, TransformerConfig

WEIGHTS, INDEX, CONFIG = "model.safetensors", "model.safetensors.index.json", "config.json"
MODULES = "modules.json"  # of sentence-transformers

_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
}

# Ours → theirs. "{i}" is the layer; weight and bias are matched together where the name ends in a module.
_BERT = {
    "embeddings.token.weight": "embeddings.word_embeddings.weight",
    "embeddings.position": "embeddings.position_embeddings.weight",
    "embeddings.token_type": "embeddings.token_type_embeddings.weight",
    "embeddings.norm": "embeddings.LayerNorm",
    "blocks.{i}.attention.W_q": "encoder.layer.{i}.attention.self.query",
    "blocks.{i}.attention.W_k": "encoder.layer.{i}.attention.self.key",
    "blocks.{i}.attention.W_v": "encoder.layer.{i}.attention.self.value",
    "blocks.{i}.attention.W_o": "encoder.layer.{i}.attention.output.dense",
    "blocks.{i}.attention_norm": "encoder.layer.{i}.attention.output.LayerNorm",
    "blocks.{i}.ffn.W_1": "encoder.layer.{i}.intermediate.dense",
    "blocks.{i}.ffn.W_2": "encoder.layer.{i}.output.dense",
    "blocks.{i}.ffn_norm": "encoder.layer.{i}.output.LayerNorm",
}
_DISTILBERT = {
    "embeddings.token.weight": "embeddings.word_embeddings.weight",
    "embeddings.position": "embeddings.position_embeddings.weight",
    "embeddings.norm": "embeddings.LayerNorm",
    "blocks.{i}.attention.W_q": "transformer.layer.{i}.attention.q_lin",
    "blocks.{i}.attention.W_k": "transformer.layer.{i}.attention.k_lin",
    "blocks.{i}.attention.W_v": "transformer.layer.{i}.attention.v_lin",
    "blocks.{i}.attention.W_o": "transformer.layer.{i}.attention.out_lin",
    "blocks.{i}.attention_norm": "transformer.layer.{i}.sa_layer_norm",
    "blocks.{i}.ffn.W_1": "transformer.layer.{i}.ffn.lin1",
    "blocks.{i}.ffn.W_2": "transformer.layer.{i}.ffn.lin2",
    "blocks.{i}.ffn_norm": "transformer.layer.{i}.output_layer_norm",
}
# Tensors of a checkpoint that make no attention map: pooler, task heads, and buffers of old versions.
_NOT_NEEDED = re.compile(
    r"^(pooler\.|cls\.|lm_head\.|classifier\.|qa_outputs\.|vocab_(transform|layer_norm|projector)\.|pre_classifier\.)"
    r"|(^|\.)position_ids$|^embeddings\.token_type_ids$"
)
_FAMILIES = {"bert": _BERT, "roberta": _BERT, "xlm-roberta": _BERT, "camembert": _BERT, "distilbert": _DISTILBERT}
_PREFIXES = ("bert.", "roberta.", "distilbert.")


@dataclass(frozen=True)
class Checkpoint:
    """A model read from a folder."""

    config: TransformerConfig
    transformer: Transformer
    architecture: str  # model_type of its config.json: "bert", "distilbert", …
    sha256: str  # of the weights: the file's own, or for shards that of the lines "sha256  name"
    is_decoder: bool = False  # trained under a causal mask


def load_folder(folder: Path, *, expected_sha256: str | None = None) -> Checkpoint:
    """Reads config and weights, in float32 and eval mode.

    Args:
        folder: as written by `save_pretrained`.
        expected_sha256: refuse weights with another hash.

    Raises:
        HeadworkError: no folder, no weights, an unsupported architecture, broken or unfitting weights.
    """
    raw = read_config(folder)
    config = config_from(raw)
    files = _weight_files(folder)
    sha256 = _sha256(files)
    if expected_sha256 is not None and sha256 != expected_sha256:
        raise HeadworkError(
            "The weights in {file} are not the published ones (sha256 {found}, expected {expected}). "
            "Install the package again.",
            file=files[0].name,
            found=sha256,
            expected=expected_sha256,
        )
    tensors = _without_prefix(_read(files))
    transformer = blank(config)
    fill(transformer, _fit(transformer, tensors, raw["model_type"]))
    return Checkpoint(config, transformer, raw["model_type"], sha256, bool(raw.get("is_decoder", False)))


def transformer_folder(folder: Path) -> Path:
    """The folder with the Transformer itself, which older sentence-transformers folders keep one level down."""
    if (folder / CONFIG).is_file() or not (folder / MODULES).is_file():
        return folder
    try:
        modules = json.loads((folder / MODULES).read_text(encoding="utf-8"))
        paths = [module["path"] for module in modules if module["type"].endswith(".Transformer")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=str(folder / MODULES), reason=str(error)) from error
    inside = [path for path in paths if isinstance(path, str) and Path(path).name == path]
    return folder / inside[0] if inside else folder


def read_config(folder: Path) -> dict[str, Any]:
    """config.json of a folder, checked to be of a family that can be loaded."""
    if not folder.is_dir():
        raise HeadworkError("There is no folder {folder}. Check the path.", folder=str(folder))
    path = folder / CONFIG
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HeadworkError(
            "The folder {folder} has no {file}: it is not a model folder as save_pretrained writes it.",
            folder=str(folder),
            file=CONFIG,
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=str(path), reason=str(error)) from error
    model_type = raw.get("model_type") if isinstance(raw, dict) else None
    if model_type not in _FAMILIES:
        raise HeadworkError(
            "The architecture {model_type} is not supported. These are: {families}.",
            model_type=model_type,
            families=", ".join(_FAMILIES),
        )
    return dict(raw)


def config_from(raw: dict[str, Any]) -> TransformerConfig:
    """Our config from a config.json of a supported family. Nothing but the config is needed."""
    try:
        if raw["vocab_size"] == 0:
            raise HeadworkError("config.json describes a model with no vocabulary: vocab_size is 0.")
        return _distilbert_config(raw) if raw["model_type"] == "distilbert" else _bert_config(raw)
    except KeyError as error:
        raise HeadworkError("config.json has no entry {key}.", key=error.args[0]) from error
    except TypeError as error:
        raise HeadworkError("config.json has an entry of the wrong kind: {reason}.", reason=str(error)) from error


def _bert_config(raw: dict[str, Any]) -> TransformerConfig:
    if raw.get("position_embedding_type", "absolute") != "absolute":
        raise HeadworkError(
            "Position embeddings of the kind {kind} are not supported, only absolute ones.",
            kind=raw["position_embedding_type"],
        )
    if raw.get("embedding_size", raw["hidden_size"]) != raw["hidden_size"]:
        raise HeadworkError("Models whose embeddings have another width than their layers are not supported.")
    # RoBERTa numbers positions from padding_idx + 1 (fairseq); BERT from 0.
    offset = 0 if raw["model_type"] == "bert" else raw.get("pad_token_id", 1) + 1
    return TransformerConfig(
        vocab_size=raw["vocab_size"],
        d_model=raw["hidden_size"],
        num_heads=raw["num_attention_heads"],
        num_layers=raw["num_hidden_layers"],
        d_ff=raw["intermediate_size"],
        max_tokens=raw["max_position_embeddings"] - offset,
        n_token_types=raw.get("type_vocab_size", 2),
        activation=_activation(raw.get("hidden_act", "gelu")),
        position_offset=offset,
        layer_norm_eps=raw.get("layer_norm_eps", 1e-12),
    )


def _distilbert_config(raw: dict[str, Any]) -> TransformerConfig:
    return TransformerConfig(
        vocab_size=raw["vocab_size"],
        d_model=raw["dim"],
        num_heads=raw["n_heads"],
        num_layers=raw["n_layers"],
        d_ff=raw["hidden_dim"],
        max_tokens=raw["max_position_embeddings"],
        activation=_activation(raw.get("activation", "gelu")),
    )


def _activation(name: Any) -> Activation:
    if not isinstance(name, str) or name not in _ACTIVATIONS:
        raise HeadworkError(
            "The activation {name} is not supported. These are: {choices}.",
            name=name,
            choices=", ".join(_ACTIVATIONS),
        )
    return _ACTIVATIONS[name]


def _weight_files(folder: Path) -> list[Path]:
    """The safetensors file of a folder, or its shards in order."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        try:
            index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
            names = sorted({str(name) for name in index["weight_map"].values()})
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise HeadworkError(
                "{file} can't be read: {reason}.", file=str(folder / INDEX), reason=str(error)
            ) from error
        for name in names:
            if Path(name).name != name or not (folder / name).is_file():
                raise HeadworkError(
                    "{index} names the file {name}, which is not in the folder. Download the model again.",
                    index=INDEX,
                    name=name,
                )
        return [folder / name for name in names]
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")) or any(folder.glob("*.pth")):
        raise HeadworkError(
            "The folder {folder} has only pickled weights, which can run code and are never opened here. "
            "Save the model again as safetensors (save_pretrained does so by default).",
            folder=str(folder),
        )
    raise HeadworkError("The folder {folder} has no weights: {file} is missing.", folder=str(folder), file=WEIGHTS)


def _sha256(files: list[Path]) -> str:
    hashes = []
    for path in files:
        with path.open("rb") as stream:
            hashes.append(hashlib.file_digest(stream, "sha256").hexdigest())
    if len(files) == 1:
        return hashes[0]
    lines = "".join(f"{digest}  {path.name}\n" for digest, path in zip(hashes, files, strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()


def _read(files: list[Path]) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in files:
        try:
            with safe_open(path, framework="pt") as stream:
                tensors.update({name: stream.get_tensor(name) for name in stream.keys()})  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise HeadworkError(
                "The weights in {file} are broken or cut short ({reason}). Get the file again.",
                file=path.name,
                reason=str(error),
            ) from error
    return tensors


def _without_prefix(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Drops the `bert.` of a model with a task head, and renames the gamma and beta of old files."""
    renamed = {}
    for name, tensor in tensors.items():
        for prefix in _PREFIXES:
            name = name.removeprefix(prefix)
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        renamed[re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)] = tensor
    return renamed


def _names(transformer: Transformer, family: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(our name, their name) of every tensor of the model."""
    for ours in transformer.state_dict():
        layer = re.search(r"^blocks\.(\d+)\.", ours)
        general = ours.replace(layer[0], "blocks.{i}.") if layer else ours
        theirs = family.get(general)
        if theirs is None:
            module, _, leaf = general.rpartition(".")
            theirs = f"{family[module]}.{ {'gamma': 'weight', 'beta': 'bias'}.get(leaf, leaf) }"
        yield ours, theirs.replace("{i}", layer[1]) if layer else theirs


def _fit(transformer: Transformer, tensors: dict[str, Tensor], model_type: str) -> dict[str, Tensor]:
    """The checkpoint's tensors under our names, every one checked."""
    shapes = {name: tuple(tensor.shape) for name, tensor in transformer.state_dict().items()}
    names = dict(_names(transformer, _FAMILIES[model_type]))
    missing = [theirs for theirs in names.values() if theirs not in tensors]
    if missing:
        raise HeadworkError(
            "The weights lack {n} tensors that this {model_type} needs, among them {example}. "
            "Is config.json the one that belongs to these weights?",
            n=len(missing),
            model_type=model_type,
            example=missing[0],
        )
    for ours, theirs in names.items():
        if tuple(tensors[theirs].shape) != shapes[ours]:
            raise HeadworkError(
                "The tensor {name} has the shape {found}, but config.json asks for {expected}.",
                name=theirs,
                found=tuple(tensors[theirs].shape),
                expected=shapes[ours],
            )
    surplus = sorted(name for name in tensors.keys() - set(names.values()) if not _NOT_NEEDED.search(name))
    if surplus:
        raise HeadworkError(
            "The weights hold {n} tensors that this {model_type} has no place for, among them {example}. "
            "Is config.json the one that belongs to these weights?",
            n=len(surplus),
            model_type=model_type,
            example=surplus[0],
        )
    return {ours: tensors[theirs].to(torch.float32) for ours, theirs in names.items()}
