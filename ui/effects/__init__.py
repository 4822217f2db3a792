"""The page Does it matter?: attention beside effect, heads switched off, and parts put in from another run."""
