"""Writes a small GGUF file of the Llama architecture, as llama.cpp's converter does, with the package gguf."""

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quantize

SIZES = {"vocabulary": 262, "d_model": 64, "d_ff": 96, "heads": 4, "key_heads": 2, "layers": 2, "positions": 32}
WORDS = ("th", "the", "Ġthe")
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ["t h", "th e", "Ġ the"]


def byte_pieces():
    """One printable character for each byte, as GPT-2 writes them."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    return [chr(b) for b in printable] + [chr(256 + i) for i in range(256 - len(printable))]


def small_model(seed=0):
    """A config.json of the family Llama and random tensors under transformers' names."""
    random = np.random.default_rng(seed)
    d_model, d_ff, layers = SIZES["d_model"], SIZES["d_ff"], SIZES["layers"]
    d_k = d_model // SIZES["heads"]
    shapes = {"embed_tokens": (SIZES["vocabulary"], d_model), "norm": (d_model,)}
    for i in range(layers):
        shapes |= {f"layers.{i}.{name}": (d_model,) for name in ("input_layernorm", "post_attention_layernorm")}
        shapes |= {f"layers.{i}.self_attn.{name}_proj": (d_model, d_model) for name in "qo"}
        shapes |= {f"layers.{i}.self_attn.{name}_proj": (SIZES["key_heads"] * d_k, d_model) for name in "kv"}
        shapes |= {f"layers.{i}.mlp.{name}_proj": (d_ff, d_model) for name in ("gate", "up")}
        shapes |= {f"layers.{i}.mlp.down_proj": (d_model, d_ff)}
    tensors = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    config = {
        "vocab_size": SIZES["vocabulary"],
        "hidden_size": d_model,
        "intermediate_size": d_ff,
        "num_hidden_layers": layers,
        "num_attention_heads": SIZES["heads"],
        "num_key_value_heads": SIZES["key_heads"],
        "max_position_embeddings": SIZES["positions"],
        "rope_theta": 500.0,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
    }
    return config, tensors


_NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
    "layers": "blk",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}


def gguf_name(name):
    """llama.cpp's name of a tensor of transformers."""
    parts = [part for part in name.split(".") if part not in ("self_attn", "mlp")]
    return ".".join(_NAMES.get(part, part) for part in parts) + ".weight"


def permuted(rows, heads):
    """The rows of W_q or W_k as llama.cpp wants them (LlamaModel.permute in convert_hf_to_gguf.py)."""
    return rows.reshape(heads, 2, -1, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def kinds_of(name):
    """As in the built-in file: norms in float32, the embedding in 8 bits, all else in 4."""
    if "norm" in name:
        return GGMLQuantizationType.F32
    return GGMLQuantizationType.Q8_0 if "embd" in name else GGMLQuantizationType.Q4_1


def write_gguf(path, tensors, *, values=None, arrays=None, kinds=kinds_of, change=lambda tensors: None):
    """Writes the file.

    Args:
        path: of the file.
        tensors: as `small_model` makes them.
        values: metadata to be set otherwise, by name; None leaves one out.
        arrays: vocabulary, kinds of its pieces and merges, to be set otherwise.
        kinds: the quantisation of a tensor, by its name in the file.
        change: alters the tensors under their names in the file.
    """
    rope = SIZES["d_model"] // SIZES["heads"]
    numbers = {
        "llama.block_count": SIZES["layers"],
        "llama.context_length": SIZES["positions"],
        "llama.embedding_length": SIZES["d_model"],
        "llama.feed_forward_length": SIZES["d_ff"],
        "llama.attention.head_count": SIZES["heads"],
        "llama.attention.head_count_kv": SIZES["key_heads"],
        "llama.rope.dimension_count": rope,
        "llama.rope.freq_base": 500.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.padding_token_id": 2,
    } | (values or {})
    lists = {
        "tokenizer.ggml.tokens": [*SPECIAL, *byte_pieces(), *WORDS],
        "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (256 + len(WORDS)),
        "tokenizer.ggml.merges": MERGES,
    } | (arrays or {})
    writer = GGUFWriter(path, numbers.pop("general.architecture", "llama"))
    for name, value in numbers.items():
        if value is not None:
            add = {str: writer.add_string, float: writer.add_float32}.get(type(value), writer.add_uint32)
            add(name, value)
    for name, value in lists.items():
        if value is not None:
            writer.add_array(name, value)
    stored = {gguf_name(name): tensor for name, tensor in tensors.items()}
    for name, tensor in stored.items():
        heads = SIZES["heads"] if "attn_q." in name else SIZES["key_heads"] if "attn_k." in name else None
        stored[name] = tensor if heads is None else permuted(tensor, heads)
    change(stored)
    for name, tensor in stored.items():
        writer.add_tensor(name, quantize(tensor, kinds(name)), raw_dtype=kinds(name))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
