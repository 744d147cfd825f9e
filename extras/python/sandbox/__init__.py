"""Running programs of strangers: an interpreter without a world around it, in processes that can be killed."""

from extras.python.sandbox.sandbox import MAX_CODE_CHARS, MAX_OUTPUT_BYTES, Limits, ProgramStopped, Ran, Sandbox, Stop

__all__ = ["MAX_CODE_CHARS", "MAX_OUTPUT_BYTES", "Limits", "ProgramStopped", "Ran", "Sandbox", "Stop"]
