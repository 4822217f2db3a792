"""Do heads split the work by themselves? Train it here: one head against several, on the same data."""

from ui import learn_page
from ui.shell import require_router

require_router()

learn_page.title()
learn_page.show()
