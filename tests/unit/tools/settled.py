"""Keeping the test process's own garbage out of what is measured."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def settled() -> Iterator[None]:
    """Going through all that a test process has loaded holds up the loop, too; here only what is new is looked at."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
