"""What positions do to heads: how much weight a head puts on each offset, and how much of that is position alone.

Mean weight by offset as in Clark et al. 2019, section 3.1 (the next and the previous token), for every offset. Position
alone: the same text with one token in every place, so that only places tell its tokens apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.evidence.controls import mask_id
from analysis.positions.layers import layers
from model import AttentionModel, HeadworkError, Mask
from model.tokenizers.tokens import Tokens

FARTHEST = 16  # tokens to each side
LEAST_QUERIES = 3  # behind a mean: one query alone says nothing about an offset


@dataclass(frozen=True)
class Offsets:
    """Mean weights of every head by offset = key − query, in tokens.

    Attributes:
        offsets: (O,), from the farthest before to the farthest after.
        counts: (O,), queries behind each mean.
        words: (L, h, O), with the words of the text; NaN where no query has such a key.
        places: (L, h, O), with the same token in every place.
        repeated: what stood in every place.
    """

    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    words: NDArray[np.float32]
    places: NDArray[np.float32]
    repeated: str

    def apart(self) -> NDArray[np.float32]:
        """(L, h): Σ |words − places| over all offsets, as a share of the weight of both: 0 = alike, 1 = no overlap."""
        both = np.nansum(self.words + self.places, axis=-1)
        differences = np.nansum(np.abs(self.words - self.places), axis=-1)
        share = np.divide(differences, both, out=np.zeros_like(both), where=both > 0)
        return np.asarray(share, dtype=np.float32)


def by_offset(maps: NDArray[np.float32], counts_as: NDArray[np.bool_], farthest: int) -> NDArray[np.float32]:
    """Mean over queries i of the weight on key i + o, for o = −farthest … farthest.

    Args:
        maps: (…, N, N).
        counts_as: (N,), True = the token is a query and a key of the mean; special tokens aren't.
        farthest: the largest |o|.

    Returns:
        (…, 2 · farthest + 1); NaN where no query has such a key.
    """
    found = np.full((*maps.shape[:-2], 2 * farthest + 1), np.nan, dtype=np.float32)
    for place, offset in enumerate(range(-farthest, farthest + 1)):
        queries = _queries(counts_as, offset)
        if len(queries):
            found[..., place] = maps[..., queries, queries + offset].mean(axis=-1)
    return found


def _queries(counts_as: NDArray[np.bool_], offset: int) -> NDArray[np.int64]:
    """The queries that have a key at an offset."""
    queries = np.flatnonzero(counts_as)
    keys = queries + offset
    queries, keys = queries[(keys >= 0) & (keys < len(counts_as))], keys[(keys >= 0) & (keys < len(counts_as))]
    return queries[counts_as[keys]]


def offsets(model: AttentionModel, tokens: Tokens, mask: Mask) -> Offsets:
    """Every head's mean weight by offset in one text, with its words and with the same token in every place.

    Raises:
        HeadworkError: the text has a single token.
    """
    counts_as = ~np.array(tokens.is_special)
    if counts_as.sum() < 2:
        raise HeadworkError("An offset needs two words. Type one more.")
    one, repeated = _one_token(model, tokens)
    allowed = mask.allowed(len(tokens), torch.tensor(tokens.is_padding))
    ids = torch.tensor([tokens.ids, [one if own else id_ for own, id_ in zip(counts_as, tokens.ids, strict=True)]])
    types = model.token_types(tokens)
    types = None if types is None else types.expand(2, -1)
    span = int(np.flatnonzero(counts_as)[-1] - np.flatnonzero(counts_as)[0]) + 1
    farthest = min(FARTHEST, max(span - LEAST_QUERIES, 1))
    average = partial(by_offset, counts_as=counts_as, farthest=farthest)
    found = [average(maps.numpy()) for _, maps in layers(model.transformer, ids, allowed, types)]  # L of (2, h, O)
    words, places = np.stack(found, axis=1)
    offsets = np.arange(-farthest, farthest + 1)
    return Offsets(
        offsets,
        np.array([len(_queries(counts_as, offset)) for offset in offsets.tolist()]),
        words,
        places,
        repeated,
    )


def _one_token(model: AttentionModel, tokens: Tokens) -> tuple[int, str]:
    """[MASK], which stands for any word; in a model without one, the text's commonest token, the first of several."""
    try:
        return mask_id(model), "[MASK]"
    except HeadworkError:
        own = [i for i, special in enumerate(tokens.is_special) if not special]
        ids = [tokens.ids[i] for i in own]
        place = max(own, key=lambda i: (ids.count(tokens.ids[i]), -i))
        return tokens.ids[place], tokens.labels[place]
