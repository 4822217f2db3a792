"""The page Parameters and cost."""
