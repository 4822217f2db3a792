"""Trained weights from a folder, safetensors only; which architectures: `model.weights.families`.

A folder holds config.json and model.safetensors (or shards with model.safetensors.index.json), as `save_pretrained`
writes them. Names of tensors are matched against the Transformer built from the config: a tensor that is missing, left
over, of another shape or not finite is an error that names it. Pickled weights (pytorch_model.bin) are never opened.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from model.blank import blank, fill
from model.entry import Entry
from model.errors import HeadworkError, clipped, of_two_parts
from model.files import check_ordinary, read_json, sha256_of
from model.tokenizers.tokenizer_json import load_tokenizer
from model.tracing import AttentionModel
from model.transformer import Transformer, TransformerConfig
from model.weights.families import ENCODER_DECODERS, FAMILIES
from model.weights.families.family import Config, Family
from model.weights.names import check_finite, tensor_names

WEIGHTS, INDEX, CONFIG = "model.safetensors", "model.safetensors.index.json", "config.json"
ADAPTER = "adapter_config.json"  # of peft: LoRA and its like
MODULES = "modules.json"  # of sentence-transformers
# What quantised weights have beside their numbers (bitsandbytes, GPTQ, AWQ, fp8 of compressed-tensors and DeepSeek).
_SCALES = re.compile(
    r"\.(SCB|absmax|quant_map|quant_state\..*|qweight|qzeros|g_idx|scales?|(weight|input)_scale(_inv)?)$"
)
_LORA = re.compile(r"\.lora_[AB]\.|\.lora_(embedding|magnitude)")


@dataclass(frozen=True)
class Checkpoint:
    """A Transformer read from a folder or file."""

    config: TransformerConfig
    transformer: Transformer
    architecture: str  # model_type of its config.json: "bert", "distilbert", …
    sha256: str  # of the weights: the file's own, or for shards that of the lines "sha256  name"
    is_decoder: bool = False  # trained under a causal mask


def load(entry: Entry, folder: Path, *, expected_sha256: str | None = None) -> AttentionModel:
    """The model in a folder, with its tokenizer.

    Raises:
        HeadworkError: as `load_folder`; also for a tokenizer that is missing or can't be read.
    """
    folder = transformer_folder(folder)
    config_from(read_config(folder))  # first, since it says best what is wrong with a folder that holds no model
    tokenizer = load_tokenizer(folder)
    checkpoint = load_folder(folder, expected_sha256=expected_sha256)
    if checkpoint.is_decoder:
        entry = replace(entry, trained_mask="causal")
    return AttentionModel(entry, checkpoint.transformer, tokenizer, sha256=checkpoint.sha256)


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
    family = FAMILIES[raw["model_type"]]
    tensors, sha256 = read_tensors(folder, family, raw, expected_sha256)
    if config.output == "own" and f"{family.names['output']}.weight" not in tensors:
        config = replace(config, output="none")  # saved without its head
    is_decoder = family.is_decoder or bool(raw.get("is_decoder", False))
    transformer = blank(config)
    fill(transformer, fit(transformer, tensors, family, raw["model_type"]))
    return Checkpoint(config, transformer, raw["model_type"], sha256, is_decoder)


def read_tensors(
    folder: Path, family: Family[Any], raw: dict[str, Any], expected_sha256: str | None = None
) -> tuple[dict[str, Tensor], str]:
    """The tensors of a folder by their names without the family's prefix, and the hash of its weights.

    Raises:
        HeadworkError: no weights, damaged ones, or of another hash than expected.
    """
    places = _places(folder)
    sha256 = _sha256([folder / name for name in places])
    check_published(next(iter(places)), sha256, expected_sha256)
    return _plain_names(_read(folder, places), family, raw), sha256


def transformer_folder(folder: Path) -> Path:
    """The folder with the Transformer itself, which older sentence-transformers folders keep one level down."""
    if (folder / CONFIG).exists() or not (folder / MODULES).exists():
        return folder
    modules = read_json(folder / MODULES)
    try:
        paths = [module["path"] for module in modules if module["type"].endswith(".Transformer")]
    except (KeyError, TypeError, AttributeError) as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=MODULES, reason=clipped(error)) from error
    inside = [path for path in paths if isinstance(path, str) and Path(path).name == path]
    return folder / inside[0] if inside else folder


def read_config(folder: Path) -> dict[str, Any]:
    """config.json of a folder, checked to be of a family that can be loaded."""
    return known_family(written_config(folder))


def written_config(folder: Path) -> Any:
    """What config.json of a folder holds, whatever the family. Raises HeadworkError where there is no such model."""
    if not folder.is_dir():
        raise HeadworkError("There is no folder {folder}. Check the path.", folder=folder.name)
    check_ordinary(folder)
    if not (folder / CONFIG).exists():
        if (folder / ADAPTER).exists():
            raise adapter(folder.name)
        raise HeadworkError(
            "The folder {folder} has no {file}: it is not a model folder as save_pretrained writes it.",
            folder=folder.name,
            file=CONFIG,
        )
    raw = read_json(folder / CONFIG)
    if isinstance(raw, dict) and raw.get("quantization_config") is not None:
        raise quantised(CONFIG)
    return raw


def known_family(raw: Any) -> dict[str, Any]:
    """What a config.json holds, checked to be of a family that can be loaded."""
    model_type = raw.get("model_type") if isinstance(raw, dict) else None
    if isinstance(model_type, str) and raw.get("is_encoder_decoder", model_type in ENCODER_DECODERS):
        raise other_parts(model_type)
    if model_type is None:
        raise HeadworkError("config.json has no entry {key}.", key="model_type")
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        raise HeadworkError(
            "The architecture {model_type} is not supported. These are: {families}.",
            model_type=clipped(model_type),
            families=", ".join([*FAMILIES, *ENCODER_DECODERS]),
        )
    return dict(raw)


def other_parts(model_type: str) -> HeadworkError:
    """The error for an encoder–decoder where one is not read, or not of this family."""
    if model_type in ENCODER_DECODERS:
        return of_two_parts(model_type)
    return HeadworkError(
        "{model_type} is an encoder–decoder of a family that is not supported. These are: {families}.",
        model_type=clipped(model_type),
        families=", ".join(ENCODER_DECODERS),
    )


def config_from(raw: dict[str, Any]) -> TransformerConfig:
    """Our config from a config.json of a supported family. Nothing but the config is needed."""
    return config_of(FAMILIES[raw["model_type"]], raw)


def config_of(family: Family[Config], raw: dict[str, Any]) -> Config:
    """Our config from a config.json of this family.

    Raises:
        HeadworkError: an entry is missing, of the wrong kind, or asks for what isn't done here.
    """
    try:
        if raw["vocab_size"] == 0:
            raise HeadworkError("config.json describes a model with no vocabulary: vocab_size is 0.")
        return family.config(raw)
    except KeyError as error:
        raise HeadworkError("config.json has no entry {key}.", key=error.args[0]) from error
    except HeadworkError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise HeadworkError("config.json has an entry of the wrong kind: {reason}.", reason=clipped(error)) from error


def check_published(file: str, found: str, expected: str | None) -> None:
    """Raises HeadworkError where the weights of a package have another hash than expected; None expects nothing."""
    if expected not in (None, found):
        raise HeadworkError(
            "The weights in {file} are not the published ones (sha256 {found}, expected {expected}). "
            "Install the package again.",
            file=file,
            found=found,
            expected=expected,
        )


def adapter(name: str) -> HeadworkError:
    """What to do with a folder, repository or file of LoRA weights."""
    return HeadworkError(
        "{name} is an adapter (such as LoRA), not a model: it holds only what changes in another one. Merge it into "
        "its base model first (in peft: merge_and_unload), and save that.",
        name=name,
    )


def quantised(name: str) -> HeadworkError:
    """What to do with weights in less than 16 bits."""
    return HeadworkError(
        "The weights are quantised (says {name}), and their scales are not read here. Take the model in float32, "
        "float16 or bfloat16.",
        name=name,
    )


def _places(folder: Path) -> dict[str, list[str] | None]:
    """The safetensors files of a folder in order, each with the tensors to be read from it; None = all."""
    if (folder / WEIGHTS).is_file():
        return {WEIGHTS: None}
    if (folder / INDEX).is_file():
        index = read_json(folder / INDEX)
        places: dict[str, list[str] | None] = {}
        try:
            for tensor, name in sorted(index["weight_map"].items(), key=lambda item: str(item[1])):
                places[str(name)] = [*(places.get(str(name)) or ()), tensor]
        except (KeyError, AttributeError, TypeError) as error:
            raise HeadworkError("{file} can't be read: {reason}.", file=INDEX, reason=clipped(error)) from error
        for name in places:
            if Path(name).name != name or not (folder / name).is_file():
                raise HeadworkError(
                    "{index} names the file {name}, which is not in the folder. Download the model again.",
                    index=INDEX,
                    name=clipped(name),
                )
        if places:
            return places
    if (folder / ADAPTER).exists():
        raise adapter(folder.name)
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")) or any(folder.glob("*.pth")):
        raise HeadworkError(
            "The folder {folder} has only pickled weights, which can run code and are never opened here. "
            "Save the model again as safetensors (save_pretrained does so by default).",
            folder=folder.name,
        )
    raise HeadworkError("The folder {folder} has no weights: {file} is missing.", folder=folder.name, file=WEIGHTS)


def _sha256(files: list[Path]) -> str:
    hashes = [sha256_of(path) for path in files]
    if len(files) == 1:
        return hashes[0]
    lines = "".join(f"{digest}  {path.name}\n" for digest, path in zip(hashes, files, strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()


def _read(folder: Path, places: dict[str, list[str] | None]) -> dict[str, Tensor]:
    """The tensors of all files: from each only those that the index gives to it."""
    tensors: dict[str, Tensor] = {}
    for file, names in places.items():
        try:
            with safe_open(folder / file, framework="pt") as stream:
                here = set(stream.keys())
                absent = sorted(set(names or ()) - here)
                if absent:
                    raise HeadworkError(
                        "{index} says that the tensor {tensor} is in {file}, but it isn't. Download the model again.",
                        index=INDEX,
                        tensor=clipped(absent[0]),
                        file=file,
                    )
                tensors |= {name: stream.get_tensor(name) for name in (here if names is None else names)}
        except (SafetensorError, OSError) as error:
            raise HeadworkError(
                "The weights in {file} are damaged or incomplete ({reason}). Get the file again.",
                file=file,
                reason=clipped(error),
            ) from error
    return tensors


def _plain_names(tensors: dict[str, Tensor], family: Family[Any], raw: dict[str, Any]) -> dict[str, Tensor]:
    """Drops the `bert.` of a model with a head, renames gamma and beta of old files, takes fused tensors apart."""
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name.removeprefix(family.prefix))
        name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
        parts = family.apart(name, tensor, raw)
        if parts.keys() & renamed.keys():
            raise HeadworkError(
                "The weights hold the tensor {name} twice, in two spellings. Save the model again.", name=clipped(name)
            )
        renamed |= parts
    return renamed


def fit(transformer: nn.Module, tensors: dict[str, Tensor], family: Family[Any], model_type: str) -> dict[str, Tensor]:
    """The checkpoint's tensors under our names, every one checked."""
    shapes = {name: tuple(tensor.shape) for name, tensor in transformer.state_dict().items()}
    names = tensor_names(transformer, family.names)
    if strange := min(filter(_SCALES.search, tensors), default=None):
        raise quantised(strange)
    if strange := min(filter(_LORA.search, tensors), default=None):
        raise adapter(strange)
    missing = [theirs for theirs in names.values() if theirs not in tensors]
    if missing:
        raise HeadworkError(
            "The weights lack {n} tensors that this {model_type} needs, among them {example}. "
            "Is config.json the one that belongs to these weights?",
            n=len(missing),
            model_type=model_type,
            example=missing[0],
        )
    surplus = sorted(name for name in tensors.keys() - set(names.values()) if not family.unneeded.match(name))
    if surplus:
        raise HeadworkError(
            "The weights hold {n} tensors that this {model_type} has no place for, among them {example}. "
            "Is config.json the one that belongs to these weights?",
            n=len(surplus),
            model_type=model_type,
            example=clipped(surplus[0]),
        )
    return {ours: _checked(theirs, tensors[theirs], shapes[ours]) for ours, theirs in names.items()}


def _checked(name: str, tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor in float32, of the shape that the config asks for."""
    if not tensor.is_floating_point() or tensor.element_size() < 2:  # int8, int4 in bytes, fp8
        raise quantised(f"{name}, {str(tensor.dtype).removeprefix('torch.')}")
    if tuple(tensor.shape) != shape:
        raise HeadworkError(
            "The tensor {name} has the shape {found}, but config.json asks for {expected}.",
            name=name,
            found=tuple(tensor.shape),
            expected=shape,
        )
    tensor = tensor.to(torch.float32)
    check_finite(name, tensor)
    return tensor
