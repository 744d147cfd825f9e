"""Imports the service once and forks a machine whenever it is told to: the imports are most of a start's time.

``python -m tests.chaos.nursery`` reads orders from standard input, one JSON object a line, and tells of every birth and
every end on standard output. When its input ends, so do all its machines. `Nursery` is the other side.
"""

import asyncio
import json
import os
import selectors
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.cli import main as run_conclave


class Child:
    """A process that somebody else forked for us."""

    def __init__(self, pid: int):
        self.pid = pid
        self.returncode: int | None = None
        """Below zero: the signal that ended it."""
        self._ended = asyncio.Event()

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    async def wait(self) -> None:
        await self._ended.wait()

    def end(self, returncode: int) -> None:
        self.returncode = returncode
        self._ended.set()


class Nursery:
    """Where machines come from."""

    def __init__(self, process: Process):
        self._process = process
        self._children: dict[int, Child] = {}
        self._births: asyncio.Queue[Child] = asyncio.Queue()
        self._ordering = asyncio.Lock()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def open(cls) -> "Nursery":
        """Begin to import."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
        command = (sys.executable, "-m", "tests.chaos.nursery")
        return cls(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=environment))

    async def bear(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> Child:
        """A process that runs ``conclave`` with these arguments."""
        order = {
            "arguments": list(arguments), "environment": dict(environment), "folder": str(folder), "log": str(log)
        }  # fmt: skip
        assert self._process.stdin is not None
        async with self._ordering:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            return await self._births.get()

    async def close(self) -> None:
        """End it and whatever it bore."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.wait_for(self._process.wait(), 20)
        await self._listening

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            told = json.loads(line)
            if "code" in told:
                self._children.pop(told["pid"]).end(told["code"])
            else:
                child = self._children[told["pid"]] = Child(told["pid"])
                self._births.put_nowait(child)


def main() -> None:
    """The nursery's own process. It has no thread and no event loop, so that a fork is a clean beginning."""
    heard, deaf = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(deaf, False)
    signal.set_wakeup_fd(deaf, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ear, children, rest = selectors.DefaultSelector(), set[int](), b""
    ear.register(0, selectors.EVENT_READ)
    ear.register(heard, selectors.EVENT_READ)
    while True:
        ready = {key.fd for key, _ in ear.select()}
        if heard in ready:
            os.read(heard, 4096)
            _bury(children)
        if 0 in ready:
            if not (piece := os.read(0, 1 << 20)):
                break
            *orders, rest = (rest + piece).split(b"\n")
            for order in orders:
                children.add(pid := _bear(json.loads(order)))
                _tell(pid=pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _bear(order: dict[str, object]) -> int:
    pid = os.fork()
    if pid == 0:
        _live(order)
    return pid


def _live(order: dict[str, object]) -> None:
    """The child: become what ``conclave`` would be in this folder with this environment."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(os.open(str(order["log"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.closerange(3, 64)
    os.chdir(str(order["folder"]))
    os.environ.clear()
    environment, arguments = order["environment"], order["arguments"]
    assert isinstance(environment, dict) and isinstance(arguments, list)
    os.environ.update(environment)
    sys.argv = ["conclave", *arguments]
    code = 1
    try:
        run_conclave()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(bool(leaving.code))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _bury(children: set[int]) -> None:
    for pid in list(children):
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            children.discard(pid)
            _tell(pid=pid, code=os.waitstatus_to_exitcode(status))


def _tell(**told: int) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


if __name__ == "__main__":
    main()
