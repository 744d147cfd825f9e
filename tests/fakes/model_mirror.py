"""A host of models on the loopback: both shapes of addresses, ranges, and every way a download goes wrong."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL_LAYER = "application/vnd.ollama.image.model"


@dataclass
class Mirror:
    """What the host has and how it behaves; everything may be changed between two requests."""

    address: str = ""
    body: bytes = b"GGUF" + bytes(range(256)) * 2_000
    etag: str = '"one"'
    cut_after: int | None = None
    """Bytes of an answer after which the line is closed."""
    corrupt: bool = False
    """The last byte of every answer is another one."""
    ignores_ranges: bool = False
    shifted: bool = False
    """Ranges begin elsewhere."""
    without_length: bool = False
    status: int = 200
    layers: list[dict[str, object]] | None = None
    """Of a manifest; None = the right ones."""
    held: threading.Event | None = None
    """Every answer stops in its middle until this is set."""
    half_sent: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Path and ``Range``."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()

    def manifest(self) -> bytes:
        layers = self.layers
        if layers is None:
            weights = {"mediaType": MODEL_LAYER, "digest": f"sha256:{self.sha256}", "size": len(self.body)}
            layers = [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:0", "size": 1}, weights]
        return json.dumps({"schemaVersion": 2, "layers": layers}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.mirror.requests.append((self.path, self.headers.get("Range", "")))
        if "/manifests/" in self.path:
            self._send(self.server.mirror.manifest(), 200)
            return
        if self.server.mirror.status != 200:
            self._send(b"no", self.server.mirror.status)
            return
        start = self._start()
        if start is not None and start >= len(self.server.mirror.body):
            self._send(b"", 416)
        else:
            self._send_body(start)

    def _start(self) -> int | None:
        wanted, condition = self.headers.get("Range"), self.headers.get("If-Range", self.server.mirror.etag)
        if not wanted or self.server.mirror.ignores_ranges or condition != self.server.mirror.etag:
            return None
        return int(wanted.removeprefix("bytes=").removesuffix("-"))

    def _send_body(self, start: int | None) -> None:
        part = self.server.mirror.body[(start or 0) :]
        part = part[:-1] + bytes([part[-1] ^ 1]) if self.server.mirror.corrupt else part
        self.send_response(200 if start is None else 206)
        if start is not None:
            self.send_header(
                "Content-Range", f"bytes {start + self.server.mirror.shifted}-{len(self.server.mirror.body) - 1}/*"
            )
        if self.server.mirror.etag:
            self.send_header("ETag", self.server.mirror.etag)
        if not self.server.mirror.without_length:
            self.send_header("Content-Length", str(len(part)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.server.mirror.held is not None:
            self.wfile.write(part[: len(part) // 2])
            self.wfile.flush()
            self.server.mirror.half_sent.set()
            self.server.mirror.held.wait(20)
            part = part[len(part) // 2 :]
        self.wfile.write(part[: self.server.mirror.cut_after])

    def _send(self, content: bytes, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    mirror: Mirror
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error."""


@contextmanager
def model_mirror() -> Iterator[Mirror]:
    """A host that listens; it is gone at the end."""
    server, mirror = _Server(("127.0.0.1", 0), _Handler), Mirror()
    server.mirror = mirror
    mirror.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield mirror
    finally:
        if mirror.held is not None:
            mirror.held.set()
        server.shutdown()
        server.server_close()
        thread.join()
