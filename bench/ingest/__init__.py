"""Bringing documents in, set against bare COPY and a framework: ``python -m bench.ingest``."""
