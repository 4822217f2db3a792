"""A phone in a class: what the teacher asks, and one guess. Only the link of a room leads here."""

from ui.frame.shell import require_router
from ui.vote import page

require_router()

page.show()
