"""Models that were trained on a task of this app: written to bytes, read again, and remembered for a session.

A file is safetensors with the settings in its header, so that nothing in it can run. It holds the Transformer, whose
maps the other pages draw, and the read-out beside it. Sizes are bounded before anything is made of them.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors
from torch import Tensor

from model.errors import HeadworkError
from model.tokenizers.task import TaskTokenizer
from model.tracing import AttentionModel
from model.training import Settings, Training
from model.training.network import SummedEmbedding
from model.transformer import Transformer
from model.weights.checkpoints import NoInit

if TYPE_CHECKING:
    from model.catalogue import Entry

KEY = "headwork"  # in the header of every file; the only one, since safetensors writes several in any order
PREFIX = "learnt:"
SUFFIX = ".safetensors"
MOST_BYTES = 4_000_000  # of a file: the largest network that Settings allows has 0.9 million weights
MOST_MODELS = 64  # that are remembered: at most 256 MB
ABOUT = "A small Transformer trained in this app, on sentences of one task: it knows no other words."
_TRANSFORMER, _READOUT = "transformer.", "readout."
_TOKENS = "embeddings.token.weight"
_LONGEST_WORD = 40


@dataclass(frozen=True)
class Learnt:
    """What a file says of itself.

    Attributes:
        settings: of the training.
        step: how far it had come.
        accuracy: the share of right answers then, on fresh sentences.
        vocabulary: the words, by id.
        sample: a sentence of the task.
    """

    settings: Settings
    step: int
    accuracy: float
    vocabulary: tuple[str, ...]
    sample: str

    @property
    def label(self) -> str:
        """Such as "Four neighbours, 4 heads, seed 0"."""
        settings = self.settings
        heads = f"{settings.heads} head" + ("s" if settings.heads > 1 else "")
        layers = "" if settings.layers == 1 else f", {settings.layers} layers"
        return f"{settings.rule.title}, {heads}{layers}, seed {settings.seed}"


def to_bytes(training: Training) -> bytes:
    """The network as it is now, as a safetensors file: the same network gives the same bytes.

    A word of two parts gets a vector of its own, the sum of its parts' vectors: any Transformer can read it then.
    """
    network = training.network
    tensors = {_TRANSFORMER + name: tensor for name, tensor in network.transformer.state_dict().items()}
    token = network.transformer.embeddings.token
    if isinstance(token, SummedEmbedding):
        parts = _TRANSFORMER + "embeddings.token."
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith(parts)}
        tensors[_TRANSFORMER + _TOKENS] = token.table().detach()
    tensors |= {_READOUT + name: tensor for name, tensor in network.readout.state_dict().items()}
    about = {
        "settings": asdict(training.settings),
        "step": training.step_number,
        "accuracy": round(training.test()[0], 6),
        "vocabulary": training.task.vocabulary,
        "answers": training.task.answers,
        "relations": [relation.id for relation in training.task.relations if relation.asked],
        "sample": training.task.sample,
    }
    metadata = {KEY: json.dumps(about, ensure_ascii=False)}
    return write_tensors({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata)


def about(data: bytes) -> Learnt:
    """What a file says of itself, without reading its weights.

    Raises:
        HeadworkError: too large, cut short, no safetensors, or not written by `to_bytes`.
    """
    _check_size(len(data))
    metadata = _header(data).get("__metadata__")
    if not isinstance(metadata, dict) or KEY not in metadata:
        raise HeadworkError(
            "The file holds weights, but not of a model trained in this app. For a model of another kind, give the "
            "folder that save_pretrained wrote."
        )
    try:
        found = json.loads(metadata[KEY])
        settings = Settings(**found["settings"])
        step, accuracy, sample = found["step"], float(found["accuracy"]), str(found["sample"])
        vocabulary = tuple(found["vocabulary"])
        _check_words(vocabulary, sample, settings)
    except HeadworkError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise _unreadable(str(error)) from error
    if not 0 <= accuracy <= 1:  # NaN and infinities are not
        raise _unreadable("accuracy")
    if type(step) is not int or not 0 <= step <= settings.steps:
        raise _unreadable("step")
    return Learnt(settings, step, accuracy, vocabulary, sample)


def _check_words(vocabulary: tuple[str, ...], sample: str, settings: Settings) -> None:
    """As many words as the task has, each another and without white space; the sentence is made of them."""
    are_words = all(
        isinstance(word, str) and 0 < len(word) <= _LONGEST_WORD and word.isprintable() and " " not in word
        for word in vocabulary
    )
    if not are_words or not len(settings.rule.vocabulary) == len(vocabulary) == len(set(vocabulary)):
        raise _unreadable("vocabulary")
    words = sample.split()
    if not 0 < len(words) <= settings.rule.n_tokens or not set(words) <= set(vocabulary):
        raise _unreadable("sample")
    if not isinstance(settings.ffn, bool):
        raise _unreadable("ffn")


def from_bytes(
    data: bytes, *, id: str | None = None, label: str | None = None, entry: Entry | None = None
) -> AttentionModel:
    """The model in a file, ready to be asked.

    Args:
        data: as `to_bytes` writes it.
        id: the model's id; None = "learnt:" and the start of the file's sha256.
        label: its name on screen; None = task, heads and seed.
        entry: its entry in the catalogue.

    Raises:
        HeadworkError: as `about`; also for weights that don't fit the settings, or are not numbers.
    """
    found = about(data)
    try:
        tensors = read_tensors(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:  # KeyError: an element type torch lacks
        raise _unreadable(str(error)) from error
    with torch.device("meta"), NoInit():  # shapes only: the weights come from the file
        transformer = Transformer(found.settings.config)
    task = found.settings.rule
    n_logits = len(task.asked) * len(task.answers)
    expected = {_TRANSFORMER + name: tuple(tensor.shape) for name, tensor in transformer.state_dict().items()}
    expected |= {_READOUT + "weight": (n_logits, found.settings.d_model), _READOUT + "bias": (n_logits,)}
    _check(tensors, expected)
    weights = {name.removeprefix(_TRANSFORMER): t for name, t in tensors.items() if name.startswith(_TRANSFORMER)}
    transformer.load_state_dict(weights, assign=True)
    sha256 = hashlib.sha256(data).hexdigest()
    return AttentionModel(
        id=id or model_id(data),
        label=label or found.label,
        transformer=transformer,
        tokenizer=TaskTokenizer(found.vocabulary, found.sample),
        sha256=sha256,
        trained=found.step > 0,
        entry=entry,
    )


def model_id(data: bytes) -> str:
    """The id of a file: the same bytes have the same."""
    return PREFIX + hashlib.sha256(data).hexdigest()[:12]


def _check(weights: dict[str, Tensor], expected: dict[str, tuple[int, ...]]) -> None:
    for name, shape in expected.items():
        tensor = weights.get(name)
        if tensor is None or tuple(tensor.shape) != shape or tensor.dtype != torch.float32:
            raise _unreadable(name)
        if not bool(tensor.isfinite().all()):
            raise HeadworkError("The weights {name} hold numbers that are not finite: training went wrong.", name=name)
    if surplus := weights.keys() - expected.keys():
        raise _unreadable(min(surplus))


def _check_size(size: int) -> None:
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
        "The file of the trained model is broken or cut short ({reason}). Save it again from the training page.",
        reason=reason[:120],
    )


class Memory:
    """The models of this process, by id: the least recently used goes first. Safe to use from several threads."""

    def __init__(self, most: int = MOST_MODELS) -> None:
        self._most = most
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, data: bytes) -> str:
        """Keeps a file, checked first, and returns its id.

        Raises:
            HeadworkError: as `from_bytes`; also where the id, 48 bits of a hash, is taken by other bytes.
        """
        id_ = from_bytes(data).id
        with self._lock:
            if self._files.setdefault(id_, data) != data:
                raise HeadworkError(
                    "Another model with the id {model_id} is kept on this server. Train yours with another seed.",
                    model_id=repr(id_),
                )
            self._files.move_to_end(id_)
            while len(self._files) > self._most:
                self._files.popitem(last=False)
        return id_

    def recall(self, id_: str) -> bytes:
        """The file of an id.

        Raises:
            HeadworkError: it is not, or no longer, remembered.
        """
        with self._lock:
            if id_ in self._files:
                self._files.move_to_end(id_)
                return self._files[id_]
        raise HeadworkError(
            "The model {model_id} is no longer kept on this server, which keeps the {most} used last until it is "
            "started anew. Open it again from its file, or train it again on the page Watch heads learn.",
            model_id=repr(id_[:40]),
            most=self._most,
        )


_memory = Memory()
remember = _memory.remember
recall = _memory.recall


def read_file(path: Path) -> bytes:
    """The bytes of a file, unless it is too large to be one of ours.

    Raises:
        HeadworkError: it can't be read, or is too large.
    """
    try:
        _check_size(path.stat().st_size)
        return path.read_bytes()
    except OSError as error:
        raise HeadworkError(
            "{file} can't be read: {reason}.", file=str(path), reason=error.strerror or str(error)
        ) from error
