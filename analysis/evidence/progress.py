"""How far a run on the command line is."""

from __future__ import annotations

import sys
import time


class Progress:
    """A bar on standard error: drawn over itself in a terminal, ten lines elsewhere."""

    WIDTH = 30

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = -1
        self.is_terminal = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Shows that `done` of `total` are done."""
        steps = 1000 if self.is_terminal else 10
        step = done * steps // total
        if step == self.shown:
            return
        self.shown = step
        seconds = time.monotonic() - self.start
        filled = done * self.WIDTH // total
        bar = "#" * filled + "." * (self.WIDTH - filled)
        end = "" if self.is_terminal else "\n"
        print(
            f"{chr(13) if self.is_terminal else ''}[{bar}] {done} of {total}, {seconds:.0f} s", end=end, file=sys.stderr
        )
        sys.stderr.flush()

    def end(self) -> None:
        """Ends the line."""
        if self.is_terminal and self.shown >= 0:
            print(file=sys.stderr)
