"""The page Inside a block: every step of attention and of the block, with shapes, numbers and code."""
