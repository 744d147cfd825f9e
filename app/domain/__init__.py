"""Frozen records and closed unions; they import pydantic and the standard library, nothing else."""
