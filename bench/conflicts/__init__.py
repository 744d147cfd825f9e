"""Documents that disagree: are they recognised, and does the right one win: ``python -m bench.conflicts``."""
