"""The file of a trained network: written to bytes and read again.

It is safetensors with the settings in its header, so that nothing in it can run. It holds the Transformer (of a
translation both its parts), whose maps the other pages draw, and where there is one the read-out beside it. Sizes are
bounded before anything is made of them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors
from torch import Tensor

from model.blank import blank, blank_pair
from model.encoder_decoder import EncoderDecoderConfig
from model.errors import HeadworkError
from model.tasks.peek import N_PLACES
from model.tasks.translate import MOST_SOURCE
from model.training.kinds import AnyRun, AnySettings, settings_class
from model.training.network import Network, SummedEmbedding
from model.training.peek import PeekSettings
from model.training.settings import Settings
from model.training.training import Training
from model.training.translate import TranslateSettings, Translating

KEY = "headwork"  # in the header of every file; the only one, since safetensors writes several in any order
MOST_BYTES = 4_000_000  # of a file: the largest network that Settings allows has 0.9 million weights
_TRANSFORMER, _READOUT = "transformer.", "readout."
_TOKENS = "embeddings.token.weight"
_LONGEST_WORD = 40


@dataclass(frozen=True)
class Saved:
    """What a file says of itself.

    Attributes:
        settings: of the training.
        step: how far it had come.
        accuracy: the share of right answers then, on fresh sentences.
        vocabulary: the words, by id; of a translation those of the source.
        sample: a sentence of the task.
        target_vocabulary: the words that a translation writes; empty otherwise.
    """

    settings: AnySettings
    step: int
    accuracy: float
    vocabulary: tuple[str, ...]
    sample: str
    target_vocabulary: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Such as "Four neighbours, 4 heads, seed 0"."""
        settings = self.settings
        heads = f"{settings.heads} head" + ("s" if settings.heads > 1 else "")
        layers = "" if settings.layers == 1 else f", {settings.layers} layers"
        return f"{settings.rule.title}, {heads}{layers}, seed {settings.seed}"

    @property
    def mask(self) -> str:
        """The mask of its training; of a translation that of the decoder's self-attention."""
        return str(self.settings.allowed)


def to_bytes(run: AnyRun) -> bytes:
    """The network as it is now, as a safetensors file: the same network gives the same bytes."""
    about: dict[str, Any] = {"settings": asdict(run.settings), "step": run.step_number}
    if isinstance(run, Training):
        tensors = _tensors(run.network)
        about |= {"accuracy": round(run.test()[0], 6), "vocabulary": run.task.vocabulary, "answers": run.task.answers}
        about["relations"] = [relation.id for relation in run.task.relations if relation.asked]
    elif isinstance(run, Translating):
        tensors = {_TRANSFORMER + name: tensor for name, tensor in run.network.state_dict().items()}
        about |= {"accuracy": round(run.test().accuracy, 6), "vocabulary": run.task.source_vocabulary}
        about["target_vocabulary"] = run.task.target_vocabulary
    else:
        tensors = {_TRANSFORMER + name: tensor for name, tensor in run.network.state_dict().items()}
        about |= {"accuracy": round(run.test().teacher_forced, 6), "vocabulary": run.task.vocabulary}
    about["sample"] = run.task.sample
    metadata = {KEY: json.dumps(about, ensure_ascii=False)}
    return write_tensors({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata)


def _tensors(network: Network) -> dict[str, Tensor]:
    """The Transformer and its read-out.

    A word of two parts gets a vector of its own, the sum of its parts' vectors: any Transformer can read it then.
    """
    tensors = {_TRANSFORMER + name: tensor for name, tensor in network.transformer.state_dict().items()}
    token = network.transformer.embeddings.token
    if isinstance(token, SummedEmbedding):
        parts = _TRANSFORMER + "embeddings.token."
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith(parts)}
        tensors[_TRANSFORMER + _TOKENS] = token.table().detach()
    return tensors | {_READOUT + name: tensor for name, tensor in network.readout.state_dict().items()}


def about(data: bytes) -> Saved:
    """What a file says of itself, without reading its weights.

    Raises:
        HeadworkError: too large, cut short, no safetensors, or not written by `to_bytes`.
    """
    check_size(len(data))
    metadata = _header(data).get("__metadata__")
    if not isinstance(metadata, dict) or KEY not in metadata:
        raise HeadworkError(
            "The file holds weights, but not of a model trained in this app. For a model of another kind, give the "
            "folder that save_pretrained wrote."
        )
    try:
        found = json.loads(metadata[KEY])
        settings = settings_class(found["settings"]["task"])(**found["settings"])
        step, accuracy, sample = found["step"], float(found["accuracy"]), str(found["sample"])
        vocabulary, target = tuple(found["vocabulary"]), tuple(found.get("target_vocabulary", ()))
        _check_words(vocabulary, target, sample, settings)
    except HeadworkError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise _unreadable(str(error)) from error
    if not 0 <= accuracy <= 1:  # NaN and infinities are not
        raise _unreadable("accuracy")
    if type(step) is not int or not 0 <= step <= settings.steps:
        raise _unreadable("step")
    return Saved(settings, step, accuracy, vocabulary, sample, target)


def _check_words(vocabulary: tuple[str, ...], target: tuple[str, ...], sample: str, settings: AnySettings) -> None:
    """As many words as the task has, each another and without white space; the sentence is made of them."""
    most, expected, expected_target = _sizes(settings)
    for words, n, name in ((vocabulary, expected, "vocabulary"), (target, expected_target, "target_vocabulary")):
        are_words = all(
            isinstance(word, str) and 0 < len(word) <= _LONGEST_WORD and word.isprintable() and " " not in word
            for word in words
        )
        if not are_words or not n == len(words) == len(set(words)):
            raise _unreadable(name)
    if not 0 < len(sample.split()) <= most or not set(sample.split()) <= set(vocabulary):
        raise _unreadable("sample")
    if not isinstance(getattr(settings, "ffn", False), bool):
        raise _unreadable("ffn")


def _sizes(settings: AnySettings) -> tuple[int, int, int]:
    """The longest sentence of a task, its words, and those of a translation's target."""
    if isinstance(settings, TranslateSettings):
        return MOST_SOURCE, len(settings.rule.source_vocabulary), len(settings.rule.target_vocabulary)
    most = N_PLACES if isinstance(settings, PeekSettings) else settings.rule.n_tokens
    return most, len(settings.rule.vocabulary), 0


def weights(data: bytes, found: Saved) -> dict[str, Tensor]:
    """The weights of the Transformer, or of encoder and decoder, under their names in its state dict.

    Args:
        data: a file.
        found: what `about` said of it.

    Raises:
        HeadworkError: weights that don't fit the settings, or are not numbers.
    """
    try:
        tensors = read_tensors(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:  # KeyError: an element type torch lacks
        raise _unreadable(str(error)) from error
    settings = found.settings
    config = settings.config
    made = blank_pair(config) if isinstance(config, EncoderDecoderConfig) else blank(config)
    shapes = made.state_dict()
    expected = {_TRANSFORMER + name: tuple(tensor.shape) for name, tensor in shapes.items()}
    if isinstance(settings, Settings):
        n_logits = len(settings.rule.asked) * len(settings.rule.answers)
        expected |= {_READOUT + "weight": (n_logits, settings.d_model), _READOUT + "bias": (n_logits,)}
    _check(tensors, expected)
    return {name: tensors[_TRANSFORMER + name] for name in shapes}


def _check(tensors: dict[str, Tensor], expected: dict[str, tuple[int, ...]]) -> None:
    for name, shape in expected.items():
        tensor = tensors.get(name)
        if tensor is None or tuple(tensor.shape) != shape or tensor.dtype != torch.float32:
            raise _unreadable(name)
        if not bool(tensor.isfinite().all()):
            raise HeadworkError("The weights {name} hold numbers that are not finite: training went wrong.", name=name)
    if surplus := tensors.keys() - expected.keys():
        raise _unreadable(min(surplus))


def check_size(size: int) -> None:
    """Raises HeadworkError where a file of `size` bytes is too large to be one of ours."""
    if size > MOST_BYTES:
        raise HeadworkError(
            "The file has {size:.1f} MB; a model trained in this app has at most {most:.0f} MB. For a model of another "
            "kind, give the folder that save_pretrained wrote.",
            size=size / 1e6,
            most=MOST_BYTES / 1e6,
        )


def _header(data: bytes) -> dict[str, Any]:
    """The JSON at the beginning of a safetensors file: 8 bytes with its length, little-endian, then itself."""
    length = int.from_bytes(data[:8], "little")
    try:
        if len(data) < 8 or not 2 <= length <= len(data) - 8:
            raise ValueError("cut short, or no safetensors file")
        header = json.loads(data[8 : 8 + length])
        if not isinstance(header, dict):
            raise ValueError("no safetensors file")
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8
        raise _unreadable(str(error)) from error
    return header


def _unreadable(reason: str) -> HeadworkError:
    return HeadworkError(
        "The file of the trained model is damaged or incomplete ({reason}). Save it again on the page "
        "Watch heads learn.",
        reason=reason[:120],
    )
