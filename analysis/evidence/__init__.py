"""Which heads do what, and how sure: scores on annotated text, baselines, held-out choices, intervals, records."""
