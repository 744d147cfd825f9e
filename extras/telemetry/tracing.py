"""The tracer of a process: exporters and sampling by the standard environment, and what is traced.

FastAPI (requests), PgQueuer (the way through the queue) and MCP trace themselves once a provider is set; httpx2 does by
OpenTelemetry's own instrumentation. `spans` and `sql` add what those do not know.
"""

import atexit
import logging
import os
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import ExitStack
from functools import partial
from importlib.metadata import entry_points
from typing import Any

import structlog
from opentelemetry import trace
from opentelemetry.instrumentation.httpx import HTTPX2ClientInstrumentor
from opentelemetry.propagate import set_global_textmap
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pgqueuer.adapters.tracing.opentelemetry import OpenTelemetryTracing
from pgqueuer.ports.tracing import TRACER, set_tracing_class

from app import __version__
from extras.telemetry.allowed import AllowedOnly
from extras.telemetry.spans import wrap_service
from extras.telemetry.sql import trace_statements
from extras.telemetry.wrapping import Undo

_EXPORTERS = "opentelemetry_traces_exporter"
"""The group of entry points in which packages of OpenTelemetry offer theirs."""
_SERVICE = "conclave"


def trace_process(exporters: Iterable[str]) -> None:
    """Trace everything in this process; nothing is done where it is traced already.

    Raises LookupError for an exporter that no installed package offers, and what its constructor raises.
    """
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        follow(provider_to([open_exporter(name) for name in exporters]))


def follow(provider: TracerProvider) -> ExitStack:
    """Let everything in this process be traced by `provider`. Closing what it gives puts every function back; the
    provider stays the process's, as OpenTelemetry lets it be set once."""
    if trace.get_tracer_provider() is not provider:
        trace.set_tracer_provider(provider)
    tracer, stack = provider.get_tracer(_SERVICE, __version__), ExitStack()
    carry_context_alone()
    set_tracing_class(OpenTelemetryTracing())
    stack.callback(setattr, TRACER, "tracer", None)
    clients = HTTPX2ClientInstrumentor()
    clients.instrument(tracer_provider=provider)
    for undo in (clients.uninstrument, trace_statements(tracer), *wrap_service(tracer), *_name_traces_in_logs()):
        stack.callback(undo)
    return stack


def carry_context_alone() -> None:
    """Hand the context of a trace on to other processes and systems, and no baggage, which is a caller's own words;
    unless the environment says what is handed on."""
    if "OTEL_PROPAGATORS" not in os.environ:
        set_global_textmap(TraceContextTextMapPropagator())


def provider_to(exporters: Iterable[SpanExporter]) -> TracerProvider:
    """A provider that hands its spans, in batches and without what must not leave the process, to these exporters.
    Sampling, limits and sizes of batches come from the environment (OTEL_TRACES_SAMPLER, OTEL_SPAN_*, OTEL_BSP_*)."""
    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: _SERVICE}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(AllowedOnly(exporter)))
    atexit.register(provider.shutdown)
    return provider


def open_exporter(name: str) -> SpanExporter:
    """The exporter of this name; it reads its settings from the environment (OTEL_EXPORTER_OTLP_*). Raises LookupError
    where no installed package offers it."""
    if name == "otlp":
        protocols = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        spoken = next((value for one in protocols if (value := os.environ.get(one))), "http/protobuf")
        name = "otlp_proto_grpc" if spoken == "grpc" else "otlp_proto_http"
    for entry in entry_points(group=_EXPORTERS, name=name):
        exporter: SpanExporter = entry.load()()
        return exporter
    raise LookupError(f"no installed package offers the exporter {name[:40]!r}")


def _name_traces_in_logs() -> Iterator[Undo]:
    """Give every line of the log, ours and the libraries', the ids of the span it was written in."""
    for handler in logging.getLogger().handlers:
        written = handler.formatter
        if isinstance(written, structlog.stdlib.ProcessorFormatter):
            yield partial(setattr, written, "processors", written.processors)
            written.processors = (_with_trace, *written.processors)


def _with_trace(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The line with ``trace_id`` and ``span_id``, as W3C writes them, where it was written inside a span."""
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"], event["span_id"] = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    return event
