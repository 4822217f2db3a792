"""Annotated text and the formats it is read from."""
