"""Encoder–decoders from a folder, safetensors only; which families: `model.weights.families`.

Read as models of one part are (model.weights.checkpoints): every tensor matched by name and shape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.blank import blank_pair, fill
from model.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from model.entry import Entry
from model.errors import HeadworkError, clipped
from model.files import read_json
from model.seq2seq import EncoderDecoderModel
from model.tokenizers.marian import load_marian
from model.tokenizers.tokenizer_json import TOKENIZER_FILES, load_tokenizer
from model.tokenizers.tokens import Tokenizer
from model.weights.checkpoints import CONFIG, config_of, fit, known_family, read_tensors, written_config
from model.weights.families import ENCODER_DECODERS
from model.weights.families.family import Family
from model.writing import WritingRules

GENERATION = "generation_config.json"
# What greedy writing would have to heed, each with the value that changes nothing.
_NOT_DONE: dict[str, float] = {
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "encoder_no_repeat_ngram_size": 0,
    "min_new_tokens": 0,
    "begin_suppress_tokens": 0,
    "forced_decoder_ids": 0,
    "sequence_bias": 0,
    "exponential_decay_length_penalty": 0,
}
SENTENCEPIECE_FILES = ("spiece.model", "sentencepiece.bpe.model")
_TABLES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")


@dataclass(frozen=True)
class PairCheckpoint:
    """An encoder–decoder read from a folder."""

    config: EncoderDecoderConfig
    transformer: EncoderDecoder
    rules: WritingRules
    sha256: str


def is_encoder_decoder(folder: Path) -> bool:
    """Whether a folder holds one of a family that is read here, or a part of one, which `load` refuses by name.

    False where no config.json says so.
    """
    try:
        raw = read_json(folder / CONFIG)
    except HeadworkError:
        return False
    return _is_read(raw)


def _is_read(raw: Any) -> bool:
    kind = raw.get("model_type") if isinstance(raw, dict) else None
    return isinstance(kind, str) and kind in ENCODER_DECODERS


def load(entry: Entry, folder: Path) -> EncoderDecoderModel:
    """The model in a folder, with its tokenizer. Raises HeadworkError as `load_pair`, or for the tokenizer."""
    read_pair_config(folder)  # first, since it says best what is wrong
    source, target = load_tokenizers(folder)
    found = load_pair(folder)
    entry = replace(entry, trained_mask="causal")  # of the decoder
    return EncoderDecoderModel(
        entry, found.transformer, source, target_tokenizer=target, rules=found.rules, sha256=found.sha256
    )


def load_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of source and target: one for both where there is a tokenizer.json, else as Marian has them.

    Raises:
        HeadworkError: there is none, or none that can be read without the sentencepiece library.
    """
    if (folder / TOKENIZER_FILES[0]).is_file():
        tokenizer = load_tokenizer(folder)
        return tokenizer, tokenizer
    if read_json(folder / CONFIG)["model_type"] == "marian":
        return load_marian(folder)
    for name in SENTENCEPIECE_FILES:
        if (folder / name).is_file():
            raise HeadworkError(
                "The tokenizer of {folder} is only there as {file}, which needs the sentencepiece library. Where that "
                "is installed, AutoTokenizer.from_pretrained(folder).save_pretrained(folder) of transformers writes "
                "the tokenizer.json that is read here.",
                folder=folder.name,
                file=name,
            )
    tokenizer = load_tokenizer(folder)
    return tokenizer, tokenizer


def load_pair(folder: Path) -> PairCheckpoint:
    """Reads config and weights, in float32 and eval mode.

    Raises:
        HeadworkError: no folder, no weights, an unsupported family or choice, broken or unfitting weights.
    """
    raw = written_config(folder)
    family, config = read_pair_config(folder)
    tensors, sha256 = read_tensors(folder, family, raw)
    config = _as_written(config, tensors)
    transformer = blank_pair(config)
    fill(transformer, fit(transformer, tensors, family, raw["model_type"]))
    return PairCheckpoint(config, transformer, writing_rules(folder, raw), sha256)


def read_pair_config(folder: Path) -> tuple[Family[EncoderDecoderConfig], EncoderDecoderConfig]:
    """The family and our config of a folder; nothing but config.json is read."""
    raw = written_config(folder)
    if not _is_read(raw):
        known_family(raw)
    family = ENCODER_DECODERS[raw["model_type"]]
    return family, config_of(family, raw)


def _as_written(config: EncoderDecoderConfig, tensors: dict[str, Tensor]) -> EncoderDecoderConfig:
    """The config with the tables that the weights have, whatever config.json says; copies of one are put in order.

    As transformers reads them: what should be one table and isn't equal stays several. A model saved without its head
    has no output matrix, unless that is the embedding.
    """
    shared = tensors.pop("shared.weight", None)
    for name in _TABLES:
        if name not in tensors and shared is not None:
            tensors[name] = shared
    head, (source, target) = tensors.get("lm_head.weight"), (tensors.get(name) for name in _TABLES)
    is_shared = config.shared_embedding and _equal(source, target)
    output = config.decoder.output
    if head is None:
        output = "none" if output == "own" else output
    elif not _equal(head, target):
        output = "own"
    return replace(
        config,
        decoder=replace(config.decoder, output=output),
        shared_embedding=is_shared,
        output_bias=config.output_bias and output != "none" and "final_logits_bias" in tensors,
    )


def _equal(a: Tensor | None, b: Tensor | None) -> bool:
    return a is b or (a is not None and b is not None and a.shape == b.shape and torch.equal(a, b))


def writing_rules(folder: Path, raw: dict[str, Any]) -> WritingRules:
    """How a target begins and ends, and what isn't to be written: generation_config.json, or config.json in older ones.

    Raises:
        HeadworkError: neither says with which token a target starts, or an entry is of the wrong kind.
    """
    said = read_json(folder / GENERATION) if (folder / GENERATION).is_file() else {}
    said = raw | {key: value for key, value in (said if isinstance(said, dict) else {}).items() if value is not None}
    start: Any = said.get("decoder_start_token_id")
    if start is None:
        start = said.get("bos_token_id") if raw["model_type"] != "t5" else said.get("pad_token_id", 0)
    try:
        said_end = said.get("eos_token_id")
        ends = tuple(said_end) if isinstance(said_end, list) else () if said_end is None else (said_end,)
        words = [tuple(word) for word in said.get("bad_words_ids") or ()]
        single = [word[0] for word in words if len(word) == 1 and word[0] not in ends]  # the end is never a bad word
        not_done = [name for name, harmless in _NOT_DONE.items() if said.get(name) not in (None, [], {}, harmless)]
        not_done += ["bad_words_ids"] * any(len(word) > 1 for word in words)
        return WritingRules(
            start=start,
            ends=ends,
            first=said.get("forced_bos_token_id"),
            banned=(*single, *(said.get("suppress_tokens") or ())),
            min_length=said.get("min_length") or 0,
            no_repeat=said.get("no_repeat_ngram_size") or 0,
            not_done=tuple(not_done),
        )
    except TypeError as error:
        raise HeadworkError("config.json has an entry of the wrong kind: {reason}.", reason=clipped(error)) from error
