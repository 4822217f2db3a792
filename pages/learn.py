"""Do heads split the work by themselves? Train it here: one head against several, on the same data."""

from ui.frame.shell import require_router
from ui.learn import page

require_router()

page.title()
page.show()
