"""A llama.cpp server in a process of its own: ``python -m tests.fakes.llama_process MODEL CONTEXT SLOTS THREADS``.

Prints its address when it answers, and ends when its standard input does: it cannot outlive who started it.
"""

import os
import sys

import xllamacpp  # type: ignore[import-untyped]


def main(model: str, context_tokens: int, slots: int, threads: int) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"smollm2"}
    params.n_ctx = context_tokens * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.endpoint_metrics = True
    params.ui = False
    params.fit_params = False
    params.cache_ram_mib = 0
    params.verbosity = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    # Its threads end with the process: there is nothing to save.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
