"""Training our own block on small tasks: settings, the run itself, and what is measured while it learns."""

from model.training.frames import Frame, Point, Winners, winners
from model.training.record import Recorded, read_record
from model.training.settings import Settings
from model.training.training import SwitchedOff, Training

__all__ = [
    "Frame",
    "Point",
    "Recorded",
    "Settings",
    "SwitchedOff",
    "Training",
    "Winners",
    "read_record",
    "winners",
]
