"""The worker's side of a remote agent: restores what was ordered, does it, and leaves the outcome for the leader."""

import logging

from app.agents.handoff import account_of, pack_outcome, unpack_order
from app.agents.run import StepRunner
from app.agents.step import StepOrder, last_events, stored_result
from app.domain.tasks import HandedStep, TaskStatus
from app.errors import AppError, StaleAttempt
from app.events import AgentResult, NavigationError
from app.reasoning.budget import Ledger, charged_to
from app.tasks.run import TaskRun
from app.tasks.steps import StepRegistry
from app.telemetry import counting_cache_use

UNEXPECTED = "Tool failed unexpectedly"
_log = logging.getLogger(__name__)


class StepService:
    """Does steps that leaders elsewhere handed out, with the rights of whoever asked."""

    def __init__(self, runner: StepRunner, steps: StepRegistry, ledger: Ledger):
        self._runner = runner
        self._steps = steps
        self._ledger = ledger

    async def run(self, run: TaskRun, claimed: HandedStep) -> None:
        """Take a step to its end; `Worker` calls it. Raises `StaleAttempt` when it was lost, `AppError` when the
        database is away: then it is handed out again."""
        try:
            await self._carry_out(unpack_order(claimed, run), claimed)
        except (AppError, StaleAttempt):
            raise
        except Exception:  # a step that cannot be read or told fails here as it would fail everywhere
            _log.exception("step_failed", extra={"task_id": str(run.task.task_id), "agent": run.task.assignee_agent_id})
            await self._fail(run)

    async def _carry_out(self, order: StepOrder, claimed: HandedStep) -> None:
        account = account_of(claimed, order.run, self._ledger)
        with counting_cache_use() as caches, charged_to(account):
            outcome = await self._runner.carry_out(order, claimed)
        *before, last = last_events(order, outcome)
        for event in before:
            order.run.writer.append(event)
        await self._steps.finish(
            order.run,
            TaskStatus.COMPLETED if outcome.ok else TaskStatus.FAILED,
            result=stored_result(outcome),
            error_message=outcome.error.message if outcome.error else None,
            outcome=pack_outcome(outcome, account, caches),
            event=last,
        )

    async def _fail(self, run: TaskRun) -> None:
        """End a step without an outcome: its leader knows what that means."""
        task, node_id = run.task, str(run.task.request.get("node_id", ""))
        run.writer.append(NavigationError(node_id=node_id, error_code="TOOL_FAILED", message=UNEXPECTED))
        last = AgentResult(
            task_id=task.task_id, agent=task.assignee_agent_id or "", node_id=node_id, status="failed", answer=""
        )
        await self._steps.finish(run, TaskStatus.FAILED, result={}, error_message=UNEXPECTED, outcome="", event=last)
