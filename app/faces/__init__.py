"""The service as programs that speak other protocols see it: OpenAI and MCP here, others as plug-ins (`extras.faces`).

Each is a `Face`, in a file of its own, over the same runs as the native API: `updates` reads a run's journal once for
all of them, and a face only writes what it read in its protocol's words. A face whose SDK is not installed is left out.
"""
