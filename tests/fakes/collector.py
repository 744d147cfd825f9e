"""A collector of OpenTelemetry that keeps the spans it is sent, and says how they hang together."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Seen:
    """A span as it arrived."""

    name: str
    trace: str
    id: str
    parent: str
    """Empty for the root of a trace."""
    process: str
    attributes: dict[str, Any]
    failed: bool


@dataclass
class Collector:
    """What arrived so far."""

    address: str
    spans: list[Seen] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    """Every body as it came."""

    def named(self, name: str) -> list[Seen]:
        """The spans of this name, in the order they ended."""
        return [span for span in self.spans if span.name == name]

    def path_to(self, span: Seen) -> list[str]:
        """Names from the root down to a span."""
        known = {one.id: one for one in self.spans}
        path = [span]
        while path[0].parent:
            path.insert(0, known[path[0].parent])
        return [one.name for one in path]

    def take(self, body: bytes) -> None:
        """Read what an exporter sent."""
        self.texts.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            told = {one.key: one.value.string_value for one in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    attributes = {
                        one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes
                    }
                    self.spans.append(Seen(
                        name=span.name, trace=span.trace_id.hex(), id=span.span_id.hex(), attributes=attributes,
                        parent=span.parent_span_id.hex(), process=told["service.name"], failed=span.status.code == 2,
                    ))  # fmt: skip


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens on this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        listening = Thread(target=server.serve_forever, daemon=True)
        listening.start()
        try:
            yield collector
        finally:
            server.shutdown()
            listening.join()
