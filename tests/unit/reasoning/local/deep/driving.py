"""The mind of the deep flow with the tools it asks for: the loop of the graph without graph, database or queue."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from app.domain.deep import Asked, Critique, DeepPlan, Observation, Report, Research, Working
from app.domain.knowledge import Finding, Language
from app.errors import ToolFailed
from app.reasoning.deep import (
    Action,
    ActRequest,
    CritiqueRequest,
    DecomposeRequest,
    Found,
    TellRequest,
    ToolOffer,
    ToolWish,
)
from app.reasoning.local import LocalReasoner
from app.reasoning.local.deep import LocalDeepReasoner
from app.tools.base import Tool, ToolCall
from app.tools.math import MathTool
from app.tools.python import PythonTool
from app.tools.sandbox import Sandbox
from app.tools.servers.date import OPERATIONS as DAYS
from app.tools.servers.math import OPERATIONS as SUMS
from app.tools.unit import UnitTool
from tests import factories
from tests.unit.reasoning.local.conftest import request, seed_passages

TODAY = date(2026, 11, 22)
_LEFT = 6


def offers(*names: str) -> tuple[ToolOffer, ...]:
    return tuple(ToolOffer(name=name, description=name) for name in names)


RESEARCHER = offers("rag_tool", "log_tool")
EXPERT = offers(
    "math_tool", "math.mcp_evaluate", "unit_tool", "python_tool", "date.add", "date.add_working_days",
    "date.difference",
    "date.weekday", "date.working_days", "date.today", "date.parse",
)  # fmt: skip


@dataclass
class Driver:
    """Answers questions from some of the demonstration's documents."""

    reasoner: LocalReasoner
    sandbox: Sandbox
    documents: tuple[str, ...] = ()
    mind: LocalDeepReasoner = field(default_factory=LocalDeepReasoner)

    async def ask(self, question: str, language: Language = "vi", style: str = "short") -> Report:
        """A whole run: plan, research step by step, expert, finalizer."""
        asked = Asked.model_validate({"question": question, "language": language, "style": style})
        plan = await self.plan(asked)
        research = [await self.research(asked, plan, at) for at in range(1, len(plan.research) + 1)]
        working, critiques = await self.work(asked, plan, research)
        failure = "" if critiques[-1].approved else "expert"
        return await self.mind.tell(
            TellRequest(
                asked=asked,
                plan=plan,
                research=tuple(research),
                working=working,
                critiques=tuple(critiques),
                failure=failure,
            )
        )

    async def plan(self, asked: Asked) -> DeepPlan:
        wanted = DecomposeRequest(
            asked=asked, researcher=RESEARCHER if self.documents else (), expert=EXPERT, today=TODAY
        )
        return await self.mind.decompose(wanted)

    async def research(self, asked: Asked, plan: DeepPlan, step: int) -> Research:
        seen: list[Observation] = []
        while True:
            action = await self._act("researcher", asked, plan, step, seen)
            if isinstance(action, ToolWish):
                seen.append(await self._search(action, asked.language))
                continue
            assert isinstance(action, Found)
            found = [finding for one in seen for finding in one.findings]
            return Research(
                step=step, task=plan.research[step - 1], text=action.text, found=action.found,
                findings=tuple(found[at] for at in action.findings), observations=tuple(seen),
            )  # fmt: skip

    async def work(self, asked: Asked, plan: DeepPlan, research: Sequence[Research]) -> tuple[Working, list[Critique]]:
        seen: list[Observation] = []
        critiques: list[Critique] = []
        previous: Working | None = None
        for _ in range(3):
            feedback = critiques[-1].feedback if critiques else ""
            while True:
                action = await self._act("expert", asked, plan, 0, seen, research, feedback, previous)
                if not isinstance(action, ToolWish):
                    break
                seen.append(await self._call(action, asked, research, seen))
            assert not isinstance(action, Found)
            previous = action.working
            critiques.append(
                await self.mind.criticise(
                    CritiqueRequest(of="expert", asked=asked, plan=plan, earlier=tuple(research), working=previous)
                )
            )
            if critiques[-1].approved:
                break
        assert previous is not None
        return previous, critiques

    async def _act(
        self, role: str, asked: Asked, plan: DeepPlan, step: int, seen: Sequence[Observation],
        research: Sequence[Research] = (), feedback: str = "", previous: Working | None = None,
    ) -> Action:  # fmt: skip
        return await self.mind.next_action(
            ActRequest.model_validate({
                "role": role, "asked": asked, "plan": plan, "step": step, "research": tuple(research),
                "task": plan.research[step - 1] if step else "\n".join(plan.logic), "feedback": feedback,
                "tools": RESEARCHER if role == "researcher" else EXPERT, "observations": tuple(seen),
                "previous": previous, "today": TODAY, "calls_left": max(_LEFT - len(seen), 0),
            })
        )  # fmt: skip

    async def _search(self, wish: ToolWish, language: Language) -> Observation:
        found = await self.reasoner.answer(request(wish.query, seed_passages(*self.documents), language))
        findings = (found,) if found.found else ()
        return Observation(tool=wish.tool, query=wish.query, text=found.answer, findings=findings)

    async def _call(
        self, wish: ToolWish, asked: Asked, research: Sequence[Research], seen: Sequence[Observation]
    ) -> Observation:
        if wish.tool.startswith(("date.", "math.")):
            return _of_server(wish)
        call = _call(wish, asked, [finding for one in research for finding in one.findings], seen)
        try:
            result = await self._tool(wish.tool)(call)
        except ToolFailed as failed:
            return Observation(tool=wish.tool, query=wish.query, text=str(failed), failed=True)
        value = result.value.get("result") if isinstance(result.value, dict) else None
        return Observation(
            tool=wish.tool,
            query=wish.query,
            text=result.text,
            value="" if value is None else str(value),
            findings=result.findings,
        )

    def _tool(self, name: str) -> Tool:
        made: dict[str, Tool] = {
            "math_tool": MathTool(self.reasoner),
            "python_tool": PythonTool(self.reasoner, self.sandbox),
            "unit_tool": UnitTool(self.reasoner),
        }
        return made[name]


def _of_server(wish: ToolWish) -> Observation:
    """What the servers of dates and sums answer, without a process."""
    server, _, name = wish.tool.partition(".")
    operation = next(one for one in (DAYS if server == "date" else SUMS) if one.name == name)
    answer = operation.answer(dict(wish.arguments))
    result: Mapping[str, object] = answer.structured_content or {}
    text = "".join(getattr(part, "text", "") for part in answer.content)
    value = str(result.get("result", ""))
    return Observation(tool=wish.tool, query=wish.query, text=text, value=value, failed=bool(answer.is_error))


def _call(wish: ToolWish, asked: Asked, findings: Sequence[Finding], seen: Sequence[Observation]) -> ToolCall:
    return ToolCall(
        principal=factories.principal(),
        agent="expert",
        departments=(),
        message=wish.query,
        queries=((1, wish.query),),
        refined_query=wish.query,
        language=asked.language,
        findings=tuple(findings),
        now=factories.NOW,
        until=asyncio.get_running_loop().time() + 30,
        given=wish.arguments or None,
        asked=asked.question,
        worked_out=tuple(one.value for one in seen if one.value),
    )
