"""A query and a key that one can turn to any two places: a decoder's own, or random ones where there is no decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from analysis.maps.mask_runs import layer_steps
from analysis.positions.tables import Array, Hands, hands
from model import AttentionModel
from model.head_id import HeadId
from model.rotary import RotaryScaling

D_K, BASE = 16, 10_000.0  # of random ones


@dataclass(frozen=True)
class Turned:
    """A query and a key before any turn.

    Attributes:
        query: (d_k,).
        key: (d_k,).
        m: where the query stood.
        n: where the key stood.
        width: columns that are turned.
        base: of the angles, likewise `scaling` (model.rotary).
        head: whose they are, such as "3-9"; "" for random numbers.
        query_token: whose query it is; None for random numbers. Likewise `key_token`.
        most_drawn: pairs that are drawn at most.
    """

    query: Array
    key: Array
    m: int
    n: int
    width: int
    base: float
    scaling: RotaryScaling | None = None
    head: str = ""
    query_token: str | None = None
    key_token: str | None = None
    most_drawn: ClassVar[int] = 16

    @property
    def d_k(self) -> int:
        """Width of the head."""
        return len(self.query)

    @property
    def n_pairs(self) -> int:
        """Pairs of columns that are turned."""
        return self.width // 2

    def at(self, m: int, n: int) -> Hands:
        """Turned to two places."""
        return hands(self.query, self.key, m, n, width=self.width, base=self.base, scaling=self.scaling)


def turned(model: AttentionModel | None, text: str, layer: int, head: int) -> Turned:
    """A head's query of the last token, and its key of the one before it that it looks at most; random without a model.

    The first token is left out while there is another: as a rule it is a sink.

    Raises:
        HeadworkError: empty text.
    """
    if model is None:
        query, key = np.random.default_rng(0).standard_normal((2, D_K))
        return Turned(query, key, m=5, n=3, width=D_K, base=BASE)
    tokens, steps = layer_steps(model, text, model.default_mask, layer)
    assert steps.projected_queries is not None and steps.projected_keys is not None and steps.attention is not None
    queries = steps.projected_queries if steps.normed_queries is None else steps.normed_queries
    keys = steps.projected_keys if steps.normed_keys is None else steps.normed_keys
    last = len(tokens) - 1
    best = 1 + int(steps.attention[0, head, last, 1:last].argmax()) if last > 1 else 0
    key_head = head // (model.n_heads // model.config.key_heads)
    return Turned(
        queries[0, head, last].double().numpy(),
        keys[0, key_head, best].double().numpy(),
        m=last,
        n=best,
        width=model.config.rotary_width or model.config.d_k,
        base=float(model.config.rotary_base),
        scaling=model.config.rotary_scaling,
        head=str(HeadId(layer, head)),
        query_token=tokens.labels[last],
        key_token=tokens.labels[best],
    )
