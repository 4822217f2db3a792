"""Models of the Hugging Face hub: say what a download would fetch, and fetch it. Safetensors only.

Built on huggingface_hub, whose cache layout it keeps, so a model that another tool fetched is found and the other way
round.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from model.errors import HeadworkError
from model.files import sha256_of
from model.tokenizers.marian import SOURCE, TARGET, TARGET_VOCABULARY
from model.tokenizers.tokenizer_json import TOKENIZER_FILES
from model.weights.checkpoints import ADAPTER, CONFIG, INDEX, WEIGHTS, adapter
from model.weights.encoder_decoders import GENERATION, is_encoder_decoder
from model.weights.hub_cache import Place, is_repo_id, shards
from model.weights.hub_errors import explained

TIMEOUT = 10.0  # seconds without an answer before a request counts as failed
_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
_TOKENIZER_EXTRAS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt")
_PAIR_EXTRAS = (GENERATION, SOURCE, TARGET, TARGET_VOCABULARY)  # of an encoder–decoder
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class RemoteFile:
    """One file of a download. `sha256` is known for large files only."""

    name: str
    size: int
    sha256: str | None
    is_here: bool


@dataclass(frozen=True)
class DownloadPlan:
    """What a download would fetch, and into which folder."""

    repo_id: str
    commit: str
    files: tuple[RemoteFile, ...]
    folder: Path

    @property
    def total_bytes(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    @property
    def bytes_here(self) -> int:
        """Bytes of the files that are on this computer already."""
        return sum(file.size for file in self.files if file.is_here)


def plan(repo_id: str) -> DownloadPlan:
    """Ask the hub which files the model needs and how large they are. Fetches config.json, and no other file.

    Raises:
        HeadworkError: a malformed or unknown id, a private model, no network, no safetensors, no tokenizer.
    """
    place = Place.now()
    _check(repo_id, place)
    info = _ask(repo_id, place)
    sizes = {sibling.rfilename: sibling for sibling in info.siblings or []}
    folder = place.storage(repo_id) / "snapshots" / info.sha
    files = []
    for name in _needed(repo_id, list(sizes)):
        sibling = sizes[name]
        size, sha256 = (sibling.lfs.size, sibling.lfs.sha256) if sibling.lfs else (sibling.size or 0, None)
        files.append(RemoteFile(name, size, sha256, is_here=(folder / name).is_file()))
    found = DownloadPlan(repo_id, info.sha, tuple(files), folder)
    _download(found, files[0], place, _bar_class(None))
    if is_encoder_decoder(folder):
        return found
    return replace(found, files=tuple(file for file in files if file.name not in _PAIR_EXTRAS))


def fetch(plan: DownloadPlan, progress: Progress | None = None) -> Path:
    """Download what a plan names and isn't here yet. A stopped download goes on, when asked again, with the next file.

    Not within a file: huggingface_hub (2.4) gives each attempt at a file a name of its own and removes it with the
    attempt, because file locks can't be trusted everywhere (huggingface_hub pull request 4228). A connection that
    breaks is taken up where it broke, within one attempt.

    Args:
        plan: from `plan`.
        progress: called with (bytes done, bytes in all, file name), first at the start of each file. Whatever it raises
            ends the download and comes out of this function; no half file is left.

    Returns:
        The folder of the model.

    Raises:
        HeadworkError: no network, a connection that breaks, a damaged file, a full disk.
    """
    place = Place.now()
    _check(plan.repo_id, place)
    done = 0
    for file in plan.files:
        count = _Count(plan, file, done, progress)
        count.report()
        if not (plan.folder / file.name).is_file():
            _download(plan, file, place, _bar_class(count))
            _verify(plan, file)
        done += file.size
        if file.name == INDEX:
            _check_shards(plan)
    if progress is not None:
        progress(plan.total_bytes, plan.total_bytes, plan.files[-1].name)
    _note_commit(plan)
    return plan.folder


def _check(repo_id: str, place: Place) -> None:
    if not is_repo_id(repo_id):
        raise HeadworkError(
            "{repo_id} is not a hub id. Write it as owner/name, for example google-bert/bert-base-uncased.",
            repo_id=repr(repo_id[:100]),
        )
    if place.offline:
        raise HeadworkError(
            "{repo_id} is not on this computer, and HF_HUB_OFFLINE forbids fetching it. Unset that variable first.",
            repo_id=repo_id,
        )
    if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", place.endpoint):
        raise HeadworkError(
            "HF_ENDPOINT is {endpoint}, which is not a web address. It should start with https://.",
            endpoint=repr(place.endpoint),
        )


def _library() -> Any:
    """huggingface_hub (half a second to import), set up for downloads that a person watches and can stop."""
    import huggingface_hub
    from huggingface_hub import constants

    # Xet fetches in threads that no callback can stop, from hosts that a mirror in HF_ENDPOINT doesn't cover.
    constants.HF_HUB_DISABLE_XET = True
    constants.DOWNLOAD_CHUNK_SIZE = 1024 * 1024  # 10 MB by default: ten seconds between two calls on a slow line
    return huggingface_hub


def _ask(repo_id: str, place: Place) -> Any:
    library = _library()
    try:
        api = library.HfApi(endpoint=place.endpoint, token=place.token)
        info = api.model_info(repo_id, files_metadata=True, timeout=TIMEOUT)
    except Exception as error:  # from the network, the disk, or an answer that is no hub's
        raise explained(error, repo_id, place.endpoint) from error
    if not re.fullmatch(r"[0-9a-f]{40}", info.sha or ""):
        raise HeadworkError(
            "{endpoint} does not answer as a model hub does. Check HF_ENDPOINT.", endpoint=place.endpoint
        )
    return info


def _needed(repo_id: str, names: list[str]) -> list[str]:
    """The files to fetch: config.json first, weights last."""
    if WEIGHTS in names:
        weights = [WEIGHTS]
    elif INDEX in names:
        weights = [INDEX, *sorted(name for name in names if _SHARD.fullmatch(name))]
    elif ADAPTER in names:
        raise adapter(repo_id)
    elif any(name.endswith(_PICKLES) for name in names):
        raise HeadworkError(
            "{repo_id} has no safetensors weights, only files that can run code when they are opened "
            "(such as pytorch_model.bin); those are never loaded here. Choose a model with model.safetensors.",
            repo_id=repo_id,
        )
    else:
        raise HeadworkError("{repo_id} has no weights (model.safetensors). Choose another model.", repo_id=repo_id)
    if CONFIG not in names:
        raise HeadworkError("{repo_id} has no config.json, so its shape is unknown.", repo_id=repo_id)
    if not any(name in names for name in TOKENIZER_FILES):
        raise HeadworkError("{repo_id} has no tokenizer (tokenizer.json or vocab.txt).", repo_id=repo_id)
    tokenizer = TOKENIZER_FILES[:1] if TOKENIZER_FILES[0] in names else TOKENIZER_FILES
    extras = (*_TOKENIZER_EXTRAS, *_PAIR_EXTRAS)
    return [CONFIG, *(name for name in (*tokenizer, *extras) if name in names), *weights]


def _download(plan: DownloadPlan, file: RemoteFile, place: Place, bar: type) -> None:
    library = _library()
    try:
        # Asked once more by ourselves, because hf_hub_download repeats this question for minutes when nobody answers.
        url = library.hf_hub_url(plan.repo_id, file.name, revision=plan.commit, endpoint=place.endpoint)
        if not (plan.folder / file.name).is_file():
            library.get_hf_file_metadata(url, token=place.token, timeout=TIMEOUT, endpoint=place.endpoint)
        library.hf_hub_download(
            plan.repo_id,
            file.name,
            revision=plan.commit,
            cache_dir=str(place.cache),
            endpoint=place.endpoint,
            token=place.token,
            etag_timeout=TIMEOUT,
            tqdm_class=bar,
        )
    except Exception as error:
        if getattr(bar, "stopped", None) is error:
            raise  # by the person's own callback
        raise explained(error, plan.repo_id, place.endpoint, file.name) from error


@dataclass
class _Count:
    """Bytes done over the whole plan, told to the person."""

    plan: DownloadPlan
    file: RemoteFile
    done: int
    progress: Progress | None

    def add(self, n: float) -> None:
        self.done += int(n)
        self.report()

    def report(self) -> None:
        if self.progress is not None:
            self.progress(min(self.done, self.plan.total_bytes), self.plan.total_bytes, self.file.name)


def _bar_class(count: _Count | None) -> type:
    """A class that stands in for tqdm: it prints nothing and passes the bytes on to `count`."""

    class Bar:
        stopped: BaseException | None = None

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.update(kwargs.get("initial") or 0)

        def update(self, n: float | None = 1) -> None:
            if count is None:
                return
            try:
                count.add(n or 0)
            except BaseException as error:
                Bar.stopped = error
                raise

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *args: object) -> None:
            pass

        def close(self) -> None:
            pass

        def set_postfix_str(self, *args: Any, **kwargs: Any) -> None:
            pass

        set_description_str = set_description = refresh = set_postfix_str

    return Bar


def _verify(plan: DownloadPlan, file: RemoteFile) -> None:
    """Compare a large file with the hash the hub gave; huggingface_hub compares sizes only."""
    if file.sha256 is None:
        return
    path = plan.folder / file.name
    if sha256_of(path) != file.sha256:
        path.resolve().unlink(missing_ok=True)  # the blob that the link points to
        path.unlink(missing_ok=True)
        raise HeadworkError(
            "{file} of {repo_id} arrived damaged (its sha256 is not the published one). Download it again.",
            file=file.name,
            repo_id=plan.repo_id,
        )


def _check_shards(plan: DownloadPlan) -> None:
    missing = sorted(shards(plan.folder) - {file.name for file in plan.files})
    if missing or not shards(plan.folder):
        raise HeadworkError(
            "The weights of {repo_id} are incomplete: {index} names {name}, which the repository doesn't have.",
            repo_id=plan.repo_id,
            index=INDEX,
            name=missing[0] if missing else "no file",
        )


def _note_commit(plan: DownloadPlan) -> None:
    """Note the commit as the current one, where `local` and other tools look; only once everything is here."""
    ref = plan.folder.parent.parent / "refs" / "main"
    temporary = ref.with_name(f"main.{uuid.uuid4().hex}.tmp")  # two visitors can finish the same download at once
    try:
        ref.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(plan.commit, encoding="utf-8")
        temporary.replace(ref)
    except OSError as error:
        raise explained(error, plan.repo_id, "") from error
