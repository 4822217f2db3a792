"""Does it matter? What a head looks at, beside what happens to the prediction when it is switched off."""

from ui.effects import choices, page, runs
from ui.frame.shell import require_router, when_left

require_router()


def left() -> None:
    """What runs rests, and the other pages have their model again."""
    runs.leave()
    choices.give_back()


when_left(left)
page.show()
