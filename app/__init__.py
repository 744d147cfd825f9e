"""Conclave: department agents that answer from the documents the asker may read.

A question goes in, a plan of department agents is made, the agents work in parallel, a resolver weighs what they
found, and one answer comes out with its evidence and its whole trace.

Rooms, from the roof down (each imports only what stands below it; `pyproject.toml` holds the contract):
``cli · main`` → ``faces`` → ``api | evaluation`` → ``flow`` → ``agents`` →
``sessions | tasks | ingestion`` → ``tools`` → ``retrieval | reasoning`` →
``journal`` → ``embedding | bus | storage`` → ``client | settings | telemetry | confinement | plugins`` → ``changes`` →
``claims | links`` → ``text`` → ``events`` → ``domain`` → ``errors``.
"""

import os

# Read by numpy's library when it is loaded. Its threads spin while other threads of the service have work for the same
# cores: a question costs nearly twice the processor's time with two of them, and is answered no sooner.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
