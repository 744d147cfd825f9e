"""One attempt at a root task, from its claim to its terminal event, or to where it waits for a person."""

from collections.abc import Mapping
from contextlib import suppress

import structlog

from app.domain.answer import ErrorAnswer, to_json
from app.domain.tasks import TaskKind, TaskStatus
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import Redispatched, TaskFailed
from app.tasks.registry import TaskRegistry
from app.tasks.run import Handler, TaskRun

_log = structlog.get_logger(__name__)


class Attempts:
    """Takes claimed runs to their end, whatever their handlers do."""

    def __init__(self, registry: TaskRegistry, handlers: Mapping[TaskKind, Handler]):
        self._registry = registry
        self._handlers = handlers

    async def carry_out(self, run: TaskRun) -> bool:
        """Take a claimed task to its terminal event, or let it wait for a person; whether that was committed here. What
        goes wrong is told there, and raised only when it cannot be told."""
        try:
            await self._attempt(run)
        except StaleAttempt:
            _log.info("run_lost", task_id=run.task.task_id, attempt=run.attempt)
        except AppError as error:
            await self._fail_after(run, error, error.code, error.detail)
        except Exception as error:
            _log.exception("run_crashed", task_id=run.task.task_id, kind=run.task.kind, attempt=run.attempt)
            await self._fail_after(run, error, ErrorCode.INTERNAL, "The run failed unexpectedly.")
        finally:
            await run.writer.aclose()
        return run.writer.has_ended

    async def _attempt(self, run: TaskRun) -> None:
        tries = run.attempt - run.task.parked_attempt
        if run.attempt > 1 and (tries > 1 or not run.task.parked_attempt):
            run.writer.append(Redispatched(attempt=run.attempt))
        if tries > 1 + self._registry.max_redispatches:
            await self._fail(run, ErrorCode.AGENT_EXECUTION_FAILED, "The run was started too often without ending.")
            return
        if self._registry.is_overdue(run.task):
            await self._fail(run, ErrorCode.RUN_DEADLINE_EXCEEDED, "The run did not start before its deadline.")
            return
        await self._handle(run)
        if not run.writer.has_ended:
            raise RuntimeError("the handler ended without a terminal event")

    async def _handle(self, run: TaskRun) -> None:
        handler = self._handlers.get(run.task.kind)
        if handler is None:
            raise AppError(ErrorCode.INTERNAL, f"No worker handles tasks of kind {run.task.kind}.", status=500)
        await handler(run)

    async def _fail_after(self, run: TaskRun, error: Exception, code: ErrorCode, message: str) -> None:
        """Tell the failure, unless the database is what failed: then the run is left to its next attempt."""
        if code is ErrorCode.DATABASE_UNAVAILABLE:
            raise error
        with suppress(StaleAttempt):
            if not run.writer.has_ended:
                await self._fail(run, code, message)

    async def _fail(self, run: TaskRun, code: ErrorCode, message: str) -> None:
        answer = to_json(
            ErrorAnswer(
                error=True, error_code=code.value, error_message=message, partial_results={}, fallback_answer="",
                flow_action=(),
            )
        )  # fmt: skip
        ids = {"session_id": str(run.task.session_id), "task_id": str(run.task.task_id)}
        result = {**answer, **ids, "outcome": "failed"}
        await self._registry.finish(
            run, status=TaskStatus.FAILED, result=result, metadata={"outcome": "failed"}, error_message=message,
            event=TaskFailed(answer=result),
        )  # fmt: skip
