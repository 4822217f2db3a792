"""What do you expect? Lessons that ask first and show the answer afterwards, computed by the model that runs."""

from ui.frame.shell import require_router
from ui.lessons import page

require_router()

page.show()
