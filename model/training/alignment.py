"""How far cross-attention agrees with the true alignment of words.

A link joins a target word and a source word. Alignment error rate (Och & Ney 2003, section 4.1), for links A that are
proposed, sure links S and possible links P ⊇ S:

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

Here every true link is sure (P = S), and a head proposes one link for each target word: to the source word with most
weight in the row that writes it. The row that writes the end mark has no link and isn't counted.
Letters: L layers, h heads, B sentences, N_q rows, N_k source words.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.tasks.task import NO_KEY
from model.tasks.translate import CLASSES, Pairs

Link = tuple[int, int]  # target word, source word
Singles = NDArray[np.float32]


def alignment_error_rate(
    proposed: AbstractSet[Link], sure: AbstractSet[Link], possible: AbstractSet[Link] | None = None
) -> float:
    """AER as above, of the links of any number of sentences; 0 is best. `possible` None = the sure ones.

    Links of several sentences need numbers of their own. Without any links at all there is no error.
    """
    possible = sure if possible is None else possible | sure
    n = len(proposed) + len(sure)
    return 1 - (len(proposed & sure) + len(proposed & possible)) / n if n else 0.0


@dataclass(frozen=True, eq=False)
class Alignment:
    """Every head of cross-attention beside the truth.

    Attributes:
        error: (L, h), alignment error rate.
        share: (L, h), mean weight on the true source word.
        by_class: (L, h, 4), the share of target words of each of CLASSES whose most-attended source word is the true
            one; NaN for a class that doesn't occur.
    """

    error: Singles
    share: Singles
    by_class: Singles

    @property
    def best(self) -> tuple[int, int]:
        """(layer, head) with the least error, from 0."""
        layer, head = np.unravel_index(int(self.error.argmin()), self.error.shape)
        return int(layer), int(head)

    @property
    def best_error(self) -> float:
        """The least error of any head."""
        return float(self.error.min())


def measure(cross: Tensor, pairs: Pairs) -> Alignment:
    """What cross-attention (L, B, h, N_q, N_k) of sentences looks at, where their links lead."""
    is_linked = pairs.links != NO_KEY  # (B, N_q)
    links = pairs.links.clamp(min=0)[None, :, None, :, None]  # (1, B, 1, N_q, 1)
    weight = cross.gather(-1, links.expand(*cross.shape[:-1], 1))[..., 0]  # (L, B, h, N_q)
    right = cross.argmax(dim=-1) == links[..., 0]  # (L, B, h, N_q)

    def mean(values: Tensor, rows: Tensor) -> Tensor:
        """(L, h): over the rows (B, N_q) that are meant; NaN where there are none."""
        return (values * rows[None, :, None]).sum(dim=(1, 3)) / rows.sum()

    # One link for each target word in A and in S, and P = S: AER is 1 − |A ∩ S| / |S|.
    return Alignment(
        error=(1 - mean(right, is_linked)).numpy(),
        share=mean(weight, is_linked).numpy(),
        by_class=torch.stack([mean(right, pairs.classes == kind) for kind in range(len(CLASSES))], dim=-1).numpy(),
    )


def by_chance(pairs: Pairs) -> float:
    """The error rate to be expected of looking at any source word, all alike."""
    counts = pairs.is_source.sum(dim=-1, keepdim=True).expand_as(pairs.links)  # (B, N_q)
    return float(1 - (1 / counts[pairs.links != NO_KEY]).mean())


def straight_across(pairs: Pairs) -> float:
    """The error rate of looking at the source word of the same place: what a head has that ignores word order."""
    rows = torch.arange(pairs.links.size(1))  # (N_q,)
    last = pairs.is_source.sum(dim=-1, keepdim=True) - 1  # (B, 1)
    is_linked = pairs.links != NO_KEY
    right = (torch.minimum(rows, last) == pairs.links) & is_linked
    return float(1 - right.sum() / is_linked.sum())
