"""Do heads split the work by themselves? Train it here: one head against several, on the same data."""

from ui.frame.shell import require_router, when_left
from ui.learn import page, runs

require_router()

when_left(runs.leave)
page.title()
page.show()
