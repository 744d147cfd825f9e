"""A llama.cpp server in a process of its own. Reads a line of JSON from its standard input, prints its address when it
answers, and ends when its standard input does: it cannot outlive who started it. Imports nothing of `app`."""

import json
import os
import resource
import sys

import xllamacpp  # type: ignore[import-untyped]


def main() -> None:
    """Serve the model of the order that comes in."""
    order = json.loads(sys.stdin.readline())
    # The weights are mapped and do not count; what does is the cache of tokens and the room to compute in.
    resource.setrlimit(resource.RLIMIT_DATA, (order["memory_bytes"],) * 2)
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = order["path"], {order["name"]}
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [order["key"]]
    params.n_ctx, params.n_parallel = order["context_tokens"], 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.sleep_idle_seconds = order["idle_seconds"]
    params.cache_prompt, params.cache_ram_mib = True, 0
    params.ui = params.fit_params = params.endpoint_slots = params.endpoint_metrics = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # its threads end with the process: there is nothing to save


if __name__ == "__main__":
    main()
