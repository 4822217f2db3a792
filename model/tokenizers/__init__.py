"""Every way from text to pieces."""
