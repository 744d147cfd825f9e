"""Asking every question of some datasets, each as its asker, with exactly that asker's rights.

The house is a port: this room knows no HTTP and picks no adapters. What was asked and brought in for the run is taken
away again afterwards, however it ends.
"""

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol
from uuid import UUID, uuid4

from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal, Scope, user_id_of
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.evaluation.dataset import Case, Dataset, refusal
from app.evaluation.judging import judge
from app.evaluation.observed import Observation, observed, shown_texts
from app.evaluation.question import OwnDocument, Question, Rights
from app.evaluation.report import Asked
from app.events import Event, TaskAvailable

Progress = Callable[[int, int, str], None]
"""How many are done, of how many, and what comes next."""


class KnownDocument(Record):
    """A document of a tenant, as far as judging needs it."""

    external_id: str
    url: str
    department: str
    scope: Scope


class House(Protocol):
    """What is evaluated. Every method does I/O and may raise `AppError`."""

    async def rights_of(self, user: str) -> Principal:
        """The stored rights of ``tenant/user``. Raises `AppError` NOT_FOUND."""

    async def known_documents(self, tenant: str) -> list[KnownDocument]:
        """Every document of a tenant. Raises `AppError` NOT_FOUND when there is no such tenant."""

    async def furnish(self, tenant: str, documents: Sequence[DocumentDraft], progress: Progress) -> None:
        """Make a tenant with these documents and nothing else."""

    async def clear(self, tenant: str) -> None:
        """Remove a tenant that was furnished, with everything in it."""

    def ask(
        self, principal: Principal, session_id: UUID | None, query: str, as_of: date | None
    ) -> AsyncIterator[Event]:
        """The events of one run up to its end; a session of None opens a new one, which the first event names."""

    async def forget(self, principal: Principal, session_ids: Sequence[UUID]) -> None:
        """Erase conversations."""


@dataclass
class _Tenant:
    """A tenant that is asked about."""

    name: str
    label: str
    """For people: throw-away tenants are named by their dataset."""
    documents: list[KnownDocument] = field(default_factory=list)
    urls: dict[str, str] = field(default_factory=dict)
    """Address by address and by external id."""

    def set_documents(self, documents: list[KnownDocument]) -> None:
        self.documents = documents
        self.urls = {one.external_id: one.url for one in documents} | {one.url: one.url for one in documents}

    def forbidden(self, principal: Principal) -> frozenset[str]:
        """Addresses under which this caller may read nothing."""
        readable = {one.url for one in self.documents if principal.may_read(one.scope, one.department)}
        return frozenset(one.url for one in self.documents) - readable


@dataclass(frozen=True)
class _Ready:
    """A question with everything it needs."""

    dataset: str
    question: Question
    principal: Principal
    tenant: _Tenant


class Evaluation:
    """One run over a house. `prepare` refuses before anything was asked, `run` asks; used as a context it tidies up."""

    def __init__(self, house: House, datasets: Sequence[Dataset]):
        self._house, self.datasets = house, datasets
        self._id = uuid4().hex[:12]
        self._tenants: dict[str, _Tenant] = {}
        self._ready: list[_Ready] = []
        self._sessions: dict[Principal, list[UUID]] = defaultdict(list)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Evaluation":
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._stack:
            for principal, sessions in self._sessions.items():
                await self._house.forget(principal, sessions)

    @property
    def questions(self) -> int:
        """How many will be asked."""
        return sum(len(dataset.cases) for dataset in self.datasets)

    async def prepare(self, progress: Progress) -> None:
        """Settle every asker, tenant and document. Raises `AppError` that lists what cannot be had, by line."""
        faults: list[str] = []
        for dataset in self.datasets:
            await self._furnish(dataset, progress)
            for case in dataset.cases:
                try:
                    self._ready.append(await self._settle(dataset, case.question))
                except AppError as error:
                    faults.append(f"{case.place}: {error.detail}")
        if faults:
            raise refusal(faults)

    async def run(self, concurrency: int, progress: Progress) -> list[Asked]:
        """Ask everything, `concurrency` questions at a time; in the datasets' order."""
        places, done = asyncio.Semaphore(concurrency), 0

        async def ask(ready: _Ready) -> Asked:
            nonlocal done
            async with places:
                asked = await self._ask(ready)
            done += 1
            progress(done, len(self._ready), ready.question.question)
            return asked

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(ready)) for ready in self._ready]
        return [task.result() for task in tasks]

    async def _furnish(self, dataset: Dataset, progress: Progress) -> None:
        """A tenant for each corpus that is asked about."""
        wanted = {case.question.corpus for case in dataset.cases if case.question.is_in_own_tenant}
        for corpus in sorted(wanted):
            name = self._own_name(dataset.name, corpus)
            self._stack.push_async_callback(self._house.clear, name)
            await self._house.furnish(name, [one.draft() for one in _documents(dataset, corpus)], progress)

    async def _settle(self, dataset: Dataset, question: Question) -> _Ready:
        if isinstance(question.asker, Rights):
            name = question.asker.tenant or self._own_name(dataset.name, question.corpus)
            stored = question.asker.principal(name)
        else:
            name = question.asker.partition("/")[0]
            stored = await self._house.rights_of(question.asker)
        own = question.is_in_own_tenant
        tenant = await self._tenant(name, f"{dataset.name} {question.corpus}".strip() if own else name)
        if unknown := sorted(question.expected.names - tenant.urls.keys()):
            detail = f"expected: {tenant.label} has no document {unknown[0]!r}."
            raise AppError(ErrorCode.NOT_FOUND, detail, status=404)
        # The rights are the asker's; the rows of the run belong to nobody, and no question remembers another.
        nobody = user_id_of(stored.tenant_id, f"evaluation-{self._id}-{dataset.name}-{question.id}")
        principal = stored.model_copy(update={"user_id": nobody})
        return _Ready(dataset.name, question, principal, tenant)

    async def _tenant(self, name: str, label: str) -> _Tenant:
        if name not in self._tenants:
            tenant = _Tenant(name, label)
            tenant.set_documents(await self._house.known_documents(name))
            self._tenants[name] = tenant
        return self._tenants[name]

    def _own_name(self, dataset: str, corpus: str) -> str:
        of = hashlib.sha256(f"{dataset}\n{corpus}".encode()).hexdigest()[:8]
        return f"evaluation-{self._id}-{of}"

    async def _ask(self, ready: _Ready) -> Asked:
        observation, texts = await self._observe(ready)
        question = ready.question
        verdict = judge(
            question, observation, urls=ready.tenant.urls, texts=texts,
            forbidden=ready.tenant.forbidden(ready.principal),
        )  # fmt: skip
        # The documents were asked about, not part of what is told; they may be large.
        told = question.model_copy(update={"documents": ()})
        return Asked(
            dataset=ready.dataset, question=told, language=question.told_in, asker=question.asker_name,
            observation=observation, **dict(verdict),
        )  # fmt: skip

    async def _observe(self, ready: _Ready) -> tuple[Observation, list[tuple[str, str]]]:
        """The observation of the question itself, and all that its conversation told."""
        session_id: UUID | None = None
        events: list[Event] = []
        texts: list[tuple[str, str]] = []
        clock = time.perf_counter()
        try:
            for query in (*ready.question.history, ready.question.question):
                events, clock = [], time.perf_counter()
                async for event in self._house.ask(ready.principal, session_id, query, ready.question.as_of):
                    if isinstance(event, TaskAvailable) and session_id is None:
                        session_id = event.session_id
                        self._sessions[ready.principal].append(session_id)
                    events.append(event)
                texts += shown_texts(events)
        except AppError as error:
            seconds = time.perf_counter() - clock
            told = f"{error.code.value}: {error.detail}"
            return Observation(outcome="failed", seconds=seconds, error=told), [*texts, ("error", told)]
        return observed(events, time.perf_counter() - clock), texts


def _documents(dataset: Dataset, corpus: str) -> list[OwnDocument]:
    """The documents of a corpus, each once."""
    cases: list[Case] = [case for case in dataset.cases if case.question.corpus == corpus]
    return list({one.name: one for case in cases for one in case.question.documents}.values())
