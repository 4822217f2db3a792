"""What does each head look at? The sentence, one head's map, and all heads of all layers at once."""

from ui import controls, explorer, loading, remarks
from ui.shell import require_router

require_router()

explorer.title()
trace = loading.trace(controls.sentence(), controls.model(), controls.mask())
remarks.cut(trace)
remarks.cautions(trace)
explorer.explore(loading.Again(trace, controls.sentence()))
