"""Attention maps without the app: `python -m model "The cat sat." --model minilm --mask causal --npz out.npz`."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from model import AttentionTrace, HeadworkError, attention_entropy, load
from model.arrays import npz_bytes
from model.catalogue import DEFAULT_MODEL
from model.command_line import EXIT_INPUT, EXIT_MODEL, EXIT_OK, command, fail, whole_number
from model.files import check_writable, write_whole
from model.generation import generate
from model.masks import parse_mask
from model.prediction import NextToken
from model.seq2seq import EncoderDecoderModel
from model.settings import threads
from model.trace import LARGEST_ROW_ERROR, MapsOf, Traces
from model.tracing import MOST_TOKENS

_EPILOG = """\
masks   bidirectional, causal, window:K, prefix:K, padding:M, joined with +, for example causal+padding:16
models  minilm (built in, English), e5-small-4bit (built in, Chinese and English), smollm2-135m (built in, a decoder,
        English), bert-base-uncased, bert-base-chinese, …, toy:d_model=32,heads=4,layers=2,seed=0 (untrained), a folder
        written by save_pretrained, or owner/name on the hub (with --download); of an encoder–decoder (BART, Marian, T5)
        the text is the source
exit    0 done; 2 the text, the mask or an option is wrong; 3 the model can't be loaded; 4 the file can't be written;
        130 stopped by Ctrl-C
"""


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    options = _parser().parse_args(arguments)
    torch.set_num_threads(threads())
    mask = None if options.mask is None else parse_mask(options.mask)
    if options.generate is not None and options.pair is not None:
        return fail("--generate goes on with one text: leave out --pair.", EXIT_INPUT)
    if options.generate is None and (options.temperature or options.seed):
        return fail("--temperature and --seed are of the tokens written: add --generate N.", EXIT_INPUT)
    if options.npz is not None:
        check_writable(options.npz)  # before the work, not after it
    try:
        model = load(options.model, download=options.download, progress=_progress if options.download else None)
    except HeadworkError as error:
        return fail(error, EXIT_MODEL)
    text = _read_input() if options.text == "-" else options.text
    traces, written = None, None
    maps: MapsOf = options.maps or "cross"
    if isinstance(model, EncoderDecoderModel):
        if options.pair is not None or options.generate is not None:
            return fail(
                f"{model.label} writes a target, or reads the one in --target: leave out --pair and --generate.",
                EXIT_INPUT,
            )
        traces = model.trace(text, options.target, mask)
        trace = traces.of(maps)
    elif options.target is not None or options.maps is not None:
        return fail(f"{model.label} has one part and reads one text: leave out --target and --maps.", EXIT_INPUT)
    elif options.generate is None:
        trace = model.trace(text if options.pair is None else (text, options.pair), mask)
    else:
        made = generate(model, text, options.generate, mask=mask, temperature=options.temperature, seed=options.seed)
        trace, written = made.trace(), made.written
    following = None if options.next is None else trace.next(options.next)
    if options.npz is not None:
        write_whole(options.npz, npz_bytes(trace))
    if options.json:
        found = as_json(trace) | target_json(traces, maps) | predicted_json(following, written)
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        print("\n".join([summary(trace), *target_lines(traces), *predicted_lines(following, written)]))
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m model",
        description="Every attention map of a sentence: (layers, heads, query, key).",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text", help="the sentence; - reads it from standard input")
    parser.add_argument("--pair", metavar="TEXT", help="a second text, read with the first as a pair")
    parser.add_argument(
        "--target", metavar="TEXT", help="of an encoder–decoder: the target (default: what the model writes)"
    )
    parser.add_argument(
        "--maps",
        choices=get_args(MapsOf),
        help="of an encoder–decoder: which maps (default: cross, where target tokens look at source tokens)",
    )
    parser.add_argument("--model", default=DEFAULT_MODEL, help="which model (default: %(default)s)")
    parser.add_argument("--mask", help="which mask (default: the one that the model was trained under)")
    parser.add_argument(
        "--next", metavar="K", type=whole_number(1, 1000), help="also the K most probable next tokens (a decoder's)"
    )
    parser.add_argument(
        "--generate", metavar="N", type=whole_number(0, MOST_TOKENS), help="write up to N tokens on first (a decoder)"
    )
    parser.add_argument(
        "--temperature", type=float, default=0.0, help="of --generate; 0 = always the most probable token (default)"
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0, 2**32 - 1),
        default=0,
        help="of --generate with a temperature (default: %(default)s)",
    )
    parser.add_argument("--npz", metavar="FILE", type=Path, help="write attention, tokens and mask as NumPy arrays")
    parser.add_argument(
        "--json", action="store_true", help="print tokens, mask, shapes and each head's entropy as JSON"
    )
    parser.add_argument("--download", action="store_true", help="fetch the model from the hub if it isn't here yet")
    return parser


def _read_input() -> str:
    """Standard input as text; bytes that are no UTF-8 become U+FFFD."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    return sys.stdin.read() if sys.stdin is not None else ""


def head_entropies(trace: AttentionTrace) -> list[list[float]]:
    """Mean entropy in nats of each head (L, h), over the rows of tokens that are not special and see something."""
    entropies = []
    for layer, maps in enumerate(attention_entropy(torch.tensor(trace.attention)).numpy()):  # (h, N)
        rows = ~np.array(trace.tokenized.is_special) & trace.allowed_in(layer).any(axis=-1)  # (N,)
        entropies.append([float(head.mean()) if head.size else 0.0 for head in maps[:, rows]])
    return entropies


def as_json(trace: AttentionTrace) -> dict[str, Any]:
    """What `--json` prints."""
    check = trace.check()
    tokens = trace.tokenized
    return {
        "model": {
            "id": trace.model_id,
            "label": trace.model_label,
            "trained": trace.trained,
            "weights_sha256": trace.sha256,
        },
        "text": trace.text,
        "mask": str(trace.mask),
        "maps": trace.kind,
        "tokens": list(trace.tokens),
        "keys": list(trace.keys),
        "pieces": list(tokens.pieces),
        "special": list(tokens.is_special),
        "segments": list(tokens.segments),
        "n_unknown": tokens.n_unknown,
        "n_cut": tokens.n_cut,
        "n_cut_characters": tokens.n_cut_characters,
        "shapes": {"attention": list(trace.attention.shape), "mask": list(trace.allowed.shape)},
        "entropy_nats": head_entropies(trace),
        "check": {
            "max_row_error": check.max_row_error,
            "masked_is_zero": check.masked_is_zero,
            "n_empty_rows": check.n_empty_rows,
        },
    }


def target_json(traces: Traces | None, maps: MapsOf) -> dict[str, Any]:
    """What an encoder–decoder adds to `--json`: both texts, and which of its maps these are."""
    if traces is None:
        return {}
    return {"maps": maps, "source": traces.source, "target": traces.target, "target_is_written": traces.is_written}


def target_lines(traces: Traces | None) -> list[str]:
    """What an encoder–decoder adds to what is printed."""
    if traces is None:
        return []
    by = "written by the model" if traces.is_written else "given"
    return [f"target  {json.dumps(traces.target, ensure_ascii=False)} ({by})"]


def predicted_json(following: Iterable[NextToken] | None, written: Iterable[NextToken] | None) -> dict[str, Any]:
    """What `--next` and `--generate` add to `--json`."""
    lists = {"next": following, "generated": written}
    return {
        name: [{"token": token.token, "probability": token.probability} for token in tokens]
        for name, tokens in lists.items()
        if tokens is not None
    }


def predicted_lines(following: Iterable[NextToken] | None, written: Iterable[NextToken] | None) -> list[str]:
    """What `--next` and `--generate` add to what is printed."""
    lines = [] if written is None else [f"wrote   {json.dumps(''.join(t.token for t in written), ensure_ascii=False)}"]
    return lines + [
        f"{'next    ' if i == 0 else ' ' * 8}{token.probability:.3f}  {json.dumps(token.token, ensure_ascii=False)}"
        for i, token in enumerate(following or ())
    ]


def summary(trace: AttentionTrace) -> str:
    """What is printed without `--json`."""
    check = trace.check()
    lines = [
        f"model   {trace.model_label}",
        f"mask    {trace.mask}",
        f"tokens  {' '.join(trace.tokens)}",
        *([] if trace.kind == "self" else [f"keys    {' '.join(trace.keys)}"]),
        f"maps    {' × '.join(str(n) for n in trace.attention.shape)} (layers × heads × queries × keys)",
        f"check   rows {'sum' if check.max_row_error <= LARGEST_ROW_ERROR else 'do NOT sum'} to 1 "
        f"(max error {check.max_row_error:.0e}), "
        f"masked cells {'exactly 0' if check.masked_is_zero else 'NOT 0'}",
    ]
    if trace.tokenized.is_pair:
        lines.append("note    read as a pair: two texts, parted by the separator")
    if check.n_empty_rows:
        lines.append(f"note    {check.n_empty_rows} rows may attend to nothing: their weights are 0")
    if trace.tokenized.n_cut or trace.tokenized.n_cut_characters:
        lines.append(
            f"note    the text was too long: {trace.tokenized.n_cut} tokens and "
            f"{trace.tokenized.n_cut_characters} further characters were cut"
        )
    if trace.tokenized.n_unknown:
        lines.append(f"note    {trace.tokenized.n_unknown} tokens are unknown to this model")
    return "\n".join(lines)


def _progress(done: int, total: int, name: str) -> None:
    print(f"\r{name}: {done / 1e6:.0f} of {total / 1e6:.0f} MB", end="\n" if done >= total else "", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
