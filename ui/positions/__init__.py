"""The page Positions: what order means to attention, and five ways to tell it."""
