"""One tool call of the researcher or the expert: a step of the run like any other, and what the agent sees of it."""

import asyncio
from dataclasses import replace
from uuid import uuid5

from app.agents.registry import Role, UsableTool
from app.agents.spec import new_step
from app.agents.step import StepOrder, StepOutcome
from app.domain.deep import Observation
from app.domain.knowledge import Finding
from app.domain.plan import FILES_TOOL, LOG_TOOL, OUTWARD_TOOLS, RAG_TOOL, RETRIEVAL_TOOLS, PlannedStep, Step
from app.domain.tasks import PrivateContext
from app.flow.deep.context import DeepContext, Stopped
from app.flow.deep.state import DeepState
from app.flow.resolve import weigh
from app.flow.wording import SENTENCES
from app.reasoning.deep import ToolWish
from app.text.language import words

_INSIDE = frozenset({RAG_TOOL, LOG_TOOL, FILES_TOOL})


def carries_out(wish: ToolWish, state: DeepState) -> bool:
    """Whether a wish could tell somebody outside what was read inside."""
    if wish.tool not in OUTWARD_TOOLS or not any(one.tool in _INSIDE for one in state.observations):
        return False
    plan = state.plan
    known = (state.said, *(plan.research + plan.logic if plan else ()))
    return not set(words(" ".join((wish.query, *wish.arguments.values())))) <= set(words(" ".join(known)))


async def use(context: DeepContext, role: Role, key: str, deep: DeepState, wish: ToolWish) -> DeepState:
    """Call the tool that is wished for; the state with what it gave, or that it was refused. Raises `Stopped`,
    `StaleAttempt`."""
    tool = context.usable(role).get(wish.tool)
    if tool is None or carries_out(wish, deep):
        text = SENTENCES["refused_calls"][deep.asked.language]["unknown" if tool is None else "outside"]
        return _observed(deep, key, Observation(tool=wish.tool, query=wish.query, text=text, failed=True))
    number = deep.calls.get(role, 0) + 1
    deep = deep.but(calls={**deep.calls, role: number})
    outcome = await context.ports.steps.run(await _ordered(context, role, tool, deep, wish))
    context.run.outcomes.append(outcome)
    context.trace.step(outcome, ())
    return await _taken_in(context, key, deep, wish, outcome)


async def _ordered(context: DeepContext, role: Role, tool: UsableTool, deep: DeepState, wish: ToolWish) -> StepOrder:
    """The step, registered as a child task."""
    run, planned = context.run, _planned(context, role, deep, wish)
    seconds = context.work_until - asyncio.get_running_loop().time()
    if seconds <= 0:
        raise Stopped("deadline")
    needs = PrivateContext(
        message=planned.step.message, queries=planned.queries, refined_query=wish.query, language=deep.asked.language,
        as_of=deep.searched_on,
    )  # fmt: skip
    spec, root = context.ports.solvers.spec(role), run.run.task
    task_id = uuid5(root.task_id, f"{run.run.attempt}:deep:{planned.number}")
    row = new_step(root, task_id, planned, spec.token_limit, needs)
    await run.ports.registry.steps.register(run.run, [row], {role: [needs]})
    order = run.order(planned, spec, task_id, needs, _known(deep), seconds)
    return replace(
        order, departments=tool.departments, given=wish.arguments or None, asked=deep.said, worked_out=_worked_out(deep)
    )


def _planned(context: DeepContext, role: Role, deep: DeepState, wish: ToolWish) -> PlannedStep:
    """The call as a step named ``researcher#rag:1``; what is shown of it has no address that the asker did not name."""
    total, number = sum(deep.calls.values()), deep.calls[role]
    guard = context.guard(deep)
    return PlannedStep(
        number=total,
        tier=total,
        step=Step(
            agent=role, tool=wish.tool, message=guard.clean(wish.query) or wish.tool,
            purpose=guard.clean(wish.why) or None,
        ),
        queries=((number, wish.query),),
        node_id=f"{role}#{wish.tool.removesuffix('_tool')}:{number}",
    )  # fmt: skip


def _known(deep: DeepState) -> tuple[Finding, ...]:
    return tuple(finding for one in deep.observations for finding in one.findings if finding.found)


def _worked_out(deep: DeepState) -> tuple[str, ...]:
    """What tools computed so far: figures of theirs may be calculated with."""
    computed = [finding.answer for finding in _known(deep) if not finding.quotes]
    return (*computed, *(one.value for one in deep.observations if one.value and not one.failed))


async def _taken_in(context: DeepContext, key: str, deep: DeepState, wish: ToolWish, outcome: StepOutcome) -> DeepState:
    """The outcome as the agent sees it, without what other sources overrule."""
    if outcome.result is None:
        reason = outcome.error.message if outcome.error else ""
        return _observed(deep, key, Observation(tool=outcome.tool, query=wish.query, text=reason, failed=True))
    result, text = outcome.result, outcome.result.text
    findings = tuple(finding for finding in result.findings if finding.found)
    if outcome.tool in RETRIEVAL_TOOLS and findings:
        weighed = await context.ask(weigh(context.run, findings, deep.asked.language))
        conflicts = (verdict.conflict for verdict in weighed.verdicts)
        deep = deep.but(verdicts=(*deep.verdicts, *conflicts), points=(*deep.points, *weighed.points))
        if weighed.settled != findings:
            findings = tuple(finding for finding in weighed.settled if finding.found)
            text = "\n".join(finding.answer for finding in findings)
    elif not findings and result.findings:
        text = ""
    seen = Observation(tool=outcome.tool, query=wish.query, text=text, value=_value(outcome), findings=findings)
    return _observed(deep, key, seen)


def _value(outcome: StepOutcome) -> str:
    """The bare result, where the tool has one: what it is called after (``date.weekday``), else its ``result``."""
    told, asked_for = outcome.result.value if outcome.result else None, outcome.tool.rpartition(".")[2]
    bare = told.get(asked_for, told.get("result")) if isinstance(told, dict) else None
    return str(bare) if isinstance(bare, str | int | float) and not isinstance(bare, bool) else ""


def _observed(deep: DeepState, key: str, seen: Observation) -> DeepState:
    talk = deep.talk(key)
    return deep.with_talk(
        key, talk.model_copy(update={"observations": (*talk.observations, seen), "calls": talk.calls + 1})
    )
