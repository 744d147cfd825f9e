"""Running programs of strangers: an interpreter without a world around it, in processes that can be killed."""

from app.tools.sandbox.program import MAX_CODE_CHARS, MAX_OUTPUT_BYTES, Limits, ProgramStopped, Ran, Stop
from app.tools.sandbox.sandbox import Sandbox

__all__ = ["MAX_CODE_CHARS", "MAX_OUTPUT_BYTES", "Limits", "ProgramStopped", "Ran", "Sandbox", "Stop"]
