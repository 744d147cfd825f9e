"""Measurements: each script prints what it measured and on what."""
