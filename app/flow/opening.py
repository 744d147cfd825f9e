"""Opening a run: who asks what, in which conversation, until when and on whose account; the same for every flow."""

import asyncio
import time
from uuid import UUID

from app.agents.monitor import RunMonitor
from app.domain.principal import Principal
from app.domain.tasks import ChatRequest, Message, Recollection
from app.domain.zones import zone_named
from app.flow.remembered import AnswerMemory, Circumstances, fingerprint, fingerprint_of_agents
from app.flow.state import RESERVE_SHARE, Asking, FlowLimits, Ports, RunContext
from app.flow.trace import Trace
from app.reasoning.budget import Account
from app.tasks.run import TaskRun
from app.telemetry import CacheUse


class Opening:
    """Makes the contexts of one flow's runs."""

    def __init__(self, ports: Ports, limits: FlowLimits):
        self.ports = ports
        self.limits = limits
        self._memory = _memory(ports, limits)

    async def context(self, run: TaskRun, caches: CacheUse) -> RunContext:
        """The world of a claimed run; reads the conversation it stands in."""
        request = ChatRequest.model_validate(run.task.request)
        known = await self.recall(run.principal, run.task.session_id, request)
        now = self.ports.now()
        limit_seconds = self.limits.task_deadline_ms / 1000
        if run.task.deadline is not None:
            limit_seconds = min(limit_seconds, max((run.task.deadline - now).total_seconds(), 0.0))
        account = self.account(run.principal, run.task.task_id, limit_seconds)
        listener = self.ports.memory.listener(run.principal, run.task.session_id, run.task.task_id)
        listener.on_message(Message(role="user", content=request.query))
        return RunContext(
            ports=self.ports,
            limits=self.limits,
            run=run,
            asking=await self.asking(run.principal, request, known),
            deadline=asyncio.get_running_loop().time() + limit_seconds,
            trace=Trace(self.ports.now, caches, account.doings, _monitor_of(run)),
            memory=self._memory,
            account=account,
            listener=listener,
        )

    async def recall(self, principal: Principal, session_id: UUID, request: ChatRequest) -> Recollection:
        """What is known of the conversation a question stands in; a history the caller gave counts instead of ours."""
        return await self.ports.memory.recall(principal, session_id, request.query, request.history_chat)

    async def asking(self, principal: Principal, request: ChatRequest, known: Recollection) -> Asking:
        """A question with its asker, on the day it is in the asker's zone."""
        time_zone = await self.ports.clock.zone_of(principal)
        today = self.ports.now().astimezone(zone_named(time_zone)).date()
        return Asking(principal, request, known.history, today, time_zone, known.active_agent)

    def account(self, principal: Principal, run_id: UUID, limit_seconds: float) -> Account:
        """Models have to be done a little before the run, so that the rules can still answer."""
        now = asyncio.get_running_loop().time()
        return Account(principal, run_id, now + limit_seconds * (1 - RESERVE_SHARE), self.ports.ledger)


def _monitor_of(run: TaskRun) -> RunMonitor:
    monitor = RunMonitor()
    run.writer.heard_by(monitor.hear)
    return monitor


def _memory(ports: Ports, limits: FlowLimits) -> AnswerMemory:
    """A memory of the flow's own: no other flow, with other tools or settings, ever reads it."""
    return AnswerMemory(
        Circumstances(
            space=ports.corpus.space,
            mind=ports.reasoner.identity,
            agents=fingerprint_of_agents(ports.agents),
            limits=fingerprint(limits.model_dump_json()),
        ),
        ttl_seconds=limits.cache_ttl_seconds,
        timer=time.monotonic,
    )
