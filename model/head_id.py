"""A head's name: layer and head, from 0 in code and from 1 for people."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = re.compile(r"([1-9][0-9]{0,2})-([1-9][0-9]{0,2})")


class HeadId(NamedTuple):
    """Layer and head, counted from 0. `str` is its name, counted from 1: HeadId(2, 0) is "3-1"."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer + 1}-{self.head + 1}"

    @classmethod
    def parse(cls, name: object, shape: tuple[int, int] = (999, 999)) -> HeadId:
        """The head of that name, in a model of `shape` = (layers, heads).

        Raises:
            ValueError: it names no head of such a model.
        """
        found = _NAME.fullmatch(str(name))
        head = cls(-1, -1) if found is None else cls(int(found[1]) - 1, int(found[2]) - 1)
        if found is None or head.layer >= shape[0] or head.head >= shape[1]:
            raise ValueError(f"{str(name)[:20]!r} names no head; a name is layer-head from 1, such as 3-1.")
        return head
