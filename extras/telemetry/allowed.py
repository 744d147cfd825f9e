"""What of a span may leave the process: attributes on a list, names, times, and the class of an error.

Libraries describe requests by address, query and message of an exception, all of which may hold what somebody wrote. So
nothing is taken out here; what is not on the list does not get out.
"""

from collections.abc import Mapping, Sequence

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.util.types import AttributeValue

ALLOWED_ATTRIBUTES = frozenset({
    "conclave.attempt", "conclave.node", "conclave.task.id", "db.collection.name", "db.operation.name",
    "db.query.summary", "db.system.name", "error.type", "gen_ai.agent.name", "gen_ai.operation.name",
    "gen_ai.provider.name", "gen_ai.request.max_tokens", "gen_ai.request.model", "gen_ai.tool.name",
    "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.workflow.name", "http.request.method",
    "http.response.status_code", "http.route", "mcp.method.name", "mcp.protocol.version",
    "messaging.destination.name", "messaging.message.id", "messaging.operation.name", "messaging.operation.type",
    "messaging.system", "rpc.response.status_code", "url.scheme",
})  # fmt: skip
"""Names of our own, enumerations, counts and ids of tasks. Add one only when its value can never be somebody's text, a
person or a company."""
_OF_AN_ERROR = "exception.type"


class AllowedOnly(SpanExporter):
    """Hands spans on with allowed attributes alone."""

    def __init__(self, inner: SpanExporter):
        self._inner = inner

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Hand on what may leave the process."""
        return self._inner.export([allowed(span) for span in spans])

    def shutdown(self) -> None:
        """Close what it hands on to."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See `SpanExporter`."""
        done: bool = self._inner.force_flush(timeout_millis)
        return done


def allowed(span: ReadableSpan) -> ReadableSpan:
    """The span without anything that is not on the list; of its errors the class is left."""
    return ReadableSpan(
        name=span.name, context=span.get_span_context(), parent=span.parent, resource=span.resource, kind=span.kind,
        attributes=_allowed(span.attributes or {}), events=[_bare(event) for event in span.events],
        status=Status(span.status.status_code), start_time=span.start_time, end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )  # fmt: skip


def _allowed(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    return {name: value for name, value in attributes.items() if name in ALLOWED_ATTRIBUTES}


def _bare(event: Event) -> Event:
    told = event.attributes or {}
    kept = {_OF_AN_ERROR: told[_OF_AN_ERROR]} if _OF_AN_ERROR in told else {}
    return Event(event.name, kept, event.timestamp)
