"""Pure functions on attention arrays: words, head metrics, readings, comparison, export. Knows no Streamlit.

from analysis import by_words, metrics_table, read, value_norms
units = by_words(trace)                     # maps between words; by_pieces(trace) between pieces
metrics_table(units)                        # a pandas table, one row for each head
read(trace, norms=value_norms(model, trace.text, trace.mask))
"""

import model.command_line  # noqa: F401  first: it minds Ctrl-C while torch is imported
from analysis.maps.comparison import Comparison, all_row_distances, compare, total_variation
from analysis.maps.export import csv_bytes, csv_text, npz_bytes, provenance, read_csv, tidy
from analysis.maps.metrics import METRICS, head_metrics, metric_range, row_metrics, telling_metrics
from analysis.maps.patterns import NO_PATTERN, RULES, Pattern, find_patterns, metrics_table
from analysis.maps.readings import READINGS, Reading, read, special_share, value_norms, without_first, without_special
from analysis.maps.rollout import rollout
from analysis.maps.similarity import Similarity, head_similarity
from analysis.words.units import Units, UnitTrace, aggregate, by_pieces, by_words, piece_units, word_units

__all__ = [
    "METRICS",
    "NO_PATTERN",
    "READINGS",
    "RULES",
    "Comparison",
    "Pattern",
    "Reading",
    "Similarity",
    "UnitTrace",
    "Units",
    "aggregate",
    "all_row_distances",
    "by_pieces",
    "by_words",
    "compare",
    "csv_bytes",
    "csv_text",
    "find_patterns",
    "head_metrics",
    "head_similarity",
    "metric_range",
    "metrics_table",
    "npz_bytes",
    "piece_units",
    "provenance",
    "read",
    "read_csv",
    "rollout",
    "row_metrics",
    "special_share",
    "telling_metrics",
    "tidy",
    "total_variation",
    "value_norms",
    "without_first",
    "without_special",
    "word_units",
]
