"""The makers of the corpora in data/corpus."""
