"""The tests. Whatever they start finds the service compiled, also where the environment says not to keep that: each of
some hundred processes would compile it anew.

They make many objects and few circles: looked for as often as Python does by itself, garbage takes a seventh of the
computing of a run.

Products of matrices are computed on one thread each, as everything the bundled model computes: where several processes
share two cores, the threads of the library for them mostly spin and wait for each other, which costs as much as a third
of answering.
"""

import gc
import os
import sys

gc.set_threshold(50_000, 20, 100)
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["OPENBLAS_NUM_THREADS"] = "1"
