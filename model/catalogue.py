"""Which models there are, what each is, what an id names, and which of them a server offers.

An id is a name from the catalogue ("minilm"), a toy ("toy:d_model=32,heads=4,layers=2,seed=0"), a model trained in this
app ("trained:" and 12 hexadecimal digits, or its file), a folder, or a hub id ("owner/name"). The variable
HEADWORK_MODELS limits a server to a comma-separated list of ids.
"""

from __future__ import annotations

import difflib
import functools
import logging
import os
import re
from dataclasses import replace
from pathlib import Path

from model.entry import Entry
from model.errors import HeadworkError, shown
from model.weights import hub_cache, trained
from model.weights.e5 import E5_HUB, e5_path
from model.weights.toy import TOY_POSITIONS, canonical, toy_positions, toy_sizes

DEFAULT_MODEL = "minilm"
E5 = "e5-small-4bit"
SMOLLM2 = "smollm2-135m"
MODELS_VARIABLE = "HEADWORK_MODELS"


def _bert(name: str, size: int, about: str, *languages: str) -> Entry:
    repo_ids = (f"google-bert/{name}", name)  # older tools cached it under the bare name
    return Entry(name, name, about, "hub", size, languages=languages, repo_ids=repo_ids)


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "minilm",
        "MiniLM-L6 (built in)",
        "all-MiniLM-L6-v2: 6 layers of 12 heads, distilled from a larger model, then tuned for sentence embeddings.",
        "built in",
        languages=("en",),
    ),
    Entry(
        E5,
        "multilingual-e5-small, 4-bit (Chinese and English)",
        "multilingual-e5-small with its weights in 4 bits: 12 layers of 12 heads, tuned for sentence embeddings in "
        "over 90 languages.",
        "built in",
        languages=("zh", "en", "mul"),
    ),
    Entry(
        SMOLLM2,
        "SmolLM2-135M-Instruct, 4-bit (built in, English)",
        "SmolLM2-135M-Instruct with its weights in 4 bits: a decoder of 30 layers of 9 heads, trained to predict the "
        "next token and then to follow instructions.",
        "built in",
        languages=("en",),
        trained_mask="causal",
    ),
    _bert(
        "bert-base-uncased",
        441_000_000,
        "BERT-base as published in 2018, uncased: 12 layers of 12 heads.",
        "en",
    ),
    _bert("bert-base-cased", 436_000_000, "BERT-base, cased: 12 layers of 12 heads.", "en"),
    _bert(
        "bert-base-chinese", 412_000_000, "BERT-base for Chinese, one token per character: 12 layers of 12 heads.", "zh"
    ),
    _bert("bert-base-multilingual-cased", 717_000_000, "BERT-base for 104 languages: 12 layers of 12 heads.", "mul"),
    Entry(
        E5_HUB,
        E5_HUB,
        "multilingual-e5-small in full precision: the same model as the 4-bit one that comes with a package.",
        "hub",
        488_000_000,
        languages=("zh", "en", "mul"),
        repo_ids=(E5_HUB,),
    ),
    Entry(
        "openai-community/gpt2",
        "gpt2",
        "GPT-2 as published in 2019: a decoder of 12 layers of 12 heads.",
        "hub",
        550_000_000,
        languages=("en",),
        trained_mask="causal",
        repo_ids=("openai-community/gpt2", "gpt2"),
    ),
    Entry(
        "toy",
        "Toy (untrained)",
        "Random weights from a seed, in the sizes you choose: what attention looks like before any training.",
        "toy",
        trained=False,
        trained_mask=None,
    ),
)
# Names under which people know models that the hub has moved below an owner.
_MOVED = {
    "bert-large-uncased": "google-bert/bert-large-uncased",
    "bert-large-cased": "google-bert/bert-large-cased",
    "distilbert-base-uncased": "distilbert/distilbert-base-uncased",
    "distilbert-base-cased": "distilbert/distilbert-base-cased",
    "distilbert-base-multilingual-cased": "distilbert/distilbert-base-multilingual-cased",
    "roberta-base": "FacebookAI/roberta-base",
    "xlm-roberta-base": "FacebookAI/xlm-roberta-base",
    "camembert-base": "almanach/camembert-base",
    "gpt2-medium": "openai-community/gpt2-medium",
    "gpt2-large": "openai-community/gpt2-large",
    "distilgpt2": "distilbert/distilgpt2",
    "t5-small": "google-t5/t5-small",
    "t5-base": "google-t5/t5-base",
    "t5-large": "google-t5/t5-large",
}


def entries() -> tuple[Entry, ...]:
    """The models to offer: the whole catalogue, or what the operator allows."""
    ids = allowed_ids()
    return ENTRIES if ids is None else tuple(_entry(id_) for id_ in ids)


def default_id() -> str:
    """The model to open with: the built-in one, or the first that the operator allows."""
    ids = allowed_ids()
    return DEFAULT_MODEL if ids is None or DEFAULT_MODEL in ids else ids[0]


def allowed_ids() -> tuple[str, ...] | None:
    """The ids in HEADWORK_MODELS, or None when everything is allowed. "toy" in it allows toys of every size."""
    return tuple(dict.fromkeys(_allowed().values())) or None


def _allowed() -> dict[str, str]:
    """The ids in HEADWORK_MODELS, by the names that the operator gave them; empty where it is not set.

    Raises:
        HeadworkError: it is set and names no model, or one that doesn't exist.
    """
    value = os.environ.get(MODELS_VARIABLE, "").strip()
    names = [name for part in value.split(",") if (name := part.strip())]
    if value and not names:
        raise HeadworkError(
            "{variable} is {value}, which names no model. Name some, with commas between them, or leave it out to "
            "offer everything.",
            variable=MODELS_VARIABLE,
            value=shown(value),
        )
    return {name: _listed(name) for name in names}


class _NotThere(HeadworkError):
    """A folder or file that isn't where it was looked for."""


def _listed(name: str) -> str:
    """The id of a name in HEADWORK_MODELS. Where a folder should lie is for the log; visitors read its name."""
    try:
        return _entry(name).id
    except _NotThere as error:
        _log_once(f"{MODELS_VARIABLE} names {name}, which isn't there.")
        raise HeadworkError(
            "{variable} names {name}, which isn't there. The server's log says where it was looked for.",
            variable=MODELS_VARIABLE,
            name=shown(re.split(r"[/\\]", name.rstrip("/\\"))[-1]),
        ) from error


@functools.cache
def _log_once(sentence: str) -> None:
    logging.getLogger(__name__).error(sentence)


def resolve(model_id: str) -> Entry:
    """What `model_id` names.

    Raises:
        HeadworkError: it names nothing, a toy of impossible size, a trained model that is no longer kept, or a
            model that the operator does not offer.
    """
    if not isinstance(model_id, str):
        raise HeadworkError(
            "A model is named by a text, such as {example} or the path of a folder; this is {model_id}.",
            example=DEFAULT_MODEL,
            model_id=shown(model_id),
        )
    allowed = _allowed()
    id_ = _offered(model_id.strip(), allowed) if allowed else model_id
    if id_ is None:
        raise HeadworkError(
            "This server does not offer the model {model_id}. It offers: {models}.",
            model_id=shown(model_id),
            models=", ".join(dict.fromkeys(_without_folders(id_) for id_ in allowed.values())),
        )
    return _entry(id_)


def _offered(name: str, allowed: dict[str, str]) -> str | None:
    """The id of what `name` asks for, where a limited server offers it. Looks at no folder or file."""
    ids = allowed.values()
    if name.startswith(trained.PREFIX):  # trained on this server
        return name
    if name.partition(":")[0] == "toy":
        id_ = canonical(name)
        return id_ if id_ in ids or "toy" in ids else None
    known = (entry.id for entry in ENTRIES if name == entry.id or name in entry.repo_ids)
    id_ = allowed.get(name) or next(known, _MOVED.get(name, name))
    if id_ in ids:
        return id_
    paths = {_spelled_out(path): path for path in ids} | {_spelled_out(path): id_ for path, id_ in allowed.items()}
    return paths.get(_spelled_out(name))


def _without_folders(id_: str) -> str:
    """An id for strangers to read: where a folder lies is the operator's own business."""
    return os.path.basename(id_) if os.path.isabs(id_) else id_


def _spelled_out(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))  # pathlib would follow links


def reader_of_chinese() -> Entry | None:
    """The model to offer for a Chinese text, of those that this server offers; None when none of them reads Chinese.

    One that needs no download comes first.
    """
    ids = allowed_ids()
    offered = [resolve(id_) for id_ in (E5, E5_HUB, "bert-base-chinese") if ids is None or id_ in ids]
    here = (e for e in offered if (e5_path() if e.id == E5 else local_folder(e)) is not None)
    to_download = (e for e in offered if e.source == "hub")
    return next(here, None) or next(to_download, None)


def local_folder(entry: Entry) -> Path | None:
    """Where a hub model lies on this computer, or None. Asks no network."""
    return next((folder for repo_id in entry.repo_ids if (folder := hub_cache.local(repo_id)) is not None), None)


def _entry(model_id: str) -> Entry:
    model_id = model_id.strip()
    for entry in ENTRIES:
        if model_id == entry.id or model_id in entry.repo_ids:
            return entry
    if model_id.split(":")[0] == "toy":
        id_, toy, way = canonical(model_id), ENTRIES[-1], toy_positions(model_id)
        label = "Toy {d_model}/{heads}/{layers}, seed {seed}".format(**toy_sizes(model_id))
        label += " (untrained)" if way == TOY_POSITIONS[0] else f", {way} (untrained)"
        return toy if id_ == toy.id else replace(toy, id=id_, label=label)
    if model_id.startswith(trained.PREFIX):
        return trained.entry_of(trained.get(model_id))
    folder = _folder(model_id)
    if folder is not None and folder.is_file():
        return trained.entry_of(trained.read_file(folder), folder)
    if folder is not None:
        about = "A model from a folder on this computer."
        return Entry(str(folder), f"{folder.name} (folder)", about, "folder", trained_mask=None, folder=folder)
    repo_id = _MOVED.get(model_id, model_id)
    if "/" not in repo_id or not hub_cache.is_repo_id(repo_id):
        raise _unknown(model_id)
    about = "A model from the hub."
    repo_ids = (repo_id, model_id) if repo_id != model_id else (repo_id,)
    return Entry(repo_id, repo_id, about, "hub", None, trained_mask=None, repo_ids=repo_ids)


def _folder(model_id: str) -> Path | None:
    """The folder, or the file of a model trained in this app, that an id names; None when it names neither."""
    looks_like_path = model_id.startswith(("/", "./", "../", "~", ".\\", "..\\")) or "\\" in model_id
    try:
        folder = Path(model_id).expanduser().resolve()
        if model_id and (folder.is_dir() or (folder.suffix == trained.SUFFIX and folder.is_file())):
            return folder
    except (OSError, RuntimeError, ValueError):  # too long, no such home, NUL
        pass
    if model_id.endswith(trained.SUFFIX):
        raise _NotThere("There is no file {file}. Check the path.", file=shown(model_id))
    if looks_like_path:
        raise _NotThere("There is no folder {folder}. Check the path.", folder=shown(model_id))
    return None


def _unknown(model_id: str) -> HeadworkError:
    names = [entry.id for entry in ENTRIES if "/" not in entry.id]
    close = difflib.get_close_matches(model_id, [*names, *_MOVED], n=1)
    if close:
        return HeadworkError(
            "There is no model {model_id}. Did you mean {close}?", model_id=shown(model_id), close=close[0]
        )
    return HeadworkError(
        "There is no model {model_id}. Choose one of {names}, a folder, or a hub id such as owner/name.",
        model_id=shown(model_id),
        names=", ".join(names),
    )
