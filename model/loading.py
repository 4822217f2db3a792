"""From a model id to a model that can be asked."""

from __future__ import annotations

import os
from pathlib import Path

from model.catalogue import DEFAULT_MODEL, E5, SMOLLM2, local_folder, resolve
from model.entry import Entry
from model.errors import HeadworkError, NotDownloaded, first_line, is_fault, of_two_parts
from model.seq2seq import EncoderDecoderModel
from model.tracing import AttentionModel
from model.weights import checkpoints, e5, encoder_decoders, hub, minilm, smollm2, toy, trained

LARGEST_DOWNLOAD = 4_000_000_000  # bytes; weights have to fit in memory as well


def load(
    model_id: str | Path = DEFAULT_MODEL, *, download: bool = False, progress: hub.Progress | None = None
) -> AttentionModel | EncoderDecoderModel:
    """Load a model: an EncoderDecoderModel where it has two parts (`is_encoder_decoder`), else an AttentionModel.

    Args:
        model_id: see `model.catalogue`; a Path is always a folder, or the file of a model trained here.
        download: fetch a hub model that is not on this computer. Nothing is fetched unasked.
        progress: called with (bytes done, bytes in all, file name); what it raises stops the download.

    Raises:
        NotDownloaded: a hub model that isn't here, and `download` is False.
        HeadworkError: the id names nothing, or the model can't be fetched or read.
    """
    entry = resolve(os.path.join(".", model_id) if isinstance(model_id, Path) else model_id)
    folder = _fetched(entry, download, progress) if entry.source == "hub" else entry.folder
    try:
        return _load(entry, folder)
    except HeadworkError:
        raise
    except BaseException as error:
        if not is_fault(error):
            raise
        raise HeadworkError(
            "The model {model} can't be loaded ({reason}). Get its files again, or choose another model.",
            model=entry.label,
            reason=first_line(error),
        ) from error


def load_one_part(
    model_id: str | Path = DEFAULT_MODEL, *, download: bool = False, progress: hub.Progress | None = None
) -> AttentionModel:
    """As `load`, for what looks at one text.

    Raises:
        HeadworkError: as `load`; also for an encoder–decoder.
    """
    model = load(model_id, download=download, progress=progress)
    if isinstance(model, EncoderDecoderModel):
        raise of_two_parts(model.label)
    return model


def _load(entry: Entry, folder: Path | None) -> AttentionModel | EncoderDecoderModel:
    if entry.source == "toy":
        return toy.load(entry)
    if entry.source == "trained here":
        return trained.load(entry)
    if folder is not None:
        is_pair = encoder_decoders.is_encoder_decoder(folder)
        return encoder_decoders.load(entry, folder) if is_pair else checkpoints.load(entry, folder)
    if entry.id == E5:
        return e5.load(entry)
    return smollm2.load(entry) if entry.id == SMOLLM2 else minilm.load(entry)


def _fetched(entry: Entry, download: bool, progress: hub.Progress | None) -> Path:
    """The folder of a hub model, downloaded first where that is wanted."""
    folder = local_folder(entry)
    if folder is not None:
        return folder
    if not download:
        raise NotDownloaded(
            "The model {repo_id} is not on this computer yet. Download it first ({size}).",
            repo_id=entry.repo_ids[0],
            size="size not known yet" if entry.download_bytes is None else f"{entry.download_bytes / 1e6:.0f} MB",
        )
    return hub.fetch(download_plan(entry), progress)


def download_plan(entry: Entry) -> hub.DownloadPlan:
    """What downloading a hub model would fetch, after a look at whether it can be used at all.

    Raises:
        HeadworkError: as `hub.plan`; also for an unsupported architecture, and for a model that is too large.
    """
    plan = hub.plan(entry.repo_ids[0])
    if encoder_decoders.is_encoder_decoder(plan.folder):
        encoder_decoders.read_pair_config(plan.folder)
    else:
        checkpoints.config_from(checkpoints.read_config(plan.folder))
    if plan.total_bytes > LARGEST_DOWNLOAD:
        raise HeadworkError(
            "{repo_id} has {size:.1f} GB of weights; this app loads up to {most:.0f} GB. Choose a smaller model.",
            repo_id=plan.repo_id,
            size=plan.total_bytes / 1e9,
            most=LARGEST_DOWNLOAD / 1e9,
        )
    return plan
