"""Imports the service once and forks a process whenever one is wanted: the imports are most of a start's time.

`Nursery` is a test's side; ``python -m tests.nursery LINE`` the other, a process without threads or an event loop of
its own, so that a fork is a clean beginning. It reads one order a message, with the three standard streams of the
process to be, and tells of every birth and every end on its standard output. When its input ends, so do its children.
"""

import asyncio
import atexit
import gc
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import app
from app.embedding.onnx import OnnxEmbedder
from app.faces.face import load_faces
from tests.quick import KEPT, be_quick
from tests.vectors import remember_vectors, share_model
from tests.warm import warm

CONCLAVE = "app.cli"
_MOST_BYTES = 1 << 20
_ALSO = ("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "uvicorn.protocols.http.h11_impl")
"""What a server imports when it starts."""
_ROOTS = ("app.", "extras.")
"""What lies below the second is imported by what lies below the first."""
_KEEPS_THREADS = "app.tables.engine"
"""Its database must not be open when a process is forked."""
_WIDE = {"COLUMNS": "160"}
"""Read at the imports by what prints tables."""


class Child:
    """A process that somebody else forked for us; used like one of `asyncio.subprocess`."""

    def __init__(self, pid: int):
        self.pid = pid
        self.returncode: int | None = None
        """Below zero: the signal that ended it."""
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._ended = asyncio.Event()

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # its end is not told yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    async def communicate(self, given: bytes = b"") -> tuple[bytes, bytes]:
        """Give it all of its input; what it then writes up to its end."""
        out, err, _, _ = await asyncio.gather(_rest(self.stdout), _rest(self.stderr), self._give(given), self.wait())
        return out, err

    async def _give(self, given: bytes) -> None:
        if self.stdin is None or self.stdin.is_closing():
            return
        try:
            self.stdin.write(given)
            await self.stdin.drain()
        except ConnectionError:
            pass  # it does not read
        self.stdin.close()

    def end(self, returncode: int) -> None:
        self.returncode = returncode
        self._ended.set()


async def _rest(stream: asyncio.StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()


class Nursery:
    """Where processes come from."""

    def __init__(self, process: Process, line: socket.socket):
        self._process, self._line = process, line
        self._children: dict[int, Child] = {}
        self._births: asyncio.Queue[Child] = asyncio.Queue()
        self._ordering = asyncio.Lock()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def open(cls) -> "Nursery":
        """Begin to import."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CONCLAVE_")}
        environment = {**kept, **_WIDE, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
        command = (sys.executable, "-m", "tests.nursery", str(theirs.fileno()))
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, env=environment, pass_fds=[theirs.fileno()]
            )
        return cls(process, ours)

    async def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None, module: str = CONCLAVE
    ) -> Child:
        """``python -m module …`` with pipes for its streams; here is what `asyncio.create_subprocess_exec` gives."""
        pipes = [os.pipe() for _ in range(3)]
        given, *told = pipes
        theirs = [given[0], *(pipe[1] for pipe in told)]
        child = await self.bear(module, arguments, environment or os.environ, Path.cwd(), theirs)
        for end in theirs:
            os.close(end)
        loop = asyncio.get_running_loop()
        child.stdout, child.stderr = [await _reading(loop, pipe[0]) for pipe in told]
        child.stdin = await _writing(loop, given[1])
        return child

    @asynccontextmanager
    async def running(self, module: str, *arguments: str) -> AsyncIterator[Child]:
        """``python -m module …``, which is killed in the end if it is still there."""
        child = await self.start(*arguments, module=module)
        try:
            yield child
        finally:
            child.kill()
            await child.communicate()

    async def bear(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, streams: list[int]
    ) -> Child:
        """A process that runs a module in a folder; `streams` are what it reads and writes."""
        order = {
            "module": module, "arguments": list(arguments), "environment": dict(environment), "folder": str(folder)
        }  # fmt: skip
        async with self._ordering:
            socket.send_fds(self._line, [json.dumps(order).encode()], streams)
            return await self._births.get()

    async def close(self) -> None:
        """End it and whatever it bore."""
        self._line.close()
        await asyncio.wait_for(self._process.wait(), 60)
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


@asynccontextmanager
async def open_nursery() -> AsyncIterator[Nursery]:
    """A nursery; nothing of what it bore is left afterwards."""
    opened = await Nursery.open()
    try:
        yield opened
    finally:
        await opened.close()


@dataclass(frozen=True)
class Terminal:
    """Where commands are given: a nursery, and the environment they run in."""

    nursery: Nursery
    settings: Mapping[str, str]

    def but(self, **settings: str) -> "Terminal":
        """The same with other settings."""
        return replace(self, settings={**self.settings, **settings})

    async def start(self, *arguments: str) -> Child:
        """``conclave …``, under way."""
        return await self.nursery.start(*arguments, environment=self.settings)

    async def run(self, *arguments: str, given: bytes = b"") -> tuple[int, str, str]:
        """Exit code, standard output and standard error of ``conclave …``."""
        process = await self.start(*arguments)
        out, err = await asyncio.wait_for(process.communicate(given), 90)
        return await process.wait(), out.decode(), err.decode()


async def _reading(loop: asyncio.AbstractEventLoop, end: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(loop=loop)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end, "rb", 0))
    return reader


async def _writing(loop: asyncio.AbstractEventLoop, end: int) -> asyncio.StreamWriter:
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(end, "wb", 0))
    return asyncio.StreamWriter(transport, protocol, None, loop)


def main() -> None:
    """The nursery's own process; in a child, what was ordered."""
    import_everything()
    remember_vectors(KEPT / "texts")
    share_model()
    be_quick()
    make_ready()
    order = serve(socket.socket(fileno=int(sys.argv[1])))
    if order is not None:
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        sys.argv = [order["module"], *order["arguments"]]
        os._exit(_code_of(order["module"]))


def _code_of(module: str) -> int:
    """Run a module as Python does, up to its exit code. The interpreter itself is not taken down: that takes long where
    everything is imported."""
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def import_everything() -> None:
    """All of the service, and what it brings."""
    for found in pkgutil.walk_packages(app.__path__, "app."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    for name in _ALSO:
        importlib.import_module(name)


def make_ready() -> None:
    """Make what every process makes once: the bundled model, plug-ins, patterns, tables of words."""
    OnnxEmbedder.open(warm(KEPT / "nursery") / "models")
    load_faces()
    for root in _ROOTS:
        for name, module in [*sys.modules.items()]:
            for made in [*vars(module).values()] if name.startswith(root) and name != _KEEPS_THREADS else ():
                if hasattr(made, "cache_info") and not inspect.signature(made).parameters:
                    made()
    gc.collect()
    gc.freeze()


def serve(line: socket.socket) -> dict[str, Any] | None:
    """Fork at every order; returns the order in the child, and None when there are no more."""
    heard, deaf = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(deaf, False)
    signal.set_wakeup_fd(deaf, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ear, children = selectors.DefaultSelector(), set[int]()
    ear.register(line, selectors.EVENT_READ)
    ear.register(heard, selectors.EVENT_READ)
    while True:
        ready = {key.fd for key, _ in ear.select()}
        if heard in ready:
            os.read(heard, 4096)
            _bury(children)
        if line.fileno() in ready:
            message, streams, _, _ = socket.recv_fds(line, _MOST_BYTES, 3)
            if not message:
                break
            if (pid := os.fork()) == 0:
                ear.close()
                _begin(line, (heard, deaf), streams)
                order: dict[str, Any] = json.loads(message)
                return order
            for stream in streams:
                os.close(stream)
            children.add(pid)
            _tell(pid=pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    return None


def _begin(line: socket.socket, ears: tuple[int, int], streams: list[int]) -> None:
    """Leave behind what is the nursery's."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line.close()
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
    for end in (*ears, *streams):
        os.close(end)


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
