"""Lessons: predict, then look; alone or as a class."""
