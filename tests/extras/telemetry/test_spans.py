"""What becomes a span, what of it may leave the process, and that nothing is done where nobody asks."""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs conclave[telemetry]")
from opentelemetry import propagate
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, Tracer, set_span_in_context

import extras.telemetry
from app.reasoning.llm.endpoint import Endpoint
from app.reasoning.llm.request import CallOutcome, ModelFailed, Request, Usage
from extras.telemetry import begin, exporters_wanted
from extras.telemetry.allowed import AllowedOnly
from extras.telemetry.spans import _trace_models, span_of
from extras.telemetry.sql import Summary, summary_of
from extras.telemetry.tracing import carry_context_alone, open_exporter
from tests.fakes.model_server import Reply, nobody_listening, scripted_model_server

SAID = "lương của Lan là 30 triệu"


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    """What leaves the process."""
    yield InMemorySpanExporter()


@pytest.fixture
def tracer(exported: InMemorySpanExporter) -> Tracer:
    """One whose spans go out like those of the service."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(AllowedOnly(exported)))
    made: Tracer = provider.get_tracer("test")
    return made


def only(exported: InMemorySpanExporter) -> ReadableSpan:
    [span] = exported.get_finished_spans()
    return span


class TestWhatLeavesTheProcess:
    def test_is_on_the_list(self, exported: InMemorySpanExporter, tracer: Tracer) -> None:
        told: dict[str, Any] = {
            "url.query": SAID,
            "db.query.text": SAID,
            "gen_ai.input.messages": SAID,
            "enduser.id": SAID,
        }
        with tracer.start_as_current_span("GET /x", attributes={**told, "http.route": "/x"}) as span:
            span.add_event("seen", {"text": SAID})
        assert only(exported).attributes == {"http.route": "/x"}
        assert [(event.name, dict(event.attributes or {})) for event in only(exported).events] == [("seen", {})]

    def test_of_an_error_is_its_class(self, exported: InMemorySpanExporter, tracer: Tracer) -> None:
        with pytest.raises(ValueError, match=SAID), tracer.start_as_current_span("of a library"):
            raise ValueError(SAID)
        with pytest.raises(ValueError, match=SAID), span_of(tracer, "of our own", {}):
            raise ValueError(SAID)
        by_library, own = exported.get_finished_spans()
        assert SAID not in by_library.to_json() + own.to_json()
        assert by_library.events[0].attributes == {"exception.type": "ValueError"}
        assert own.attributes == {"error.type": "ValueError"}
        assert {by_library.status.status_code, own.status.status_code} == {StatusCode.ERROR}


@pytest.mark.parametrize(
    ("statement", "operation", "table"),
    [
        ("select a, b from tasks where tenant_id = $1", "SELECT", "tasks"),
        ("\n-- why\ninsert into events (a) select unnest($1::int[])", "INSERT", "events"),
        ("with gone as (delete from sessions where id = $1 returning id) select 1 from gone", "DELETE", "sessions"),
        ("with mine as (select id from chunks) select * from mine", "SELECT", "chunks"),
        ("update only_here set a = 1 from tasks", "UPDATE", "only_here"),
        ("select pg_advisory_xact_lock($1)", "SELECT", "pg_advisory_xact_lock"),
        ("select * from unnest($1::uuid[]) as asked (id) join documents using (id)", "SELECT", ""),
        ("commit", "COMMIT", ""),
        ("", "SQL", ""),
    ],
)
def test_a_statement_is_named_by_what_it_does(statement: str, operation: str, table: str) -> None:
    assert summary_of(statement) == Summary(operation, table)


class TestModelCalls:
    async def test_are_spans_with_model_and_tokens(self, exported: InMemorySpanExporter, tracer: Tracer) -> None:
        async with scripted_model_server(lambda asked: Reply(SAID)) as server:
            span, usage = await self.asked(server.base_url, exported, tracer)
        assert (span.name, span.status.status_code) == ("chat m-1", StatusCode.UNSET)
        assert span.attributes == {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.provider.name": "openai",
            "gen_ai.request.max_tokens": 50, "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
        }  # fmt: skip
        assert usage.is_reported and usage.prompt_tokens > 0 and SAID not in span.to_json()

    async def test_that_fail_say_how(self, exported: InMemorySpanExporter, tracer: Tracer) -> None:
        async with nobody_listening() as url:
            with pytest.raises(ModelFailed):
                await self.asked(url, exported, tracer)
        span = only(exported)
        assert span.attributes is not None and span.attributes["error.type"] == CallOutcome.UNREACHABLE
        assert span.status.status_code is StatusCode.ERROR

    async def asked(self, url: str, exported: InMemorySpanExporter, tracer: Tracer) -> tuple[ReadableSpan, Usage]:
        """One call, and the span it made."""
        endpoint, usage, undo = Endpoint.at(url, "m-1"), Usage(), _trace_models(tracer)
        request = Request([{"role": "user", "content": SAID}], max_tokens=50)
        try:
            until = asyncio.get_running_loop().time() + 20
            assert "".join([piece async for piece in endpoint.stream(request, usage, until)]) == SAID
        finally:
            undo()
            await endpoint.aclose()
        return only(exported), usage


def test_a_callers_baggage_is_not_handed_on(tracer: Tracer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_PROPAGATORS", raising=False)
    before, carried = propagate.get_global_textmap(), dict[str, str]()
    carry_context_alone()
    try:
        came = propagate.extract({"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "baggage": "said=hello"})
        with tracer.start_as_current_span("GET /x", context=came) as span:
            propagate.inject(carried, set_span_in_context(span, came))
    finally:
        propagate.set_global_textmap(before)
    assert [*carried] == ["traceparent"] and carried["traceparent"].startswith(f"00-{'a' * 32}-")


class TestBeginning:
    @pytest.fixture(autouse=True)
    def in_an_empty_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("SDK_DISABLED", "TRACES_EXPORTER", "EXPORTER_OTLP_ENDPOINT", "EXPORTER_OTLP_TRACES_ENDPOINT"):
            monkeypatch.delenv(f"OTEL_{name}", raising=False)

    @pytest.mark.parametrize(
        ("environment", "wanted"),
        [
            ({}, ()),
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, ()),
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, ("otlp",)),
            ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, ("otlp",)),
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, ()),
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, ()),
            ({"OTEL_TRACES_EXPORTER": "console, otlp"}, ("console", "otlp")),
        ],
    )
    def test_is_asked_for_by_the_standard_variables(
        self, environment: dict[str, str], wanted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert exporters_wanted() == wanted

    def test_does_nothing_where_nobody_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, "extras.telemetry.tracing")
        begin()
        assert "extras.telemetry.tracing" not in sys.modules

    @pytest.mark.parametrize("missing", [True, False])
    def test_says_what_is_missing_and_goes_on(self, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[dict[str, Any]] = []
        monkeypatch.setattr(
            extras.telemetry._log, "warning", lambda event, **fields: told.append(fields), raising=False
        )
        monkeypatch.setenv("OTEL_TRACES_EXPORTER", "of-nobody")
        if missing:
            monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
            monkeypatch.delitem(sys.modules, "extras.telemetry.tracing")
        begin()
        assert [one["error_class"] for one in told] == ["ModuleNotFoundError" if missing else "LookupError"]
        assert "conclave[telemetry]" in told[0]["reason"]

    def test_knows_exporters_by_their_standard_names(self) -> None:
        assert type(open_exporter("console")).__name__ == "ConsoleSpanExporter"
        assert type(open_exporter("otlp")).__module__.endswith("proto.http.trace_exporter")
        with pytest.raises(LookupError, match="of-nobody"):
            open_exporter("of-nobody")
