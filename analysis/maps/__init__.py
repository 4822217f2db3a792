"""Arithmetic on attention maps: metrics, patterns, readings, rollout, comparison, masks, export."""
