"""`python_tool`: a program written for the question, run where it can reach nothing and cost little."""

import hashlib
from pathlib import Path

from pydantic import Field, JsonValue

from app.domain.knowledge import Language
from app.domain.plan import PYTHON_TOOL
from app.domain.record import Record
from app.errors import ToolFailed
from app.reasoning import Reasoner
from app.tools.base import Sentences, ToolCall, ToolResult, computed
from app.tools.catalogue import ToolPlugin
from app.tools.typed import TypedTool
from extras.python.sandbox import MAX_CODE_CHARS, Limits, ProgramStopped, Ran, Sandbox

sentence = Sentences(Path(__file__).with_name("sentences.toml"))
_GRACE_SECONDS = 1.0
"""Kept from the call's time for what comes after the program."""
_LEAST_SECONDS = 0.1
_MAX_INPUTS = 50


class ProgramFailed(ToolFailed):
    """The program gave no result; the sentence is for the asker, `stop` and `detail` for a mind that mends it."""

    def __init__(self, stopped: ProgramStopped, language: Language):
        super().__init__(sentence("program", stopped.stop, language, detail=stopped.detail.rstrip(".")))
        self.stop = stopped.stop
        self.detail = stopped.detail


class Program(Record):
    """A program and what it works on."""

    code: str = Field(
        min_length=1,
        max_length=MAX_CODE_CHARS,
        description="A short Python program. Its result is what it prints and the value of its last line. It can "
        "import math, re, json, csv, datetime, decimal, collections, itertools, functools, bisect and random; it has "
        "no files, no network and no other packages.",
    )
    inputs: dict[str, JsonValue] = Field(
        default_factory=dict,
        max_length=_MAX_INPUTS,
        description="Values the program finds under these names, as JSON; for data, so that it need not be written "
        "into the code.",
    )


class PythonTool(TypedTool[Program]):
    """Runs a short Python program, without files or network, for computations that need loops, tables or text."""

    name = PYTHON_TOOL
    arguments = Program

    def __init__(self, reasoner: Reasoner, sandbox: Sandbox, limits: Limits | None = None):
        """`limits`: what one program may cost; unset = the defaults. The call's own time may be shorter."""
        super().__init__(reasoner)
        self._sandbox = sandbox
        self._limits = limits or Limits()

    async def aclose(self) -> None:
        """End the sandbox's processes."""
        await self._sandbox.aclose()

    async def run(self, call: ToolCall, index: int, query: str, arguments: Program) -> ToolResult:
        """Run the program. Raises `ProgramFailed`, and `ToolRetry` when no process could be started."""
        wall = max(min(self._limits.wall_seconds, call.seconds_left - _GRACE_SECONDS), _LEAST_SECONDS)
        limits = self._limits.model_copy(update={"wall_seconds": wall})
        try:
            ran = await self._sandbox.run(arguments.code, arguments.inputs, limits)
        except ProgramStopped as stopped:
            raise ProgramFailed(stopped, call.language) from stopped
        text = _write(ran, call.language)
        url = f"python:{hashlib.sha256(arguments.code.encode('utf-8', 'replace')).hexdigest()[:16]}"
        finding = computed(call, index, query, text, source_type="math", url=url)
        return ToolResult(text=text, findings=(finding,), value=ran.value, trace=(_cost(ran),))


def _write(ran: Ran, language: Language) -> str:
    """What was printed, then the last value on a line of its own."""
    parts = (ran.printed.rstrip("\n"), ran.shown)
    return "\n".join(part for part in parts if part) or sentence("program", "silent", language)


def _cost(ran: Ran) -> str:
    memory = "" if ran.peak_bytes is None else f", {ran.peak_bytes / 2**20:.0f} MB"
    return f"program: {ran.seconds:.2f} s{memory}"


PYTHON = ToolPlugin(PythonTool, lambda ports: PythonTool(ports.reasoner, Sandbox()))
