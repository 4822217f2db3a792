"""The page Watch heads learn: trainings in the background, and what they taught."""
