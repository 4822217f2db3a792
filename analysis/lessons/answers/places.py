"""Lesson "Where a token stands": order lost and kept, hands that turn together, slopes, and longer texts."""

from __future__ import annotations

import numpy as np

from analysis.lessons.answer import Answer, answers
from analysis.lessons.numbers import percent, weight
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars
from analysis.positions.order import compare, shuffled_order
from analysis.positions.tables import hands
from model import HeadworkError
from model.alibi import alibi_slopes
from model.tokenizers.tokens import SPACE
from model.training.lengths import LENGTHS, TASKS, WAYS, shipped

SEED = 1  # of the shuffled copy and of the random query and key
D_K = 16
NAMES = {
    "none": {"en": "none", "zh": "无"},
    "sinusoidal": {"en": "sinusoidal", "zh": "正弦"},
    "learned": {"en": "learned", "zh": "可学习"},
    "rotary": {"en": "rotary", "zh": "旋转"},
    "alibi": {"en": "ALiBi", "zh": "ALiBi"},
}
NOTE = {
    "en": "small networks trained on 12 tokens; python -m model.training.lengths --seeds 5",
    "zh": "用 12 个词元训练的小网络；python -m model.training.lengths --seeds 5",
}
APART = {
    "en": "largest difference in a token's output, before and after the shuffle; what is near 1e-15 is rounding",
    "zh": "每个词元的输出在打乱前后的最大差别；1e-15 左右的只是舍入误差",
}
MOST_HEADS = 64  # bars in a picture


@answers("shuffled")
def shuffled(setup: Setup, *, positions: bool = True) -> Answer:
    """choice: same or other: the outputs of a shuffled copy, with positions on or off, under the setup's mask.

    Says copy, the shuffled text; then largest, the largest difference of a token's output, share, of the outputs' size.
    """
    tokens = setup.model.tokens(setup.text, setup.mask)
    order = shuffled_order(tokens, SEED)
    found = compare(setup.model, tokens, order, setup.mask, placed=positions)
    labels = zip(found.copy_labels, tokens.is_special, strict=True)
    copy = " ".join(label for label, is_special in labels if not is_special and label != SPACE)
    bars = tuple(Bar(label, float(apart)) for label, apart in zip(found.copy_labels, found.apart, strict=True))
    return Answer(
        right="same" if found.is_order_lost else "other",
        given={"copy": copy},
        said={
            "largest": f"{found.largest:.0e}" if found.largest < 0.005 else weight(found.largest),
            "share": percent(found.largest / found.scale),
        },
        picture="bars",
        shown=Bars(bars, note=APART),
    )


@answers("turned_together")
def turned_together(setup: Setup, *, m: int, n: int, on: int) -> Answer:
    """choice: same or other: the product of a rotary query at m and key at n when both move on by `on` places.

    Says m, n, on and product; then moved, apart (a key moved alone by `on`) and still (nothing turned).
    """
    query, key = np.random.default_rng(SEED).standard_normal((2, D_K))
    here, moved = hands(query, key, m, n).product, hands(query, key, m + on, n + on).product
    alone = hands(query, key, m, n + on).product
    bars = (
        Bar({"en": f"{m} and {n}", "zh": f"{m} 和 {n}"}, here),
        Bar({"en": f"{m + on} and {n + on}", "zh": f"{m + on} 和 {n + on}"}, moved, is_right=True),
        Bar({"en": f"{m} and {n + on}", "zh": f"{m} 和 {n + on}"}, alone),
    )
    return Answer(
        right="same" if abs(here - moved) < 1e-3 else "other",
        given={"m": str(m), "n": str(n), "on": str(on), "product": weight(here)},
        said={"moved": weight(moved), "alone": weight(alone)},
        picture="bars",
        shown=Bars(bars),
    )


@answers("faded")
def faded(setup: Setup, *, heads: int, head: int, distance: int) -> Answer:
    """number: what ALiBi leaves of a key's weight at a distance, in %, before rows are brought to 1.

    Says head, heads, slope and distance; then left and last, what the last head leaves.
    """
    if heads > MOST_HEADS:
        raise HeadworkError("The picture shows up to {most} heads, not {n}. Take fewer.", most=MOST_HEADS, n=heads)
    slopes = alibi_slopes(heads).tolist()
    if not 1 <= head <= heads:
        raise HeadworkError("There is no head {head}: there are {n}.", head=head, n=heads)
    left = [float(np.exp(-slope * distance)) for slope in slopes]
    bars = tuple(
        Bar({"en": f"head {i + 1}", "zh": f"头 {i + 1}"}, share, is_right=i == head - 1) for i, share in enumerate(left)
    )
    return Answer(
        right=100 * left[head - 1],
        given={
            "head": str(head),
            "heads": str(heads),
            "slope": f"{slopes[head - 1]:.3g}",
            "distance": str(distance),
        },
        said={"left": percent(left[head - 1]), "last": percent(left[-1])},
        picture="bars",
        shown=Bars(bars, unit="%"),
    )


@answers("longer")
def longer(setup: Setup, *, task: str) -> Answer:
    """order: the five ways by right answers on the longest sentences, best first, from the shipped runs.

    `task` is neighbour or match. Says trained and longest; then best, second and worst.
    """
    if task not in TASKS:
        raise HeadworkError("There is no rule {task}. Choose one of {names}.", task=task, names=", ".join(TASKS))
    runs = [run for run in shipped() if run.task == task]
    right = {way: float(np.mean([run.accuracy[-1] for run in runs if run.way == way])) for way in WAYS}
    order = sorted(right, key=lambda way: -right[way])
    bars = tuple(Bar(NAMES[way], right[way], is_right=way == order[0]) for way in order)
    return Answer(
        right=tuple(order),
        given={"trained": str(LENGTHS[0]), "longest": str(LENGTHS[-1])},
        said={"best": percent(right[order[0]]), "second": percent(right[order[1]]), "worst": percent(right[order[-1]])},
        picture="bars",
        shown=Bars(bars, unit="%", baseline=1 / 8, baseline_name={"en": "chance", "zh": "随机"}, note=NOTE),
    )
