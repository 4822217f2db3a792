"""Pictures of lessons. Importing this registers all of them: each topic has a file here, named below."""

import viz.lessons.bars
import viz.lessons.heads
import viz.lessons.matrices
import viz.lessons.moving
import viz.lessons.numbers  # noqa: F401
from viz.lessons.pictures import PICTURES, AllHeads, Drawn, Moving, Sentence, draw, picture

__all__ = ["PICTURES", "AllHeads", "Drawn", "Moving", "Sentence", "draw", "picture"]
