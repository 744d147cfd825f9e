import gc

import pytest
from hypothesis import settings

# The machine may be busy: how long an example may take is asserted by the tests that care, in processor time.
settings.register_profile("conclave", deadline=None)
settings.load_profile("conclave")


@pytest.fixture(scope="module")
def settled_heap() -> None:
    """Keeps the garbage of a test process out of what is measured.

    Going through all that it has loaded holds it up for most of a second; from here on only what is new is looked at.
    """
    gc.collect()
    gc.freeze()
