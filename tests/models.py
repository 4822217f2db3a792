"""Models that tests share. They are read only; who changes one loads its own with `model.load`."""

import functools

import tokenizers
import torch

import model
from model.entry import Entry
from model.tokenizers.tokenizer_json import FastTokenizer
from model.tracing import AttentionModel
from model.transformer import Transformer, TransformerConfig

load = functools.cache(model.load)

LLAMA_LIKE = TransformerConfig(
    vocab_size=258,
    d_model=24,
    num_heads=6,
    num_layers=3,
    d_ff=40,
    max_tokens=64,
    norm="pre",
    norm_kind="rms",
    activation="swiglu",
    positions="rotary",
    embedding_norm=False,
    final_norm=True,
    bias=False,
    layer_norm_eps=1e-5,
    num_key_heads=2,
    head_width=8,
    output="tied",
)
END = "<|endoftext|>"


def byte_level(*special: str) -> FastTokenizer:
    """A byte-level BPE without merges: a token a byte, and the special ones."""
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(list(special))
    return FastTokenizer(backend)


def tiny_decoder(config: TransformerConfig = LLAMA_LIKE, seed: int = 0) -> AttentionModel:
    """A small random decoder over bytes, its weights large enough for maps and predictions that are not even."""
    torch.manual_seed(seed)
    transformer = Transformer(config)
    with torch.no_grad():
        for name, parameter in transformer.named_parameters():
            if parameter.dim() == 2:
                parameter.normal_(std=0.4 if "embeddings" not in name else 1.0)
    entry = Entry("tiny", "Tiny decoder", "A random one.", "folder", trained_mask="causal")
    return AttentionModel(entry, transformer, byte_level(END), sha256=None, packed=False)
