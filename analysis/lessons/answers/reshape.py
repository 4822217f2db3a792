"""Lesson "Cut and reshape": where each number of x goes when the heads are dealt their columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from analysis.blocks.reshape import Regrouped, split
from analysis.lessons.answer import Answer, answers
from analysis.lessons.lesson import Right
from analysis.lessons.setup import Setup
from model import HeadworkError
from model.attention import check_heads

ROWS = ("猫", "吃", "鱼", "山", "上", "有", "水", "中")  # names of rows; the numbers matter
MOST_COLUMNS = 24


@dataclass(frozen=True, eq=False)
class Moved:
    """Where each number of x goes (picture "reshape"), and the numbers that are asked about."""

    found: Regrouped
    numbers: tuple[int, ...] = ()


@answers("columns_of_head")
def columns_of_head(setup: Setup, *, tokens: int, d_model: int, heads: int, head: int) -> Answer:
    """cells: the cells of x (N, d_model) that one head gets.

    Says the sizes, head; then first, last, n.
    """
    found = _split(tokens, d_model, heads, head=head)
    cells = frozenset(
        (row, column)
        for row in range(tokens)
        for column in range(d_model)
        if found.whole_heads[row, column] == head - 1
    )
    columns = sorted({column + 1 for _, column in cells})
    said = {"first": f"{columns[0]}", "last": f"{columns[-1]}", "n": f"{len(cells)}", "d_k": f"{len(columns)}"}
    return _answer(cells, found, said, {"head": f"{head}"}, (row * d_model + column for row, column in cells))


@answers("row_of_head")
def row_of_head(
    setup: Setup, *, tokens: int, d_model: int, heads: int, head: int, row: int, way: str = "right"
) -> Answer:
    """choice: the numbers in one row of a head's matrix, after the reshape or a view without transpose: "4-5-6-7".

    Says the sizes, head, row, row_end, end; then numbers, n_tokens.
    """
    found = _split(tokens, d_model, heads, way, head=head, row=row)
    numbers = found.parts[head - 1, row - 1].tolist()
    rows = sorted({number // d_model + 1 for number in found.parts[head - 1].ravel().tolist()})
    said = {"numbers": " ".join(map(str, numbers)), "n_tokens": f"{len(rows)}"}
    given = {"head": f"{head}", "row": f"{row}", "row_end": f"{d_model - 1}", "end": f"{tokens * d_model - 1}"}
    return _answer("-".join(map(str, numbers)), found, said, given, numbers)


@answers("place_of")
def place_of(setup: Setup, *, tokens: int, d_model: int, heads: int, number: int) -> Answer:
    """choice: head, row and column, from 1, where a number of x stands after the reshape: "2-2-2".

    Says the sizes, number, x_row, x_column; then head, row, column.
    """
    found = _split(tokens, d_model, heads, number=number)
    head, row, column = (int(places[0]) + 1 for places in (found.parts == number).nonzero())
    said = {"head": f"{head}", "row": f"{row}", "column": f"{column}"}
    given = {"number": f"{number}", "x_row": f"{number // d_model + 1}", "x_column": f"{number % d_model + 1}"}
    return _answer(f"{head}-{row}-{column}", found, said, given, [number])


@answers("misplaced")
def misplaced(setup: Setup, *, tokens: int, d_model: int, heads: int) -> Answer:
    """number: how many numbers stand in a head that their column doesn't belong to, after a view without transpose.

    Says the sizes, total; then wrong, at_home.
    """
    found = _split(tokens, d_model, heads, "wrong")
    total = tokens * d_model
    said = {"wrong": f"{found.misplaced}", "at_home": f"{total - found.misplaced}", "total": f"{total}"}
    away = found.parts[found.parts_heads != np.arange(heads)[:, None, None]].tolist()
    return _answer(float(found.misplaced), found, said, {"total": f"{total}"}, away)


def _split(
    tokens: int, d_model: int, heads: int, way: str = "right", *, head: int = 1, row: int = 1, number: int = 0
) -> Regrouped:
    """The reshape of a small x, after checking that what is asked of it is there."""
    check_heads(d_model, heads)
    if not (1 <= tokens <= len(ROWS) and d_model <= MOST_COLUMNS):
        raise HeadworkError(
            "x of {tokens} × {d_model} can't be drawn cell by cell: take up to {rows} × {columns}.",
            tokens=tokens,
            d_model=d_model,
            rows=len(ROWS),
            columns=MOST_COLUMNS,
        )
    if not (1 <= head <= heads and 1 <= row <= tokens and 0 <= number < tokens * d_model):
        raise HeadworkError(
            "There are {heads} heads of {tokens} rows, and numbers from 0 to {last}.",
            heads=heads,
            tokens=tokens,
            last=tokens * d_model - 1,
        )
    return split(tokens, d_model, heads, "wrong" if way == "wrong" else "right")


def _answer(
    right: Right, found: Regrouped, said: dict[str, str], given: dict[str, str], numbers: Iterable[int]
) -> Answer:
    h, n, d_k = found.parts.shape
    given |= {"tokens": f"{n}", "d_model": f"{h * d_k}", "heads": f"{h}", "d_k": f"{d_k}"}
    columns = tuple(str(column) for column in range(1, h * d_k + 1))
    return Answer(right, said, given, ROWS[:n], "reshape", Moved(found, tuple(numbers)), columns)
