"""Which heads do syntax, which coreference, compared with what, and how sure are we?"""

from ui import controls, heads_page
from ui.shell import require_router

require_router()

heads_page.show(controls.model(), controls.sentence(), controls.mask())
