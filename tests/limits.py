"""Limits in seconds: exact where a test has the machine for itself (`make chaos`), ten times wider in `make test`.

There several tests share the machine, and a limit only tells work that hangs from work that goes on.
"""

import os

_WIDER = 1 if os.environ.get("CONCLAVE_EXACT_LIMITS") else 10


def limit(seconds: float) -> float:
    """The limit as it holds in this run."""
    return seconds * _WIDER
