"""Where does a token stand? What order means to attention; sinusoidal, learned, rotary, ALiBi, none."""

from ui.frame.shell import require_router, when_left
from ui.positions import longer, page

require_router()

when_left(longer.leave)
page.show()
