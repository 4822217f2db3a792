"""Which heads do syntax, which coreference, compared with what, and how sure are we?"""

from ui.frame import controls
from ui.frame.shell import require_router
from ui.heads import page

require_router()

controls.show("model")
page.show(controls.model(), controls.sentence(), controls.mask())
