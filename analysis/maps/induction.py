"""Heads that look at the token before, and heads that go on with what was said: `python -m analysis.maps.induction`.

A sequence of random tokens that stands twice has no grammar and no meaning: what is left to go by is order and
repetition. An induction head looks from a token to the one that came after its earlier occurrence (Olsson et al. 2022,
"prefix matching"), a previous-token head from a token to the one before it; the two together let a decoder go on with a
text that it has begun to repeat. A model without a causal mask sees a token's right neighbour anyway: there a high
score says that a head looks at what stands beside the same token elsewhere, and no more.
Shape letters: see model.attention; R sequences, K tokens that are repeated.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from model import AttentionModel, HeadworkError, Mask
from model import load_one_part as load
from model.catalogue import DEFAULT_MODEL
from model.command_line import EXIT_MODEL, EXIT_OK, MOST_SEED, command, fail, whole_number
from model.files import check_writable, write_whole
from model.head_id import HeadId
from model.settings import threads

LENGTH = 25  # random tokens that are repeated (Olsson et al. 2022, appendix)
SEQUENCES = 8
SHOWN = 5  # heads that the command line names
HALF = 0.5

Grid = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Repetition:
    """What every head does in random tokens that stand twice. Grids are (L, h), from 0 to 1, means over sequences.

    Attributes:
        induction: weight from a token of the second copy to the token after its place in the first.
        previous: weight from a token to the one before it, over both copies.
        first: weight on whatever stands first, a special token or not, over the tokens after it.
        length: K.
        n_sequences: R.
        mask: under which the model read them.
        seed: of the tokens.
    """

    induction: Grid
    previous: Grid
    first: Grid
    length: int
    n_sequences: int
    mask: str
    seed: int

    def ranked(self, scores: Grid, n: int) -> list[tuple[HeadId, float]]:
        """The n heads with the highest scores, the highest first."""
        order = np.argsort(-scores, axis=None, kind="stable")[:n]
        heads = [HeadId(*divmod(int(at), scores.shape[1])) for at in order]
        return [(head, float(scores[head])) for head in heads]


def repetition(
    model: AttentionModel,
    mask: Mask | str | None = None,
    *,
    length: int = LENGTH,
    n_sequences: int = SEQUENCES,
    seed: int = 0,
) -> Repetition:
    """Runs a model on random tokens of its own vocabulary, each sequence twice in a row.

    Args:
        model: any model; special tokens that it puts around a text are there.
        mask: None = the one it was trained under.
        length: K; less where the model reads or knows fewer tokens.
        n_sequences: R.
        seed: of the tokens.

    Raises:
        HeadworkError: a mask for one sentence, or a vocabulary of fewer than two words.
    """
    mask = model.default_mask if mask is None else Mask.of(mask)
    if mask.custom is not None or mask.padded_length is not None:
        raise HeadworkError("Random tokens are read under a mask that fits any text, not {mask}.", mask=str(mask))
    ids, start = _sequences(model, length, n_sequences, seed)  # (R, N)
    n_tokens, length = ids.size(1), (ids.size(1) - start[0] - start[1]) // 2
    allowed = mask.allowed(n_tokens, torch.zeros(n_tokens, dtype=torch.bool))  # (N, N)
    with torch.inference_mode():
        maps = model.transformer(ids, allowed, record="maps").attention.mean(dim=1).double().numpy()  # (L, h, N, N)
    return Repetition(
        induction=induction_score(maps, start[0], length),
        previous=previous_score(maps, start[0], 2 * length),
        first=maps[..., max(start[0], 1) : start[0] + 2 * length, 0].mean(axis=-1),
        length=length,
        n_sequences=n_sequences,
        mask=str(mask),
        seed=seed,
    )


def induction_score(maps: NDArray[np.floating], start: int, length: int) -> Grid:
    """Mean weight from each token of the second copy to the one after it in the first: (…, N, N) → (…).

    Args:
        maps: weights, query × key.
        start: where the first copy begins.
        length: K, of one copy; the second follows at once.
    """
    queries = np.arange(start + length, start + 2 * length)
    return np.asarray(maps[..., queries, queries - length + 1].mean(axis=-1), dtype=np.float64)


def previous_score(maps: NDArray[np.floating], start: int, length: int) -> Grid:
    """Mean weight from each of `length` tokens but the first to the one before it: (…, N, N) → (…)."""
    queries = np.arange(start + 1, start + length)
    return np.asarray(maps[..., queries, queries - 1].mean(axis=-1), dtype=np.float64)


def _sequences(model: AttentionModel, length: int, n_sequences: int, seed: int) -> tuple[torch.Tensor, tuple[int, int]]:
    """Ids (R, N), no token twice in a copy, and how many special tokens stand before and after the copies."""
    generator = np.random.default_rng(seed)
    before, after = _frame(model)
    length = min(length, (model.token_limit - len(before) - len(after)) // 2)
    most = model.config.vocab_size or 2**31  # a toy model has a vector for any number
    ordinary: list[int] = []
    drawn = iter(generator.permutation(most) if model.config.vocab_size else generator.integers(1, most, 10_000))
    for id_ in drawn:
        if len(ordinary) == length * n_sequences:
            break
        if model.tokenizer.is_ordinary(int(id_)):
            ordinary.append(int(id_))
    length = min(length, len(ordinary))
    if length < 2:
        raise HeadworkError("This model reads or knows too few tokens for a sequence of them to be repeated.")
    rows = []
    for number in range(n_sequences):
        own = ordinary[number * length : (number + 1) * length]
        if len(own) < length:  # a small vocabulary: in another order
            own = [ordinary[at] for at in generator.permutation(len(ordinary))[:length]]
        rows.append([*before, *own, *own, *after])
    return torch.tensor(rows), (len(before), len(after))


def _frame(model: AttentionModel) -> tuple[list[int], list[int]]:
    """The ids of the special tokens that the model puts before and after a text."""
    text = model.entry.sample or "a"
    tokens = model.tokenizer.encode(text, limit=model.token_limit)
    content = [at for at, is_special in enumerate(tokens.is_special) if not is_special]
    return list(tokens.ids[: content[0]]), list(tokens.ids[content[-1] + 1 :])


def report(model: AttentionModel, found: Repetition) -> dict[str, Any]:
    """Everything of a run, for JSON: scores with four digits."""
    scores = {name: np.round(getattr(found, name), 4).tolist() for name in ("induction", "previous", "first")}
    return {
        "model": {"id": model.id, "label": model.label, "sha256": model.sha256},
        "mask": found.mask,
        "sequences": found.n_sequences,
        "repeated_tokens": found.length,
        "seed": found.seed,
        **scores,
    }


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m analysis.maps.induction", description=__doc__)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="which model (default: %(default)s)")
    parser.add_argument("--mask", help="which mask (default: the one that the model was trained under)")
    parser.add_argument("--length", type=whole_number(2, 250), default=LENGTH, help="tokens repeated (%(default)s)")
    parser.add_argument("--sequences", type=whole_number(1, 64), default=SEQUENCES, help="of them (%(default)s)")
    parser.add_argument("--seed", type=whole_number(0, MOST_SEED), default=0, help="of the tokens (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every head's scores to this file")
    parser.add_argument("--download", action="store_true", help="fetch the model from the hub if it isn't here yet")
    options = parser.parse_args(arguments)
    mask = None if options.mask is None else Mask.of(options.mask)
    if options.json is not None:
        check_writable(options.json)
    torch.set_num_threads(threads())
    try:
        model = load(options.model, download=options.download)
    except HeadworkError as error:
        return fail(error, EXIT_MODEL)
    found = repetition(model, mask, length=options.length, n_sequences=options.sequences, seed=options.seed)
    if options.json is not None:
        write_whole(options.json, json.dumps(report(model, found), indent=1) + "\n")
    print(summary(model, found))
    return EXIT_OK


def summary(model: AttentionModel, found: Repetition) -> str:
    """What is printed: the heads with the highest scores, and how many rest on the first token."""
    what = f"{found.n_sequences} sequences of {found.length} random tokens, each twice in a row, seed {found.seed}"
    lines = [f"model      {model.label}", f"mask       {found.mask}", f"read       {what}"]
    for name in ("induction", "previous"):
        listed = ", ".join(f"{head} {score:.2f}" for head, score in found.ranked(getattr(found, name), SHOWN))
        lines.append(f"{name:10} {listed}")
    n_resting = int((found.first > HALF).sum())
    lines.append(f"first      {n_resting} of {found.first.size} heads give it more than half of their weight")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
