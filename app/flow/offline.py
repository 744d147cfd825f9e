"""Questions that come while the database is away: chitchat and what is merely calculated are answered, nothing else.

Rights cannot be read then, so nothing that reads anything of the company is begun: the plan is made first, without
documents, and every tool in it must be one that reads nothing.
"""

from dataclasses import replace

from app.domain.plan import MATH_TOOL, ORCHESTRATOR, SUMMARY_TOOL, UNIT_TOOL, ChitchatPlan, Plan
from app.domain.principal import Principal
from app.domain.tasks import ChatRequest
from app.errors import AppError, ErrorCode
from app.flow.graph import DepartmentFlow
from app.sessions.away import MemoryAway
from app.tasks.run import TaskRun

_PURE_TOOLS = frozenset({MATH_TOOL, UNIT_TOOL, SUMMARY_TOOL})
"""They work on the question and on what other steps found."""
_PURE_SERVERS = ("math.", "date.")
RETRY_SECONDS = 5


class OfflineFlow:
    """A department flow without documents, history and memory."""

    def __init__(self, flow: DepartmentFlow):
        """`flow`: whose agents, tools and limits it has."""
        self._flow = DepartmentFlow(replace(flow.ports, memory=MemoryAway()), flow.limits)
        self._agents = flow.ports.agents

    async def demand_pure(self, principal: Principal, request: ChatRequest) -> None:
        """Plan the question. Raises `AppError` (503) when anything in it would have to be read."""
        if request.files:
            raise _refused()
        if not self._is_pure(await self._flow.dry_run(principal, request)):
            raise _refused()

    async def run(self, run: TaskRun) -> None:
        """Take a run to its terminal event."""
        await self._flow.run(run)

    def _is_pure(self, plan: Plan | ChitchatPlan) -> bool:
        if isinstance(plan, ChitchatPlan):
            return True
        return all(self._is_pure_step(planned.step.agent, planned.step.tool) for planned in plan.steps)

    def _is_pure_step(self, agent: str, tool: str) -> bool:
        is_here = agent == ORCHESTRATOR or agent not in self._agents.remote
        return is_here and (tool in _PURE_TOOLS or tool.startswith(_PURE_SERVERS))


def _refused() -> AppError:
    detail = (
        "The database cannot be reached, so nothing of the company can be read now. Small talk and pure calculations "
        "are answered meanwhile; ask the rest again shortly."
    )
    return AppError(ErrorCode.DATABASE_UNAVAILABLE, detail, status=503, retry_after_seconds=RETRY_SECONDS)
