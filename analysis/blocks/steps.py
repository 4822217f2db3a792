"""One recorded forward, and its attention told step by step: names, shapes and numbers of every intermediate tensor.

All numbers are the ones that the modules themselves kept while they ran (model.attention.AttentionSteps,
model.blocks.BlockSteps). Shape letters: see model.attention.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from model.blocks import BlockSteps, TransformerBlock
from model.errors import HeadworkError

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
_SYMBOLS = {"products": "QKᵀ", "scores": "QKᵀ / √d_k", "masked_scores": "QKᵀ / √d_k + M", "head": "A V"}
StageKey = Literal["input", "project", "split", "scores", "scale", "mask", "softmax", "mix", "concat", "output"]


@dataclass(frozen=True, eq=False)
class Record:
    """One forward of B = 1 sentence: every step of one layer, and of the other layers what is needed to compare them.

    Attributes:
        labels: the N tokens as shown.
        allowed: (N, N), True = the query (row) may attend to the key (column).
        layer: which layer `block` and `steps` are of, from 0.
        head: which head `head_maps` and `head_weights` are of, from 0.
        hidden_states: (L + 1, N, d_model): what enters the first layer, then what each layer hands on.
        head_maps: (L, N, N), the map of this head number in every layer.
        head_weights: (L, d_k · d_model), the rows of W_q that make this head's queries, in every layer.
    """

    labels: tuple[str, ...]
    allowed: Bools
    layer: int
    head: int
    block: TransformerBlock
    steps: BlockSteps
    hidden_states: Floats
    head_maps: Floats
    head_weights: Floats

    @property
    def n_tokens(self) -> int:
        """N."""
        return len(self.labels)

    @property
    def n_layers(self) -> int:
        """L."""
        return len(self.head_maps)

    @property
    def n_heads(self) -> int:
        """Number of heads, h."""
        return self.block.attention.num_heads

    @property
    def d_model(self) -> int:
        """Width of a hidden state."""
        return self.block.attention.d_model

    @property
    def d_k(self) -> int:
        """Width of one head."""
        return self.block.attention.d_k

    @property
    def nbytes(self) -> int:
        """Bytes it keeps in memory, the weights of its block included."""
        own = self.hidden_states.nbytes + self.head_maps.nbytes + self.head_weights.nbytes + self.allowed.nbytes
        weights = sum(4 * parameter.numel() for parameter in self.block.parameters())
        return own + weights + sum(4 * tensor.numel() for tensor in _tensors(self.steps))


@torch.inference_mode()
def record_forward(
    blocks: Iterable[nn.Module], x: Tensor, allowed: Tensor, labels: Sequence[str], *, layer: int, head: int
) -> Record:
    """Every step of one block, from a run of blocks in a row.

    Args:
        blocks: in eval mode. One at a time is needed, so they may be made as they are asked for.
        x: (1, N, d_model).
        allowed: (N, N).
        labels: N.
        layer: whose steps to keep, from 0.
        head: whose map to keep in every layer, from 0.
    """
    mask = None if bool(allowed.all()) else allowed
    hidden, maps, weights = [array(x)], [], []
    kept: tuple[TransformerBlock, BlockSteps] | None = None
    for number, block in enumerate(blocks):
        assert isinstance(block, TransformerBlock)
        steps = BlockSteps() if number == layer else None
        x, attention = block(x, mask, steps=steps)
        hidden.append(array(x))
        maps.append(array(attention)[head].copy())
        rows = slice(head * block.attention.d_k, (head + 1) * block.attention.d_k)
        weight: Tensor = block.attention.W_q.weight  # type: ignore[assignment]
        weights.append(weight.detach()[rows].flatten().numpy().copy())
        if steps is not None:
            kept = block, steps
    if kept is None:
        raise ValueError(f"There is no layer {layer + 1}: there are {len(maps)}.")
    return Record(
        labels=tuple(labels),
        allowed=allowed.numpy(),
        layer=layer,
        head=head,
        block=kept[0],
        steps=kept[1],
        hidden_states=np.stack(hidden),
        head_maps=np.stack(maps),
        head_weights=np.stack(weights),
    )


@dataclass(frozen=True, eq=False)
class Matrix:
    """A tensor as it is shown: its symbol, its full shape and its numbers without the batch."""

    symbol: str
    shape: tuple[int, ...]
    values: Floats  # (N, columns), or (h, N, columns) where heads are apart


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of multi-head attention. `formula` is LaTeX, in the notation of Vaswani et al. 2017, section 3.2."""

    key: StageKey
    formula: str
    shapes: str
    matrices: tuple[Matrix, ...]


def attention_stages(record: Record) -> tuple[Stage, ...]:
    """Multi-head attention of the recorded layer, from its input to its output."""
    n, d_model, h, d_k = record.n_tokens, record.d_model, record.n_heads, record.d_k
    whole, heads, maps = (1, n, d_model), (1, h, n, d_k), (1, h, n, n)
    projection = f"W {(d_model, d_model)}"
    told: tuple[tuple[StageKey, str, str], ...] = (
        ("input", r"x \in \mathbb{R}^{N \times d_{model}}", f"x {whole}"),
        ("project", r"Q = xW^Q, \quad K = xW^K, \quad V = xW^V", f"x {whole} · {projection} → Q, K, V: {whole}"),
        (
            "split",
            r"\begin{gathered} Q \to Q_1, \dots, Q_h \\ d_k = d_{model} / h = "
            + f"{d_model} / {h} = {d_k}"
            + r" \end{gathered}",
            f"{whole} → view {(1, n, h, d_k)} → transpose {heads}",
        ),
        ("scores", r"Q_i K_i^\top", f"{heads} · {(1, h, d_k, n)} → {maps}"),
        (
            "scale",
            r"\frac{Q_i K_i^\top}{\sqrt{d_k}}, \qquad \sqrt{d_k} = \sqrt{" + f"{d_k}}} = {math.sqrt(d_k):.2f}",
            f"{maps} → {maps}",
        ),
        (
            "mask",
            r"\frac{Q_i K_i^\top}{\sqrt{d_k}} + M, \qquad M \in \{0, -\infty\}",
            f"{maps} + {(n, n)} → {maps}",
        ),
        ("softmax", r"A_i = \mathrm{softmax}\left(\frac{Q_i K_i^\top}{\sqrt{d_k}} + M\right)", f"{maps} → {maps}"),
        ("mix", r"\mathrm{head}_i = A_i V_i", f"{maps} · {heads} → {heads}"),
        (
            "concat",
            r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)",
            f"{heads} → transpose {(1, n, h, d_k)} → {whole}",
        ),
        (
            "output",
            r"\begin{gathered} \mathrm{MultiHead}(Q, K, V) = \\ "
            r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O \end{gathered}",
            f"{whole} · {projection} → {whole}",
        ),
    )
    tensors = _stage_tensors(record)
    return tuple(Stage(key, formula, shapes, tensors[key]) for key, formula, shapes in told)


def _stage_tensors(record: Record) -> dict[StageKey, tuple[Matrix, ...]]:
    """What each stage made, as recorded."""
    steps, merge = record.steps.attention, record.block.attention.merge_heads
    split = {"Q": tensor(steps.queries), "K": tensor(steps.keys), "V": tensor(steps.values)}
    made: dict[StageKey, dict[str, Tensor]] = {
        "input": {"x": tensor(record.steps.attention_input)},
        "project": {letter: merge(each) for letter, each in split.items()},
        "split": split,
        "scores": {"products": tensor(steps.products)},
        "scale": {"scores": tensor(steps.scores)},
        "mask": {"masked_scores": tensor(steps.masked_scores)},
        "softmax": {"A": tensor(steps.attention)},
        "mix": {"head": tensor(steps.head_outputs)},
        "concat": {"concat": tensor(steps.concatenated)},
        "output": {"output": tensor(steps.output)},
    }
    return {
        key: tuple(Matrix(_SYMBOLS.get(name, name), tuple(each.shape), array(each)) for name, each in of_stage.items())
        for key, of_stage in made.items()
    }


@dataclass(frozen=True, eq=False)
class CellPath:
    """One weight of one head, followed from the query and the key down to the output.

    Every number is a recorded one, except `products` (query · key, number by number), `exponentials`
    (e to the score minus the largest score of the row, as softmax computes it) and `parts` (weight · value).
    """

    query: Floats  # (d_k,)
    key: Floats  # (d_k,)
    products: Floats  # (d_k,)
    dot: float
    scaled: float
    masked: float  # −inf where the mask forbids this key
    scores: Floats  # (N,) the whole masked row
    largest: float
    exponentials: Floats  # (N,)
    row_sum: float
    weight: float
    weights: Floats  # (N,) the whole row of the map
    value: Floats  # (d_k,)
    parts: Floats  # (d_k,) weight · value
    mixed: Floats  # (d_k,) the row of the head's output: parts of all keys added up


def cell_path(record: Record, head: int, query: int, key: int) -> CellPath:
    """Follows the cell (query, key) of a head. Indices from 0.

    Raises:
        HeadworkError: there is no such head, query or key.
    """
    for name, index, most in (("head", head, record.n_heads), ("query", query, record.n_tokens)):
        _check_index(name, index, most)
    _check_index("key", key, record.n_tokens)
    steps = record.steps.attention
    q, k, v = (array(tensor(made))[head] for made in (steps.queries, steps.keys, steps.values))  # (N, d_k) each
    scores = array(tensor(steps.masked_scores))[head, query]
    weights = array(tensor(steps.attention))[head, query]
    empty = bool(np.isneginf(scores).all())
    largest = 0.0 if empty else float(scores.max())
    exponentials = np.exp(scores - largest)
    return CellPath(
        query=q[query],
        key=k[key],
        products=q[query] * k[key],
        dot=float(array(tensor(steps.products))[head, query, key]),
        scaled=float(array(tensor(steps.scores))[head, query, key]),
        masked=float(scores[key]),
        scores=scores,
        largest=largest,
        exponentials=exponentials,
        row_sum=float(exponentials.sum()),
        weight=float(weights[key]),
        weights=weights,
        value=v[key],
        parts=weights[key] * v[key],
        mixed=array(tensor(steps.head_outputs))[head, query],
    )


def tensor(recorded: Tensor | None) -> Tensor:
    """A step that the forward has recorded."""
    if recorded is None:
        raise ValueError("This forward did not record that step.")
    return recorded


def array(made: Tensor) -> Floats:
    """(1, …) → (…), as numpy."""
    numbers: Floats = made.detach()[0].numpy()
    return numbers


def _tensors(steps: object) -> list[Tensor]:
    """Every tensor below a dataclass of steps, each piece of memory once."""
    found: dict[int, Tensor] = {}
    waiting: list[object] = [steps]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tensor):
            found[item.data_ptr()] = item
        elif is_dataclass(item):
            waiting += [getattr(item, field.name) for field in fields(item)]
    return list(found.values())


def _check_index(name: str, index: int, most: int) -> None:
    if not 0 <= index < most:
        raise HeadworkError("There is no {name} {number}: there are {most}.", name=name, number=index + 1, most=most)
