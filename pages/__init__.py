"""One thin file a page: read the widgets, call the rooms below, place the result."""
