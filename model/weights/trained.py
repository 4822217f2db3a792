"""Models that were trained on a task of this app: kept while the server runs, or read from a file."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from pathlib import Path

from model.blank import blank, blank_pair, fill
from model.encoder_decoder import EncoderDecoderConfig
from model.entry import Entry
from model.errors import HeadworkError, first_line
from model.seq2seq import EncoderDecoderModel
from model.tasks.translate import END, MARKS, START, TRANSLATIONS
from model.tokenizers.task import TaskTokenizer
from model.tracing import AttentionModel
from model.training.saved import Saved, about, check_size, weights
from model.writing import WritingRules

PREFIX = "trained:"
SUFFIX = ".safetensors"
MOST_MODELS = 64  # that are kept: at most 256 MB
ABOUT = "A small Transformer trained in this app, on sentences of one task: it knows no other words."


def load(entry: Entry) -> AttentionModel | EncoderDecoderModel:
    """The model of an entry, kept or in a file. Raises HeadworkError as `read` and `from_bytes`."""
    return from_bytes(read(entry), entry)


def from_bytes(data: bytes, entry: Entry | None = None) -> AttentionModel | EncoderDecoderModel:
    """The model in a file, ready to be asked: an EncoderDecoderModel where it was trained to translate.

    Args:
        data: as `model.training.saved.to_bytes` writes it.
        entry: its entry in the catalogue; None = `entry_of(data)`.

    Raises:
        HeadworkError: as `about`; also for weights that don't fit the settings, or are not numbers.
    """
    found, entry, sha256 = about(data), entry or entry_of(data), hashlib.sha256(data).hexdigest()
    config, tokenizer = found.settings.config, TaskTokenizer(found.vocabulary, found.sample)
    if not isinstance(config, EncoderDecoderConfig):
        return AttentionModel(entry, fill(blank(config), weights(data, found)), tokenizer, sha256=sha256)
    target = TaskTokenizer(found.target_vocabulary, _target_sample(found), marks=MARKS)
    return EncoderDecoderModel(
        entry,
        fill(blank_pair(config), weights(data, found)),
        tokenizer,
        target_tokenizer=target,
        rules=WritingRules(start=START, ends=(END,), banned=(START,)),
        sha256=sha256,
    )


def _target_sample(found: Saved) -> str:
    """A sentence that the target language has, for who types another."""
    return TRANSLATIONS[found.settings.task].translate(TRANSLATIONS[found.settings.task].sample)


def entry_of(data: bytes, path: Path | None = None) -> Entry:
    """What a file says of itself, for the catalogue. `path` is where it lies; None = it was trained on this server.

    Raises:
        HeadworkError: as `about`.
    """
    found = about(data)
    return Entry(
        model_id(data) if path is None else str(path),
        f"{found.label} ({'trained here' if path is None else 'file'})",
        ABOUT,
        "trained here",
        trained=found.step > 0,
        trained_mask=found.mask if found.step else None,
        folder=path,
        sample=found.sample,
    )


def model_id(data: bytes) -> str:
    """The id of a file: the same bytes have the same."""
    return PREFIX + hashlib.sha256(data).hexdigest()[:12]


class Store:
    """Trained models of this process, by id: the least recently used goes first. Safe to use from several threads."""

    def __init__(self, most: int = MOST_MODELS) -> None:
        self._most = most
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, data: bytes) -> str:
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

    def get(self, id_: str) -> bytes:
        """The file of an id.

        Raises:
            HeadworkError: it is not, or no longer, kept.
        """
        with self._lock:
            if id_ in self._files:
                self._files.move_to_end(id_)
                return self._files[id_]
        raise HeadworkError(
            "The model {model_id} is no longer kept on this server, which keeps the {most} used last until it "
            "restarts. Open it again from its file, or train it again on the page Watch heads learn.",
            model_id=repr(id_[:40]),
            most=self._most,
        )


_store = Store()
put, get = _store.put, _store.get


def read(entry: Entry) -> bytes:
    """The file of an entry, kept or on disk.

    Raises:
        HeadworkError: as `get` and `read_file`.
    """
    return get(entry.id) if entry.folder is None else read_file(entry.folder)


def read_file(path: Path) -> bytes:
    """The bytes of a file, unless it is too large to be one of ours.

    Raises:
        HeadworkError: it can't be read, or is too large.
    """
    try:
        check_size(path.stat().st_size)
        return path.read_bytes()
    except OSError as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=path.name, reason=first_line(error)) from error
