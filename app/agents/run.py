"""Run one step of a plan: claim, call the tool within its limits, validate, report.

It never raises for a failing tool, only for a lost claim on the run (`StaleAttempt`) and for cancellation.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.agents.registry import AgentRegistry
from app.agents.step import (
    StepError,
    StepOrder,
    StepOutcome,
    call_of,
    input_hash,
    last_events,
    output_hash,
    stored_result,
    task_event,
)
from app.domain.answer import ToolTrace
from app.domain.knowledge import Evidence, Finding, Language
from app.domain.plan import ORCHESTRATOR
from app.domain.tasks import ClaimedStep, TaskStatus
from app.errors import StaleAttempt, ToolFailed, ToolRetry
from app.events import RenavigateRequest, ToolRequest, ToolResponse, VerificationDone
from app.links import LinkGuard
from app.reasoning import Reasoner
from app.reasoning.budget import charged_to_step
from app.tasks.registry import TaskRegistry
from app.tools.base import Tool, Toolbox, ToolCall, ToolResult


def guard_of(
    asked: Sequence[str], findings: Sequence[Finding], language: Language, hosts: frozenset[str],
    evidence: Sequence[Evidence] = (), named: Iterable[str] = (),
) -> LinkGuard:  # fmt: skip
    """Addresses of evidence may stand, and those `named`; others only on hosts the operator trusts and where the asker
    or a source names them: what a model said about them vouches for nothing."""
    cited = [*named, *(one.url for finding in findings for one in finding.evidence)]
    known = [quote.passage.text for finding in findings for quote in finding.quotes]
    cited += [one.url for one in evidence]
    return LinkGuard(cited, language=language, known_text="\n".join((*asked, *known)), hosts=hosts)


def _without_unknown_links(result: ToolResult, language: Language, hosts: frozenset[str]) -> ToolResult:
    """The result with clean texts. Quotes stay literal: they are compared, not shown."""
    findings = []
    for one in result.findings:
        guard = guard_of([one.query], [one], language, hosts)
        told = {"answer": guard.clean(one.answer), "context": guard.clean(one.context)}
        findings.append(one.model_copy(update=told))
    guard = guard_of([one.query for one in result.findings], result.findings, language, hosts)
    return result.model_copy(update={"findings": tuple(findings), "text": guard.clean(result.text)})


def _reason_without_links(reason: str, call: ToolCall) -> str:
    """Why something was refused or failed, without any address: a model that has read documents may have put it so."""
    return LinkGuard((), language=call.language, known_text="\n".join(text for _, text in call.queries)).clean(reason)


_Reviewed = tuple[ToolResult, tuple[str, ...]]
"""A result without what its quotes do not support, and why that was left out."""
_BACKOFF_SECONDS = 0.05
_FIRST_SHARE = 0.7
_log = logging.getLogger(__name__)


class StepRunner:
    """Runs steps of any agent with the tools of one toolbox."""

    def __init__(
        self, registry: TaskRegistry, toolbox: Toolbox, reasoner: Reasoner, now: Callable[[], datetime],
        rng: random.Random | None = None, trusted_link_hosts: frozenset[str] = frozenset(),
    ):  # fmt: skip
        """`trusted_link_hosts`: see the setting of that name."""
        self._registry = registry
        self.toolbox = toolbox
        self._reasoner = reasoner
        self._now = now
        self._trusted_link_hosts = trusted_link_hosts
        self._rng = rng or random.Random()

    async def run(self, order: StepOrder) -> StepOutcome:
        """Run one step to its end and record it; raises `StaleAttempt` when the run was given to somebody else."""
        planned, writer = order.step, order.run.writer
        claimed = await self._registry.steps.claim(order.run.principal, order.task_id, planned.step.agent)
        if claimed is None:
            raise StaleAttempt(f"step {planned.node_id} is held by another run")
        writer.append(task_event(order, claimed.attempt))
        outcome = await self.carry_out(order, claimed)
        await self._registry.update_status(
            order.run.principal, order.task_id, claimed.attempt,
            TaskStatus.COMPLETED if outcome.ok else TaskStatus.FAILED,
            result=stored_result(outcome), error_message=outcome.error.message if outcome.error else None,
        )  # fmt: skip
        for event in last_events(order, outcome):
            writer.append(event)
        return outcome

    async def carry_out(self, order: StepOrder, claimed: ClaimedStep) -> StepOutcome:
        """Do a claimed step. What happens on the way is told in the journal, its end is left to the caller. Raises
        `StaleAttempt` when its session was erased or the run was lost."""
        if claimed.context is None:
            raise StaleAttempt(f"the session of step {order.step.node_id} was erased")
        until = asyncio.get_running_loop().time() + order.timeout_seconds
        call = call_of(order, claimed.instruction, claimed.context, until)
        with charged_to_step(order.step.step.agent, order.task_id):
            return await self._attempt(order, call)

    async def _attempt(self, order: StepOrder, call: ToolCall) -> StepOutcome:
        """The planned tool with its tries, then its alternative once."""
        started_at, clock = self._now(), time.perf_counter()
        name, doing = order.step.step.tool, _Doing(order, call, [])
        # A planned tool that hangs leaves time for its alternative.
        other = self.toolbox[name].alternative
        seconds = order.timeout_seconds * (1 if other is None else _FIRST_SHARE)
        ended = await self._tried(doing, name, seconds, order.max_retries)
        if isinstance(ended, StepError) and other in self.toolbox and call.seconds_left > 0:
            name, reason = str(other), f"{name} failed, trying {other}"
            order.run.writer.append(RenavigateRequest(node_id=order.step.node_id, reason=reason))
            ended = await self._tried(doing, name, call.seconds_left, 0)
        error = ended if isinstance(ended, StepError) else None
        result, rejections = (None, ()) if isinstance(ended, StepError) else ended
        return StepOutcome(
            step=order.step, tool=name, started_at=started_at, ended_at=self._now(), duration_ms=_ms_since(clock),
            input_hash=_input_hash(call, order.step.step.tool),
            output_hash=None if result is None else output_hash(result), result=result, error=error,
            calls=tuple(doing.calls), rejections=rejections,
        )  # fmt: skip

    async def _tried(self, doing: "_Doing", name: str, seconds: float, retries: int) -> _Reviewed | StepError:
        """A tool within its time, however it ends: every failure but a lost claim becomes an error."""
        clock = time.perf_counter()
        try:
            async with asyncio.timeout(seconds):
                return await self._with_retries(doing, self.toolbox[name], retries)
        except TimeoutError:
            error = StepError("deadline" if doing.order.deadline_binds else "timeout", "Tool timeout")
            self._respond(doing, name, "timeout", clock, None)
        except (ToolFailed, ToolRetry) as failure:
            error = StepError("tool_failed", _reason_without_links(str(failure), doing.call))
        except StaleAttempt:
            raise
        except Exception:  # a tool's bug must not take the other agents' answers with it
            _log.exception("tool_crashed", extra={"tool": name, "node_id": doing.order.step.node_id})
            error = StepError("exception", "Tool failed unexpectedly")
            self._respond(doing, name, "failed", clock, None)
        return error

    async def _with_retries(self, doing: "_Doing", tool: Tool, retries: int) -> _Reviewed:
        """Call a tool until it answers; `ToolRetry` is waited out with jittered, doubling pauses."""
        for tries_left in range(retries, -1, -1):
            try:
                return await self._call(doing, tool)
            except ToolRetry:
                if tries_left == 0:
                    raise
                pause = _BACKOFF_SECONDS * 2 ** (retries - tries_left)
                await asyncio.sleep(pause * self._rng.uniform(0.5, 1.5))
        raise AssertionError("unreachable: the last try returns or raises")

    async def _call(self, doing: "_Doing", tool: Tool) -> _Reviewed:
        """One call, announced and answered in the journal, its findings reviewed."""
        order, call, clock = doing.order, doing.call, time.perf_counter()
        await order.run.check()
        order.run.writer.append(
            ToolRequest(
                agent=order.step.step.agent, node_id=order.step.node_id, tool=tool.name,
                input_hash=_input_hash(call, tool.name), task_id=order.task_id,
            )
        )  # fmt: skip
        try:
            result = await tool(call)
            if not isinstance(result, ToolResult):
                raise ToolFailed(f"{tool.name} gave something that is no result")
            result, rejections = await self._review(order, call, result)
            result = _without_unknown_links(result, call.language, self._trusted_link_hosts)
        except (ToolRetry, ToolFailed):
            self._respond(doing, tool.name, "failed", clock, None)
            raise
        self._respond(doing, tool.name, "ok", clock, output_hash(result))
        return result, rejections

    def _respond(
        self, doing: "_Doing", tool: str, status: Literal["ok", "failed", "timeout"], clock: float, output: str | None
    ) -> None:
        step = doing.order.step
        hashes = {"input_hash": _input_hash(doing.call, tool)} | ({"output_hash": output} if output else {})
        made = ToolTrace(tool=tool, status=status, duration_ms=_ms_since(clock), **hashes)
        doing.calls.append(made)
        if status != "ok":
            told = {"tool": tool, "agent": step.step.agent, "status": status, "duration_ms": made.duration_ms}
            _log.warning("tool_called", extra={**told, "task_id": str(doing.order.task_id)})
        doing.order.run.writer.append(
            ToolResponse(
                agent=step.step.agent, node_id=step.node_id, tool=tool, status=status, duration_ms=made.duration_ms,
                output_hash=output, task_id=doing.order.task_id,
            )
        )  # fmt: skip

    async def _review(self, order: StepOrder, call: ToolCall, result: ToolResult) -> _Reviewed:
        """The result validator: a finding that its own quotes do not support counts as not found."""
        kept: list[Finding] = []
        rejections: list[str] = []
        told, node_id = order.run.writer.append, order.step.node_id
        for finding in result.findings:
            review = await self._reasoner.review_finding(finding, call.language) if finding.found else None
            if review is None or review.approved:
                kept.append(finding)
            else:
                rejections.append(_reason_without_links(review.reason, call))
                told(RenavigateRequest(node_id=node_id, reason=rejections[-1]))
                kept.append(finding.emptied())
            if review is not None and review.approved:
                told(VerificationDone(node_id=node_id, confidence=finding.confidence))
        return result.model_copy(update={"findings": tuple(kept)}), tuple(rejections)


@dataclass(frozen=True)
class _Doing:
    """A step under way."""

    order: StepOrder
    call: ToolCall
    calls: list[ToolTrace]


def _ms_since(clock: float) -> int:
    return round((time.perf_counter() - clock) * 1000)


def _input_hash(call: ToolCall, tool: str) -> str:
    return input_hash(tool, call.message, call.queries, call.findings, call.given)


class Dispatch:
    """Local or remote, as each agent's file says."""

    def __init__(self, agents: AgentRegistry, local: StepRunner, remote: Callable[[StepOrder], Awaitable[StepOutcome]]):
        self._agents = agents
        self._local = local
        self._remote = remote

    @property
    def toolbox(self) -> Toolbox:
        """See `Steps`."""
        return self._local.toolbox

    async def run(self, order: StepOrder) -> StepOutcome:
        """See `Steps`."""
        agent = order.step.step.agent
        if agent != ORCHESTRATOR and self._agents.spec(agent).remote:
            return await self._remote(order)
        return await self._local.run(order)
