"""Encoder–decoders beside transformers: one forward with all three families of maps, and writing with the cache.

    python -m benchmarks.encoder_decoder            about six minutes; --quick: one

Random weights of published sizes, written to a folder by transformers and read from it by both. One thread, CPU time.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import Spread, clock_for, describe_machine, interleave, markdown_table, ratios
from model.encoder_decoder import EncoderDecoder
from model.seq2seq import pack_parts
from model.weights.encoder_decoders import load_pair
from model.writing import WritingRules, write_greedily

SIZES = ((16, 16), (64, 64), (256, 64), (512, 1))  # N_k source tokens, N_q target tokens
WRITTEN = 32
BUDGET = 1.0
MAPS = 1e-5  # of transformers' largest; float32 in another order
_PARTS = {f"{part}_{name}": n for part in ("encoder", "decoder") for name, n in (("layers", 6), ("attention_heads", 8))}
# As on the hub: facebook/bart-base, Helsinki-NLP/opus-mt-en-de, google-t5/t5-small, google/flan-t5-small.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "BART-base": (
        "BartForConditionalGeneration",
        {
            "vocab_size": 50265,
            "d_model": 768,
            "encoder_layers": 6,
            "decoder_layers": 6,
            **{
                f"{part}_{name}": n
                for part in ("encoder", "decoder")
                for name, n in (("attention_heads", 12), ("ffn_dim", 3072))
            },
        },
    ),
    "OPUS-MT": (
        "MarianMTModel",
        {
            "vocab_size": 58101,
            "d_model": 512,
            **_PARTS,
            "encoder_ffn_dim": 2048,
            "decoder_ffn_dim": 2048,
            "max_position_embeddings": 512,
            "scale_embedding": True,
            "activation_function": "swish",
        },
    ),
    "T5-small": ("T5ForConditionalGeneration", {"decoder_start_token_id": 0}),
    "Flan-T5-small": (
        "T5ForConditionalGeneration",
        {
            "decoder_start_token_id": 0,
            "num_layers": 8,
            "num_heads": 6,
            "d_ff": 1024,
            "feed_forward_proj": "gated-gelu",
            "tie_word_embeddings": False,
        },
    ),
}


class Contest:
    """One model in every implementation, on the same weights."""

    def __init__(self, name: str, folder: Path) -> None:
        import transformers

        kind, sizes = MODELS[name]
        config = getattr(transformers, kind.partition("For")[0].removesuffix("MTModel") + "Config")(**sizes)
        torch.manual_seed(0)
        getattr(transformers, kind)(config).save_pretrained(folder)
        self.theirs = getattr(transformers, kind).from_pretrained(folder, attn_implementation="eager").eval()
        found = load_pair(folder)
        self.plain, self.start = found.transformer, found.rules.start
        ours = load_pair(folder).transformer
        self.ours = ours if pack_parts(ours) else None

    def implementations(self) -> dict[str, EncoderDecoder]:
        return {"plain": self.plain} | ({} if self.ours is None else {"as the app runs it": self.ours})

    def forward(self, n_source: int, n_target: int, seconds: float) -> dict[str, list[float]]:
        """Times of one source and target: all maps, and the scores of every next token."""
        generator = torch.Generator().manual_seed(n_source)
        source, target = (torch.randint(3, 30_000, (1, n), generator=generator) for n in (n_source, n_target))

        def run_theirs() -> Any:
            return self.theirs(input_ids=source, decoder_input_ids=target, output_attentions=True, use_cache=False)

        runs: dict[str, Callable[[], object]] = {"transformers": run_theirs}
        expected = run_theirs()
        for name, model in self.implementations().items():
            output = model(source, target)
            for ours, theirs in (
                (output.encoder.attention, expected.encoder_attentions),
                (output.decoder.attention, expected.decoder_attentions),
                (output.cross, expected.cross_attentions),
            ):
                worst = float((ours - torch.stack(theirs)).abs().max())
                assert worst <= MAPS, f"{name}, {n_source} and {n_target} tokens: maps differ by {worst:.1e}"
            runs[name] = lambda model=model: model.logits(model(source, target).hidden)
        return interleave(runs, clock=clock_for(1), seconds=seconds)

    def writing(self, n_source: int, seconds: float) -> dict[str, list[float]]:
        """Times of WRITTEN tokens written for a source, greedy, with the cache and every map."""
        source = torch.randint(3, 30_000, (1, n_source), generator=torch.Generator().manual_seed(n_source))
        rules = WritingRules(self.start)

        def run_theirs() -> list[int]:
            found = self.theirs.generate(
                source,
                max_new_tokens=WRITTEN,
                min_new_tokens=WRITTEN,
                eos_token_id=None,
                forced_eos_token_id=None,
                num_beams=1,
                do_sample=False,
                output_attentions=True,
                return_dict_in_generate=True,
            )
            return found.sequences[0, 1:].tolist()  # type: ignore[no-any-return]

        runs: dict[str, Callable[[], object]] = {"transformers": run_theirs}
        expected = run_theirs()
        for name, model in self.implementations().items():
            runs[name] = lambda model=model: write_greedily(model, model.encoder(source).hidden, rules, WRITTEN)
            assert runs[name]() == expected, f"{name} writes another text"
        return interleave(runs, clock=clock_for(1), seconds=seconds)


def row(what: Sequence[str], times: dict[str, list[float]]) -> list[str]:
    base = times["transformers"]
    found = {name: ratios(times[name], base) for name in times if name != "transformers"}
    ours = found.get("as the app runs it", found["plain"])
    judged = "holds" if ours.median <= BUDGET else "on the line" if ours.low <= BUDGET else "MISSED"
    cells = [f"{found[name]:.2f}" if name in found else "–" for name in ("as the app runs it", "plain")]
    return [*what, f"{1000 * Spread.of(base).median:.0f}", *cells, f"≤ {BUDGET:.1f} {judged}", str(len(base))]


@torch.inference_mode()
def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.encoder_decoder", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS], help="which (default: all)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print(f"{describe_machine()}; 1 thread, CPU time; load {os.getloadavg()[0]:.1f}.\n")
    seconds, sizes = (2.0, SIZES[1:2]) if options.quick else (6.0, SIZES)
    forward, writing = [], []
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            contest = Contest(name, Path(folder))
            forward += [row([name, str(k), str(q)], contest.forward(k, q, seconds)) for k, q in sizes]
            writing.append(row([name, "32"], contest.writing(32, 2 * seconds)))
    columns = ["transformers ms", "as the app runs it", "plain", "budget", "rounds"]
    print(markdown_table(["model", "source", "target", *columns], forward))
    print(f"\n{WRITTEN} tokens written:\n")
    print(markdown_table(["model", "source", *columns], writing))


if __name__ == "__main__":
    main()
