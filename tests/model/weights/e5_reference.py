"""What an E5S1 file is compared with: transformers' BertModel with its weights, and its table of characters."""

import struct

import torch


def normaliser_of(path):
    """What each character becomes, of those that don't stay themselves; read as the description of the format says."""
    content = path.read_bytes()
    (n_pieces,) = struct.unpack_from("<i", content, 44)
    (n_bytes,) = struct.unpack_from("<Q", content, 64)
    at = 72 + 4 * (n_pieces + 1) + 4 * n_pieces + n_bytes
    count, size = struct.unpack_from("<iI", content, at)
    at, end = at + 8, at + 8 + size
    table = {}
    for _ in range(count):
        point, k = struct.unpack_from("<IB", content, at)
        table[chr(point)] = "".join(map(chr, struct.unpack_from(f"<{k}I", content, at + 5)))
        at += 5 + 4 * k
    assert at == end and len(table) == count
    return table


def bert_of(numbers, sizes):
    """The model, eager, in eval mode, from tensors by their names in the file; `sizes` as in e5_writer.py."""
    import transformers

    config = transformers.BertConfig(
        vocab_size=sizes["vocabulary"],
        hidden_size=sizes["d_model"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["d_ff"],
        max_position_embeddings=sizes["positions"],
        type_vocab_size=sizes["types"],
        layer_norm_eps=1e-12,
    )
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = transformers.BertModel(config, add_pooling_layer=False)
    top = {
        "word": "word_embeddings.weight",
        "pos": "position_embeddings.weight",
        "type": "token_type_embeddings.weight",
    }
    names = {f"emb.{ours}": f"embeddings.{theirs}" for ours, theirs in top.items()}
    modules = {"emb.ln": "embeddings.LayerNorm"}
    for i in range(sizes["layers"]):
        layer = f"encoder.layer.{i}"
        modules |= {f"l{i}.{short}": f"{layer}.attention.self.{long}" for short, long in (("q", "query"), ("k", "key"))}
        modules |= {f"l{i}.v": f"{layer}.attention.self.value", f"l{i}.ao": f"{layer}.attention.output.dense"}
        modules |= {f"l{i}.aln": f"{layer}.attention.output.LayerNorm", f"l{i}.oln": f"{layer}.output.LayerNorm"}
        modules |= {f"l{i}.fi": f"{layer}.intermediate.dense", f"l{i}.fo": f"{layer}.output.dense"}
    leaves = (("w", "weight"), ("b", "bias"))
    names |= {f"{ours}.{w}": f"{theirs}.{weight}" for ours, theirs in modules.items() for w, weight in leaves}
    weights = {names[name]: torch.as_tensor(values) for name, values in numbers.items()}
    model.load_state_dict(weights, assign=True, strict=False)
    for module in model.modules():  # buffers, which the meta device left empty
        if hasattr(module, "position_ids"):
            module.position_ids = torch.arange(sizes["positions"])[None]
            module.token_type_ids = torch.zeros_like(module.position_ids)
    assert not [name for name, tensor in model.state_dict().items() if tensor.is_meta]
    return model.eval()
