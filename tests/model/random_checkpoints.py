"""Small random checkpoints, written by transformers' own save_pretrained, and changed afterwards."""

import json

import pytest
import tokenizers
import torch
from safetensors.torch import load_file, save_file


def save_random(config, kind, folder, dtype=None):
    """Writes a random model of transformers' class `kind` and returns it in eval mode with eager attention."""
    torch.manual_seed(0)
    config._attn_implementation = "eager"
    model = kind(config).eval()
    with torch.no_grad():  # fresh biases and norms are 0 and 1: give every tensor something to get wrong
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    (model.to(dtype) if dtype is not None else model).save_pretrained(folder)
    return model


def small_bert(folder, num_attention_heads=3):
    """Writes a random BERT of 2 layers, without a tokenizer."""
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=60,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=num_attention_heads,
        intermediate_size=32,
        max_position_embeddings=20,
    )
    save_random(config, transformers.BertModel, folder)
    return folder


def write_tokenizer(folder, pattern=r"\s+"):
    """Puts a tokenizer.json for small letters beside the weights. `pattern` finds what parts words."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", *letters, *(f"##{c}" for c in letters)])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def edit_config(folder, **changes):
    """Changes entries of config.json; ... removes one."""
    path = folder / "config.json"
    config = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in config.items() if v is not ...}))


def edit_weights(folder, change):
    """Lets `change` alter the tensors of model.safetensors, in a dict by name."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
