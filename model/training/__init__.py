"""Training our own blocks on small tasks: settings, the run itself, and what is measured while it learns.

model.training.run says what the three kinds of training have in common.
"""

from model.training.frames import Frame, Point, Winners, winners
from model.training.peek import Peeking, PeekSettings
from model.training.record import Recorded, read_record, shipped
from model.training.settings import Settings
from model.training.training import SwitchedOff, Training
from model.training.translate import TranslateSettings, Translating

__all__ = [
    "Frame",
    "PeekSettings",
    "Peeking",
    "Point",
    "Recorded",
    "Settings",
    "SwitchedOff",
    "Training",
    "TranslateSettings",
    "Translating",
    "Winners",
    "read_record",
    "shipped",
    "winners",
]
