"""Write what a run found: outputs (§3) and quality (§4.1, §7) in the seed's shapes, and the flow's own sentences.

Progress (§9.2) is of node ``execute_planning``, from 75 when the plan is ready to 95 when all ran. The report is the
Synthesizer's: what the pools computed, as Markdown, a section a pool and a line an operation.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import JsonValue

from app.agents.registry import AgentRegistry
from app.agents.step import StepOutcome
from app.domain.answer import (
    AgentOutput,
    Completeness,
    ContentQuality,
    DomainMatch,
    PartialResult,
    QueryAnswer,
    Recency,
    to_json,
)
from app.domain.conflicts import FACTORS, Conflict
from app.domain.knowledge import Finding, Language, Quote
from app.domain.plan import ORCHESTRATOR, Plan, PlannedStep
from app.events import Progress

SENTENCES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ACRONYM, _RANKED = 2, 5
MOST_READ = 12
"""Passages of all departments that an answer is written from."""
_TOLD_DIFFERENCE = 0.05
"""A factor is named as a reason when it differs at least this much."""


def reason_for(conflict: Conflict, language: Language) -> str:
    """Why one source beat the other: the rule that decided, else the factors in which it leads, largest lead first."""
    named = [conflict.rule] if conflict.rule != "weighted_scoring" else _leads(conflict) or ["even"]
    return ", ".join(_filled(SENTENCES["reasons"][language][name], conflict) for name in named)


def preference_for(conflict: Conflict, language: Language) -> str:
    """The sentence ``reasoning`` begins with, in the seed's form (§5)."""
    leads, winner = _leads(conflict), conflict.winner
    by_rule = conflict.rule != "weighted_scoring"
    named = [conflict.rule] if by_rule else [name for name in FACTORS if name in leads and name != "domain"]
    traits = ", ".join(_filled(SENTENCES["traits"][language][name], conflict) for name in named)
    occasions = SENTENCES["occasions"][language]
    named_as = winner.department.upper() if len(winner.department) <= _ACRONYM else winner.department
    told: str = SENTENCES["preference"][language].format(
        who=SENTENCES["who"][language].get(winner.kind) or named_as,
        traits=f" ({traits})" if traits else "",
        occasion=occasions.get(winner.department, occasions["other"]) if "domain" in leads and not by_rule else "",
    )
    return told


def _leads(conflict: Conflict) -> list[str]:
    mine, theirs = conflict.winner.factors, conflict.loser.factors
    leads = sorted(((mine[name] - theirs[name], name) for name in FACTORS), reverse=True)
    return [name for lead, name in leads if lead >= _TOLD_DIFFERENCE]


def _filled(text: str, conflict: Conflict) -> str:
    side, decided = conflict.winner, conflict.decided_on
    return text.format(department=side.department, scope=side.scope, since=side.effective.date(), decided=decided)


def as_of_lead(day: date, language: Language) -> str:
    """The line above an answer from the documents of another day."""
    return str(SENTENCES["as_of"][language].format(day=day))


def failure_message(agent: str, tool: str) -> str:
    """The seed's error sentence (§6)."""
    return f"{agent.upper() if len(agent) <= 2 else agent.capitalize()} agent failed to execute {tool}"


DEADLINE_MESSAGE = "The run did not end within its deadline"


NODE = "execute_planning"
_PLAN_READY, ALL_DONE = 75, 95


def percentage(done: int, total: int) -> float | int:
    """Progress after `done` of `total` steps, one decimal, whole numbers written as such: 75, 81.7, 88.3, 95."""
    value = round(_PLAN_READY + (ALL_DONE - _PLAN_READY) * done / total, 1)
    return int(value) if value.is_integer() else value


def plan_ready_progress(steps: Sequence[PlannedStep]) -> Progress:
    """The plan stands; its steps are listed."""
    return _progress(
        "plan_ready",
        _PLAN_READY,
        "Execution plan is ready",
        plan_summary={
            "total_tasks": len(steps),
            "tasks": [{"step_number": s.number, **_named(s), "message": s.step.message} for s in steps],
        },
    )


def step_begun_progress(step: PlannedStep, done: int, total: int, *, least: float = 0) -> Progress:
    """A step begins. `least`: what was shown before, so that steps that came later take nothing back."""
    message = f"Task {step.number}/{total}: {step.step.label}"
    return _progress("executing_task", max(percentage(done, total), least), message, current_task=_named(step))


def step_ended_progress(step: PlannedStep, done: int, total: int, *, ok: bool, least: float = 0) -> Progress:
    """A step ended; `done` counts it. `least`: see `step_begun_progress`."""
    status = "completed" if ok else "failed"
    message = f"{status.capitalize()} {done}/{total}: {step.step.label}"
    return _progress(
        f"task_{status}", max(percentage(done, total), least), message,
        **{f"{status}_task": {**_named(step), "status": status}},
    )  # fmt: skip


def all_ran_progress(outputs: Sequence[AgentOutput]) -> Progress:
    """Every step ended; the agents' outputs follow (§3)."""
    return _progress(
        "ready_for_resolution", ALL_DONE, "All tasks completed, proceeding to final response",
        agent_responses=[to_json(output) for output in outputs],
    )  # fmt: skip


def _named(step: PlannedStep) -> dict[str, str]:
    return {"agent": step.step.agent, "tool": step.step.tool, "purpose": step.step.label}


def _progress(status: str, percent: float, message: str, **rest: Any) -> Progress:
    output = {"processing_status": status, "progress_percentage": percent, "progress_message": message, **rest}
    return Progress(node=NODE, output=output)


_DECIMAL = re.compile(r"-?\d+")
_PLAIN = re.compile(r"[\w:+.,/ -]{1,80}")
"""A number, a day, a name: a result that says more is told in the answer, where its links are checked."""


def findings_of(outcomes: Sequence[StepOutcome]) -> tuple[Finding, ...]:
    """The agents' findings in plan order, one per agent and query; a later tool's finding replaces an empty one."""
    kept: dict[tuple[str, int], Finding] = {}
    for outcome in sorted(outcomes, key=lambda o: o.step.number):
        for finding in outcome.result.findings if outcome.result else ():
            key = (finding.agent, finding.index)
            if key not in kept or (finding.found and not kept[key].found):
                kept[key] = finding
    return tuple(kept.values())


def best_read(outcomes: Sequence[StepOutcome]) -> tuple[Quote, ...]:
    """The best passages of all that was read, each once: of every query in turn, over all agents by the reciprocal
    ranks of the reader's chance, the vectors' likeness and the words found."""
    queries: dict[str, dict[UUID, Quote]] = {}
    for outcome in sorted(outcomes, key=lambda one: one.step.number):
        for finding in outcome.result.findings if outcome.result else ():
            queries.setdefault(finding.query, {}).update({quote.passage.chunk_id: quote for quote in finding.read})
    turns = zip_longest(*(_by_all([*read.values()]) for read in queries.values()))
    chosen = {quote.passage.chunk_id: quote for turn in turns for quote in turn if quote}
    return tuple(chosen.values())[:MOST_READ]


def _by_all(read: Sequence[Quote]) -> list[Quote]:
    orders = [
        sorted(read, key=lambda quote: -quote.score), sorted(read, key=lambda quote: -quote.passage.similarity),
        sorted(read, key=lambda quote: -quote.passage.text_rank),
    ]  # fmt: skip
    places = [{id(quote): place for place, quote in enumerate(order)} for order in orders]
    return sorted(read, key=lambda quote: -sum(1 / (_RANKED + place[id(quote)]) for place in places))


def agent_outputs(outcomes: Sequence[StepOutcome]) -> tuple[AgentOutput, ...]:
    """What each agent found, in the seed's shape (§3)."""
    findings = findings_of(outcomes)
    agents = dict.fromkeys(o.step.step.agent for o in outcomes if o.step.step.agent != ORCHESTRATOR)
    return tuple(
        AgentOutput(
            agent=agent,
            queries=tuple(
                QueryAnswer(
                    index=one.index, query=one.query, context=one.context, answer=one.answer, evidence=one.evidence
                )
                for one in findings
                if one.agent == agent
            ),
            tool_trace=tuple(use for o in outcomes if o.step.step.agent == agent for use in o.calls),
        )
        for agent in agents
    )


def content_quality(
    outcomes: Sequence[StepOutcome], fallback_agents: Sequence[str], now: datetime
) -> dict[str, ContentQuality]:
    """How good each agent's sources were (§7)."""
    quality: dict[str, ContentQuality] = {}
    for output in agent_outputs(outcomes):
        answered = [query for query in output.queries if query.answer]
        dates = [evidence.created_at for query in answered for evidence in query.evidence]
        recency: Recency = recency_of(max(dates), now) if dates else "unknown"
        domain: DomainMatch = "none" if not answered else "general" if output.agent in fallback_agents else "perfect"
        completeness = completeness_of(len(answered), len(output.queries), with_context=bool(dates))
        quality[f"{output.agent}_agent"] = ContentQuality(
            completeness=completeness, recency=recency, domain_match=domain
        )
    return quality


def recency_of(moment: datetime, now: datetime) -> Recency:
    """The seed's recency bucket of a source's date (§4.1)."""
    age_days = (now - moment.astimezone(UTC)).days
    return "within_30_days" if age_days <= 30 else "within_90_days" if age_days <= 90 else "older"


def completeness_of(answered: int, asked: int, *, with_context: bool) -> Completeness:
    """Of the queries that were asked, those that were answered, with sources or without."""
    if answered == 0:
        return "none"
    if answered == asked:
        return "comprehensive"
    return "partial_with_context" if with_context else "partial"


def report_of(outcomes: Sequence[StepOutcome], agents: AgentRegistry) -> str:
    """``## Math Results:`` and ``- **sum**: 6.0`` below it; empty when no pool computed anything."""
    sections: dict[str, list[str]] = {}
    for outcome in sorted(outcomes, key=lambda one: one.step.number):
        agent = outcome.step.step.agent
        if outcome.result is None or agent not in agents.names or not agents.spec(agent).is_pool:
            continue
        kind = agents.spec(agent).type_of(outcome.tool) or outcome.tool
        lines = [f"- **{kind}**: {told}" for told in _results(outcome.result.value)]
        sections.setdefault(agent, []).extend(lines)
    return "\n\n".join(
        "\n".join([f"## {agent.replace('_', ' ').title()} Results:", *lines])
        for agent, lines in sections.items()
        if lines
    )


def _results(value: JsonValue) -> Iterator[str]:
    """What a step's results say in a word; several where it answered several queries."""
    for one in value if isinstance(value, list) else [value]:
        told = _result_text(one.get("result")) if isinstance(one, dict) else ""
        if told:
            yield told


def _result_text(result: JsonValue) -> str:
    """Exact decimals, which servers send as text, have at least one place; counts have none."""
    if isinstance(result, bool) or result is None:
        return "" if result is None else str(result).lower()
    if isinstance(result, int | float):
        return str(result)
    if not isinstance(result, str) or not _PLAIN.fullmatch(result):
        return ""
    return f"{result}.0" if _DECIMAL.fullmatch(result) else result


def ended_plan(plan: Plan, ended: Mapping[int, str], *, all_well: bool) -> dict[str, Any]:
    """A plan with the status of each step by its number; a step that is not named was cancelled."""
    written = plan.model_dump(mode="json")
    number = 0
    for tier in written["execution_flow"]["planning"]["tasks"][0].values():
        for step in tier:
            number += 1
            step["status"] = ended.get(number, "cancelled")
    written["execution_flow"]["planning"]["aggregate_status"] = "completed" if all_well else "failed"
    return written


def partial_results(outcomes: Sequence[StepOutcome]) -> dict[str, PartialResult]:
    """What each agent found, or why it found nothing (§6)."""
    findings = findings_of(outcomes)
    failed = {o.step.step.agent: o.error.message for o in reversed(outcomes) if o.error is not None}
    results: dict[str, PartialResult] = {}
    for agent in dict.fromkeys(o.step.step.agent for o in outcomes if o.step.step.agent != ORCHESTRATOR):
        answer = "\n".join(finding.answer for finding in findings if finding.agent == agent and finding.found)
        told = {"error": failed[agent]} if agent in failed else {"answer": answer}
        results[agent] = PartialResult(status="failed" if agent in failed else "success", **told)
    return results
