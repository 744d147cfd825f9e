"""Everything a process of Conclave needs, opened in order and put away in the reverse order."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import structlog

from app.agents.registry import AgentRegistry
from app.agents.remote import RemoteSteps, StepService
from app.agents.run import Dispatch, StepRunner
from app.agents.spec import FileRefused
from app.api.auth import Claims
from app.api.deps import AppServices, Limits
from app.confinement.processes import Isolated
from app.domain.attachments import AttachmentLimits
from app.domain.principal import Principal
from app.embedding.cached import CachedEmbedder
from app.errors import AppError, ErrorCode
from app.evaluation.report_store import REPORTS_FOLDER, ReportStore
from app.flow.deep.state import decided
from app.flow.graph import DepartmentFlow
from app.flow.state import FlowLimits, Ports
from app.ingestion.attached import Attachments
from app.ingestion.catalogue import Catalogue
from app.ingestion.health import Health
from app.ingestion.passages import Reembedding
from app.ingestion.pipeline import Ingestion
from app.ingestion.planted import is_order
from app.journal import Journal
from app.main.adapters import (
    check_bus_url,
    find_local_model,
    open_bus,
    open_deep,
    open_embedder,
    open_ladder,
    open_outage,
    open_tools,
    run_limits,
    spending_limits,
)
from app.main.identity import dev_login, key_source, trusted_hosts
from app.main.oidc import open_accounts, open_sign_ins
from app.main.seeding import SeedReport, Seen, keep_up, plant_once, plant_seed
from app.main.storage import Readiness, Storage
from app.main.working import Balancing, worker_of
from app.models.serving import NOWHERE, LocalModel
from app.operations.metrics import CountedLedger, Metrics
from app.plugins import INSTRUMENTS, entries_of
from app.reasoning import Reasoner
from app.reasoning.budget import Ledger
from app.reasoning.llm import Ladder, ModelReasoner
from app.reasoning.local import LocalReasoner
from app.reasoning.local.intents import needs_steps
from app.reasoning.local.terms import concepts_in
from app.retrieval.cache import Corpus
from app.retrieval.ranking import Calibration, load_calibration
from app.retrieval.search import Retriever
from app.sessions.session import SessionMemory, SessionStore, TenantClock
from app.settings import Settings
from app.storage.database import Database
from app.tasks.approvals import Approvals, DeepStates
from app.tasks.oversight import Oversight
from app.tasks.queue import CHAT, IN_PROCESS, JobQueue
from app.tasks.registry import TaskRegistry
from app.tasks.reviews import RunReviews
from app.tasks.worker import Worker
from app.tools.catalogue import descriptions
from app.trust.admission import Admission

_log = structlog.get_logger(__name__)
_STOP_SECONDS = 4
"""For runs to end at shutdown; what is left is given back to the queue."""
Stage = Callable[[str], None]
"""Is told what opening is at: ``database``, ``model``, ``documents 12/37``."""


def silent(_stage: str) -> None:
    """Tell nobody."""


class Services:
    """The rooms of one process; `open` and `aclose`."""

    def __init__(self, settings: Settings, stack: AsyncExitStack, queues: Collection[str], *, is_working: bool):
        """Use `open`."""
        self.settings = settings
        self._queues, self._is_working = queues, is_working
        self._stack = stack
        self.storage: Storage
        self.embedder: CachedEmbedder
        self.ingestion: Ingestion
        self.catalogue: Catalogue
        self.health: Health
        self.attachments: Attachments
        self.reembedding: Reembedding
        self.rooms: AppServices
        self.worker: Worker
        self.ladder = Ladder([])
        """The language models, best first; empty where none is configured."""
        self._rules: LocalReasoner
        self.local_model: LocalModel | None = None

    @property
    def database(self) -> Database:
        """The pool of the app's role."""
        return self.storage.database

    @classmethod
    async def open(
        cls, settings: Settings, *, work: bool = True, queues: Collection[str] = IN_PROCESS, on_stage: Stage = silent
    ) -> "Services":
        """Open everything: database (migrated when its owner's address is known), model, rooms and, with `work`, the
        worker of `queues` (see `served_queues`). An embedded database that was never filled gets the demo data first.
        `on_stage` is told how far that is.

        Raises `AppError` when the database is away, its role would not be bound by row security, no safe signing
        secret is configured, or a file of agents or servers cannot be used.
        """
        for instrument in entries_of(INSTRUMENTS):
            instrument.load()()
        Isolated.may_stay_unconfined = settings.allow_unconfined
        local = await asyncio.to_thread(find_local_model, settings) if work else None
        if local is not None:
            own = {"llm_base_url": NOWHERE, "llm_model": local.name}
            small = {} if "llm_profile" in settings.model_fields_set else {"llm_profile": "small"}
            settings = settings.model_copy(update={**own, **small})
        services = cls(settings, AsyncExitStack(), queues, is_working=work)
        services.local_model = local
        try:
            on_stage("database")
            check_bus_url(settings.bus_url.get_secret_value())
            await services._open_storage_and_model(on_stage)
            await services._open_rooms()
            if settings.is_embedded:
                space = load_calibration(services.embedder.model).space
                seed = partial(services.seed, lambda done, total, _: on_stage(f"documents {done}/{total}"))
                await plant_once(settings.data_dir, space, seed)
                await keep_up(settings.seed_dir, settings.data_dir, services.database, now())
            if local is not None:
                await services._stack.enter_async_context(local.running(services.ladder.rungs[0].move))
                if not settings.serve_address:  # a server says by `/ready` that it is loading
                    await local.settled()
            if work:
                await services._warm_up()
                await services.worker.start()
                services._stack.push_async_callback(services.worker.stop, _STOP_SECONDS)
        except FileRefused as refused:
            await services.aclose()
            raise AppError(ErrorCode.VALIDATION_FAILED, str(refused)) from refused
        except BaseException:
            await services.aclose()
            raise
        return services

    async def _open_storage_and_model(self, on_stage: Stage) -> None:
        """Open both at once: the database is started by another process, and the model is read without the GIL."""
        model = asyncio.create_task(open_embedder(self.settings, self._stack))
        try:
            self.storage = await Storage.open(self.settings, self._stack)
            on_stage("model")
        finally:
            await asyncio.wait({model})  # what it opened is closed with the stack, however this ends
        self.embedder = model.result()

    async def aclose(self) -> None:
        """Stop the worker (runs get a few seconds, the rest goes back to the queue), then close everything else."""
        await self._stack.aclose()

    async def claims_of(self, user: str) -> Claims:
        """What the database says about ``tenant/user``. Raises `AppError` NOT_FOUND."""
        return await self.storage.claims_of(user)

    async def seed(self, on_progress: Seen | None = None) -> SeedReport:
        """Bring the demo companies in."""
        operator = await self.storage.open_operator()
        return await plant_seed(self.settings.seed_dir, operator, self.database, self.ingestion, now(), on_progress)

    async def _warm_up(self) -> None:
        """Have the vectors ready that every question is compared with; made once, then read from the data folder."""
        agents = self.rooms.agents
        await self._rules.warm([agents.spec(name).exemplars.all for name in agents.names])

    def _open_ingestion(self, calibration: Calibration) -> None:
        self.health = Health(self.database, calibration.space, concepts=concepts_in, embedder=self.embedder)
        balancing = Balancing(self.storage.addresses.owner)
        self._stack.push_async_callback(balancing.aclose)

        async def after_publishing(principal: Principal, document_id: UUID) -> None:
            balancing.nudge(principal.tenant_id)
            await self.health.examine(principal, document_id)

        self.ingestion = Ingestion(self.database, self.embedder, calibration=calibration, examine=after_publishing)
        self._stack.push_async_callback(self.ingestion.aclose)
        self.reembedding = Reembedding(self.database, self.embedder, calibration=calibration)
        self.catalogue = Catalogue(self.database)
        self.attachments = Attachments(self.database, AttachmentLimits(max_bytes=self.settings.attachment_max_bytes))
        self._stack.push_async_callback(self.attachments.aclose)

    async def _open_rooms(self) -> None:
        settings, calibration = self.settings, load_calibration(self.embedder.model)
        self._open_ingestion(calibration)
        bus = await open_bus(settings.bus_url.get_secret_value(), self.storage.addresses.app)
        self._stack.push_async_callback(bus.aclose)
        journal = Journal(self.database, bus, await open_outage(settings, self.database, bus, self._stack))
        metrics, registry = self._open_registry(journal)
        retriever = Retriever(
            self.database, self.embedder, calibration, caching=settings.enable_caching,
            cache_ttl_seconds=settings.cache_ttl_seconds,
        )  # fmt: skip
        self._rules = rules = LocalReasoner(self.embedder, settings.data_dir / "vectors")
        reasoner = self._mind(rules)
        toolbox = await open_tools(
            settings, self._stack, retriever, reasoner, self.database, self.embedder, self.attachments
        )
        agents = AgentRegistry.load(settings.agents_dir, descriptions(toolbox), settings.remote_agents)
        memory = await self._stack.enter_async_context(SessionMemory(self.database, self.embedder))
        hosts = trusted_hosts(settings)
        runner = StepRunner(registry, toolbox, reasoner, now, trusted_link_hosts=hosts)
        corpus = Corpus(self.database, calibration.space)
        ledger = CountedLedger(self.database, spending_limits(settings), metrics) if settings.has_model else Ledger()
        clock, limits = TenantClock(self.database), _flow_limits(settings, hosts)
        dispatch = Dispatch(agents, runner, RemoteSteps(registry.steps, bus, now).run)
        ports = Ports(registry, memory, clock, retriever, corpus, reasoner, agents, dispatch, ledger, now)
        states = DeepStates(self.database, journal, now, settings.deep_approval_seconds)
        deep = open_deep(settings, ports, limits, runner, self.ladder, states, self.attachments, self.database)
        flow = DepartmentFlow(ports, limits, deep, needs_steps if settings.has_model else None)
        keys = key_source(settings)
        self.rooms = AppServices(
            database=self.database,
            authenticator=replace(self.storage.authenticator(keys), sign_ins=open_sign_ins(settings, self.database)),
            accounts=await open_accounts(settings, self.storage),
            dev_login=await dev_login(settings, keys, self.storage.own_companies),
            registry=registry,
            approvals=Approvals(self.database, journal, JobQueue(), decided),
            journal=journal,
            sessions=SessionStore(self.database),
            retriever=retriever,
            embedder=self.embedder,
            agents=agents,
            flow=flow,
            deep=deep,
            ingestion=self.ingestion,
            catalogue=self.catalogue,
            health=self.health,
            attachments=self.attachments,
            reviews=RunReviews(self.database),
            oversight=Oversight(self.database, registry, is_priced=settings.has_prices),
            evaluations=ReportStore(settings.data_dir / REPORTS_FOLDER).runs,
            limits=Limits(**{one.name: getattr(settings, one.name) for one in fields(Limits)}),
            metrics=metrics,
            readiness=self._readiness(),
            now=now,
        )
        steps = StepService(runner, registry.steps, ledger)
        self.worker = worker_of(settings, self.storage, self.rooms, self.ingestion, steps, self._queues)

    def _open_registry(self, journal: Journal) -> tuple[Metrics, TaskRegistry]:
        """The registry, with who is let in and what is counted of it."""
        own = self.settings
        metrics = Metrics(self.database, own.metrics_token.get_secret_value())
        self._stack.callback(asyncio.create_task(metrics.watch_loop()).cancel)
        admission = Admission(run_limits(own), CHAT, metrics.observe_refusal)
        registry = TaskRegistry(
            self.database, journal, JobQueue(), now, own.task_lease_seconds, own.max_redispatches, admission
        )
        registry.on_end = metrics.observe_end
        return metrics, registry

    def _readiness(self) -> Callable[[], Awaitable[Mapping[str, bool]]]:
        is_worker_well = (lambda: self.worker.is_well) if self._is_working else (lambda: None)
        ready = Readiness(self.storage, lambda: self.embedder.dimensions > 0, is_worker_well)
        return ready if self.local_model is None else self.local_model.checks(ready)

    def _mind(self, rules: LocalReasoner) -> Reasoner:
        """The rules alone, or a model with the rules behind it."""
        if not self.settings.has_model:
            return rules
        self.ladder = open_ladder(self.settings)
        self._stack.push_async_callback(self.ladder.aclose)
        return ModelReasoner(
            self.ladder, rules, answer_mode=self.settings.llm_answer_mode, is_order=is_order,
            is_small=self.settings.llm_profile == "small",
        )  # fmt: skip


def now() -> datetime:
    """The clock of the process."""
    return datetime.now(UTC)


def _flow_limits(settings: Settings, trusted_link_hosts: frozenset[str] = frozenset()) -> FlowLimits:
    named = settings.model_dump(include=FlowLimits.model_fields.keys() & type(settings).model_fields.keys())
    named["trusted_link_hosts"] = trusted_link_hosts
    return FlowLimits(**named, rules=settings.resolution_rules, weights=settings.resolution_weights)
