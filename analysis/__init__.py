"""Pure functions on attention arrays: words, head metrics, syntax, coreference, statistics. Knows no Streamlit."""
