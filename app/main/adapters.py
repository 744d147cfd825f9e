"""Picks the adapters of the settings: embedding model, language models, what carries messages, tools, the deep flow."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from app.agents.mcp_servers import McpServers, McpTools
from app.agents.registry import Solvers
from app.agents.run import StepRunner
from app.bus import Bus
from app.bus.relay import RelayingBus
from app.confinement.processes import Isolated, ProcessLimits
from app.domain.principal import tenant_id_of
from app.embedding import Embedder
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.errors import AppError, ErrorCode
from app.flow.deep.context import DeepPorts, Files
from app.flow.deep.graph import DeepFlow
from app.flow.deep.state import DeepLimits
from app.flow.state import FlowLimits, Ports
from app.journal.outage import Outage
from app.models.serving import LocalModel, model_of
from app.reasoning import Reasoner
from app.reasoning.budget import Limits, StoredLedger
from app.reasoning.deep import DeepReasoner
from app.reasoning.llm import Ladder, Rung, TimeLimits
from app.reasoning.llm.deep import ModelDeepReasoner
from app.reasoning.llm.request import Prices, Thinking
from app.reasoning.local.deep import LocalDeepReasoner
from app.reasoning.local.terms import concepts_in
from app.retrieval.search import Retriever
from app.settings import Settings
from app.storage.database import Database
from app.storage.notifications import NotificationChannel, identity_of
from app.storage.spool import Spool, SpoolLimits
from app.tasks.approvals import DeepStates
from app.tasks.outage import SpooledWrites
from app.tools.base import Toolbox
from app.tools.catalogue import ToolPorts, WebPorts, build_toolbox
from app.tools.files import FileReader
from app.trust.admission import RunLimits

if TYPE_CHECKING:
    from app.bus.redis import RedisChannel

_BUS_SCHEMES = ("redis", "rediss", "unix")


async def open_embedder(settings: Settings, stack: AsyncExitStack) -> CachedEmbedder:
    """The model, loaded and with its cache; closed with `stack`."""
    model: Embedder
    if settings.embedding_base_url:
        # Only here: the client's library takes half a second to import, and most services have the bundled model.
        from app.embedding.openai import OpenAIEmbedder  # noqa: PLC0415

        api_key = settings.embedding_api_key.get_secret_value()
        model = await OpenAIEmbedder.connect(settings.embedding_base_url, settings.embedding_model, api_key=api_key)
    else:
        folder = settings.data_dir / "models"
        model = await asyncio.to_thread(OnnxEmbedder.open, folder, threads=settings.embedding_threads)
    embedder = CachedEmbedder(model)
    stack.push_async_callback(embedder.aclose)
    return embedder


def find_local_model(settings: Settings) -> LocalModel | None:
    """The model `conclave model use` named, unless another one is configured. Raises `AppError` where it is gone."""
    return None if settings.has_model or not settings.local_models else model_of(settings.data_dir)


def open_ladder(settings: Settings) -> Ladder:
    """The configured models; sends nothing. Raises `AppError` when a model is half configured."""
    if not settings.llm_model:
        detail = "CONCLAVE_LLM_BASE_URL is set but no model: set CONCLAVE_LLM_MODEL to the endpoint's name of one."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail)
    rungs = [_rung(settings, settings.llm_base_url, settings.llm_model, settings.llm_api_key.get_secret_value())]
    if settings.llm_small_model:
        url = settings.llm_small_base_url or settings.llm_base_url
        own_key = settings.llm_small_api_key.get_secret_value()
        # A key goes to the address it was given for and nowhere else.
        key = own_key or (settings.llm_api_key.get_secret_value() if url == settings.llm_base_url else "")
        rungs.append(_rung(settings, url, settings.llm_small_model, key))
    return Ladder(rungs)


def _rung(settings: Settings, url: str, model: str, api_key: str) -> Rung:
    # Only here: the client's library takes half a second to import, and most services have no model.
    from app.reasoning.llm.endpoint import Endpoint  # noqa: PLC0415

    limits = TimeLimits(
        settings.llm_first_token_seconds, settings.llm_between_tokens_seconds, settings.llm_call_seconds
    )
    prices = Prices(settings.llm_prompt_price, settings.llm_completion_price)
    thinking = Thinking(settings.llm_thinking_tokens, settings.llm_reasoning_effort, settings.llm_extra_body)
    return Rung(Endpoint.at(url, model, api_key=api_key, limits=limits, prices=prices, thinking=thinking))


def spending_limits(settings: Settings, mode: Literal["task", "deep"] = "task") -> Limits:
    """Of one question of this mode, one person and one tenant."""
    return Limits(
        run_tokens=getattr(settings, f"{mode}_token_budget"), run_calls=getattr(settings, f"{mode}_call_budget"),
        user_tokens_per_day=settings.user_tokens_per_day, tenant_tokens_per_day=settings.tenant_tokens_per_day,
    )  # fmt: skip


def run_limits(settings: Settings) -> RunLimits:
    """How many questions may be open, and whose turn comes how often."""
    return RunLimits(
        per_person=settings.max_open_runs_per_user, per_tenant=settings.max_open_runs_per_tenant,
        in_all=settings.max_open_runs, wait_seconds=settings.max_wait_seconds,
        slots=settings.worker_max_concurrent_runs,
        weights={tenant_id_of(name): weight for name, weight in settings.tenant_weights.items()},
    )  # fmt: skip


async def open_bus(bus_url: str, database_url: str) -> RelayingBus:
    """A bus that already listens; with a Redis the database is not asked to notify.

    An embedded database has several processes too (the service, the command line), so there is no bus of one process
    here. Services of different databases hear nothing of one another on a shared Redis.

    The address is one that `check_bus_url` lets pass. A Redis that does not answer is no error: it is waited for.
    """
    if not bus_url:
        return await RelayingBus.open(NotificationChannel(database_url))
    return await RelayingBus.open(_redis_channel(bus_url, await identity_of(database_url)))


def _redis_channel(bus_url: str, namespace: str) -> "RedisChannel":
    # Only here: its client takes a tenth of a second to import, and most services have no Redis.
    from app.bus.redis import RedisChannel  # noqa: PLC0415

    return RedisChannel(bus_url, namespace)


def check_bus_url(bus_url: str) -> None:
    """Refuse what no Redis client can use; the address is not repeated, it may hold a password. Empty is fine."""
    if not bus_url:
        return
    try:
        address = urlsplit(bus_url)
        usable = address.scheme in _BUS_SCHEMES and bool(address.path if address.scheme == "unix" else address.hostname)
        if usable:
            _redis_channel(bus_url, "")
    except (ValueError, TypeError):
        usable = False
    if not usable:
        detail = (
            "CONCLAVE_BUS_URL cannot be used: write redis://host:6379/0, rediss://host:6379/0 or unix:///path/to/socket,"
            " or leave it empty to use PostgreSQL."
        )
        raise AppError(ErrorCode.VALIDATION_FAILED, detail)


async def open_outage(settings: Settings, database: Database, wake: Bus, stack: AsyncExitStack) -> Outage:
    """What keeps the writes of running tasks while the database is away; what killed processes of this data directory
    left is brought in before this returns."""
    limits = SpoolLimits(**{name: getattr(settings, f"spool_{name}") for name in SpoolLimits._fields})
    outage = Outage(database, wake, Spool(settings.spool_dir, limits))
    stack.push_async_callback(outage.aclose)
    await outage.start(SpooledWrites(database, settings.task_lease_seconds).bring_in)
    return outage


async def open_tools(
    settings: Settings,
    stack: AsyncExitStack,
    retriever: Retriever,
    reasoner: Reasoner,
    database: Database,
    embedder: Embedder,
    files: FileReader,
) -> Toolbox:
    """Every tool that is turned on. Starts no process and reaches no host: they do so when they are first called.

    What they stand on is closed with `stack`. Raises `AppError` for hosts that are none, `FileRefused` for a file of
    MCP servers that cannot be used.
    """
    tables = Isolated(
        "app.tables.engine:execute", ProcessLimits(wall_seconds=8.0, cpu_seconds=6, memory_bytes=384 * 1024 * 1024)
    )
    stack.push_async_callback(tables.aclose)
    servers = McpServers.load(settings.mcp_servers)
    of_servers = McpTools(servers, reasoner)
    stack.push_async_callback(of_servers.aclose)
    hosts, search = settings.web_allowed_hosts, settings.search_url
    outside = WebPorts(hosts, settings.web_private_hosts, embedder, settings.wikipedia_base_url, search)
    web = outside if hosts or search else None
    ports = ToolPorts(retriever, reasoner, database, settings.min_relevance_score, files, tables, web, concepts_in)
    toolbox = build_toolbox(ports, further=of_servers.all)
    for tool in toolbox.values():
        if (aclose := getattr(tool, "aclose", None)) is not None:
            stack.push_async_callback(aclose)
    return toolbox


def open_deep(
    settings: Settings,
    ports: Ports,
    limits: FlowLimits,
    runner: StepRunner,
    ladder: Ladder,
    checkpoints: DeepStates,
    files: Files,
    database: Database,
) -> DeepFlow:
    """The flow on the same ports and limits as the department flow, but for its own deadline and budget; its tool calls
    are done in this process. Blocks shortly. Raises `FileRefused`."""
    mind: DeepReasoner = LocalDeepReasoner()
    if settings.has_model:
        ports = replace(ports, ledger=StoredLedger(database, spending_limits(settings, "deep")))
        mind = ModelDeepReasoner(ladder, mind)
    limits = limits.model_copy(update={"task_deadline_ms": settings.deep_deadline_ms})
    deep = DeepPorts(mind, Solvers.load(runner.toolbox), runner, checkpoints, files)
    stages = DeepLimits(**{name: getattr(settings, f"deep_{name}") for name in DeepLimits.model_fields})
    return DeepFlow(ports, deep, limits, stages)
