"""What only this service knows, each traced at the one function it goes through: runs, nodes, agents, tools, models.

The functions are wrapped from outside, as OpenTelemetry's instrumentations of libraries do it: without traces none of
this is there. A span says by its names what was done; texts, people and companies are in none.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from inspect import iscoroutinefunction
from typing import Any

from langgraph.graph import StateGraph
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from wrapt import decorator

from app.agents.run import StepRunner
from app.embedding.onnx import OnnxEmbedder
from app.embedding.openai import OpenAIEmbedder
from app.flow.orchestrate import Flow
from app.ingestion.pipeline import Ingestion
from app.reasoning.llm.endpoint import Endpoint
from app.reasoning.llm.request import ModelFailed
from extras.telemetry.wrapping import Undo, wrapped_as

Attributes = dict[str, str | int]
Naming = Callable[[Any, tuple[Any, ...], Mapping[str, Any]], tuple[str, Attributes]]
"""Name and attributes of a call's span, from whose method it is and what it was given."""


def wrap_service(tracer: Tracer) -> list[Undo]:
    """Trace the service's own functions from now on; graphs that are built already are not."""
    methods: list[tuple[type, str, Naming]] = [
        (Flow, "run", _run),
        (Ingestion, "process", lambda *_: _operation("invoke_workflow", "gen_ai.workflow.name", "ingestion")),
        (StepRunner, "run", _step),
        (StepRunner, "_call", lambda _, args, __: _operation("execute_tool", "gen_ai.tool.name", args[1].name)),
        *(
            (one, f"embed_{what}", _embedding)
            for one in (OnnxEmbedder, OpenAIEmbedder)
            for what in ("queries", "passages")
        ),
    ]
    return [*(_trace(tracer, *one) for one in methods), _trace_nodes(tracer), _trace_models(tracer)]


def _trace(tracer: Tracer, owner: type, method: str, naming: Naming) -> Undo:
    """Put a span around every call of an async method."""

    async def traced(
        wrapped: Callable[..., Awaitable[Any]], instance: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if naming is _embedding and not trace.get_current_span().get_span_context().is_valid:
            return await wrapped(*args, **kwargs)  # at the start, for nobody's question
        name, attributes = naming(instance, args, kwargs)
        with span_of(tracer, name, attributes):
            return await wrapped(*args, **kwargs)

    return wrapped_as(owner, method, traced)


@contextmanager
def span_of(tracer: Tracer, name: str, attributes: Attributes) -> Iterator[Span]:
    """A span around what is done inside; of an error it keeps the class, as messages may hold texts."""
    with tracer.start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except Exception as error:
            fail(span, type(error).__qualname__)
            raise


def fail(span: Span, error_type: str) -> None:
    """Mark a span as that of something that failed."""
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR))


def _operation(operation: str, attribute: str, name: str) -> tuple[str, Attributes]:
    """Name and attributes of a span by the conventions for generative AI."""
    return f"{operation} {name}", {"gen_ai.operation.name": operation, attribute: name}


def _run(flow: Any, args: tuple[Any, ...], _: Mapping[str, Any]) -> tuple[str, Attributes]:
    kind = type(flow).__name__.removesuffix("Flow").lower()
    name, told = _operation("invoke_workflow", "gen_ai.workflow.name", kind)
    return name, {**told, "conclave.task.id": str(args[0].task.task_id), "conclave.attempt": args[0].attempt}


def _step(_: Any, args: tuple[Any, ...], __: Mapping[str, Any]) -> tuple[str, Attributes]:
    order = args[0]
    name, told = _operation("invoke_agent", "gen_ai.agent.name", order.step.step.agent)
    return name, {**told, "conclave.task.id": str(order.task_id), "conclave.node": order.step.node_id}


def _embedding(embedder: Any, _: tuple[Any, ...], __: Mapping[str, Any]) -> tuple[str, Attributes]:
    return _operation("embeddings", "gen_ai.request.model", embedder.model)


def _trace_nodes(tracer: Tracer) -> Undo:
    """Put a span around every node of a graph that is built from now on; a graph inside a graph has its own."""

    def add_node(wrapped: Callable[..., Any], _: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        name, action, *others = args
        if not iscoroutinefunction(action):
            return wrapped(*args, **kwargs)

        @decorator
        async def visited(
            node: Callable[..., Awaitable[Any]], _: Any, given: tuple[Any, ...], options: Mapping[str, Any]
        ) -> Any:
            with span_of(tracer, f"node {name}", {"conclave.node": name}):
                return await node(*given, **options)

        return wrapped(name, visited(action), *others, **kwargs)

    return wrapped_as(StateGraph, "add_node", add_node)


def _trace_models(tracer: Tracer) -> Undo:
    """Put a span around every request to a language model, from its first byte to the end of its reply."""

    async def stream(
        wrapped: Callable[..., AsyncGenerator[str, None]],
        endpoint: Endpoint,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> AsyncGenerator[str, None]:
        request, usage = args[0], args[1]
        name, told = _operation("chat", "gen_ai.request.model", endpoint.model)
        told |= {"gen_ai.provider.name": "openai", "gen_ai.request.max_tokens": request.max_tokens}
        span = tracer.start_span(name, kind=SpanKind.CLIENT, attributes=told)
        try:
            async with aclosing(wrapped(*args, **kwargs)) as pieces:
                while True:
                    # Current only while the model is waited for: between two pieces the reader does other things.
                    with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                        piece = await anext(pieces, None)
                    if piece is None:
                        return
                    yield piece
        except ModelFailed as failure:
            fail(span, failure.outcome.value)
            raise
        finally:
            span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
            span.end()

    return wrapped_as(Endpoint, "stream", stream)
