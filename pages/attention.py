"""What does each head look at? The sentence, one head's map, and all heads of all layers at once."""

from ui.attention import page
from ui.frame import controls
from ui.frame.shell import require_router

require_router()

page.title()
controls.show("sentence", "model", "mask")
page.explore(page.asked(controls.sentence(), controls.model(), controls.mask()))
