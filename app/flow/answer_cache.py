"""Keep whole answers of earlier runs: by what, when they may be kept, and what of them.

An answer belongs to one set of rights, one state of the corpus and one question.
"""

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from cachetools import TTLCache

from app.agents.step import StepOutcome
from app.domain.answer import AgentOutput, ExecutionMetadata, FlowAction
from app.domain.conflicts import Conflict
from app.domain.knowledge import Evidence
from app.domain.plan import CHANGES_TOOL, MATH_TOOL, RAG_TOOL, SUMMARY_TOOL, UNIT_TOOL, Plan
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.flow.wording import agent_outputs, report_of
from app.reasoning import AsOf, Composition
from app.retrieval.cache import Rights
from app.telemetry import count_lookups
from app.text.language import normalise

if TYPE_CHECKING:
    from app.flow.state import RunContext, RunState

MAX_ENTRIES = 1_000
"""Of some 10 to 30 kB each; the oldest go first."""


@dataclass(frozen=True)
class AnswerKey:
    """All an answer depends on beside what never changes in a flow: its vectors, models, prompts, agents and settings,
    each of which has a cache of its own. Anything new that may change an answer must become a field.

    The conversation is none: a question that has a history is never remembered. Neither is the person: what an
    answer says depends on the rights alone.
    """

    rights: Rights
    corpus_version: int
    query: str
    """Normalised; the case counts, since names and acronyms are told by it."""
    asked: str
    """All else the request asks for (agents, mode, language, day), as JSON."""
    today: date
    is_strict: bool


class CachedAnswer(Record):
    """What a run found, without anything of the run itself: no ids, no times, no asker."""

    composition: Composition
    evidence: tuple[Evidence, ...]
    plan: Plan | None
    """None for chitchat."""
    as_of: AsOf | None = None
    outputs: tuple[AgentOutput, ...] = ()
    report: str = ""
    resolution: FlowAction | None = None
    verdicts: tuple[Conflict, ...] = ()
    metadata: ExecutionMetadata


AnswerCache = TTLCache[AnswerKey, CachedAnswer]
"""A bounded store in this process whose entries end after a while."""


def look_up(memory: AnswerCache, key: AnswerKey) -> CachedAnswer | None:
    """Find an answer; counted as a lookup of the run."""
    found = memory.get(key)
    count_lookups(found is not None, cache="answers")
    return found


_TIMELESS = frozenset({RAG_TOOL, CHANGES_TOOL, SUMMARY_TOOL, MATH_TOOL, UNIT_TOOL})
_OWN_SERVERS = ("math.", "date.")
"""What changes only with the documents and the day. Logs grow without telling, as do servers of others."""
_WHOLE = frozenset({"answered", "partial", "conflict", "not_found", "chitchat"})


async def cache_key(context: "RunContext") -> AnswerKey | None:
    """What this run's answer is remembered by; None when it is not to be.

    Reads the state of the corpus from the database: an answer is given again only while no document has changed. A
    change during the run is no danger: its answer is then kept under a state nobody will read again. While the
    database is away nothing is known to hold, so nothing is remembered either.
    """
    asking = context.asking
    if not context.limits.enable_caching or asking.history or asking.request.files:
        return None
    try:
        version = await context.ports.corpus.version(asking.principal)
    except AppError as away:
        if away.code is not ErrorCode.DATABASE_UNAVAILABLE:
            raise
        return None
    if version is None:
        return None
    asked = asking.request.model_dump_json(include={"agents", "mode", "language", "as_of"})
    return AnswerKey(
        Rights.of(asking.principal), version, normalise(asking.request.query), asked, asking.today, asking.is_strict
    )


def cache_answer(
    context: "RunContext", state: "RunState", composition: Composition, evidence: tuple[Evidence, ...]
) -> None:
    """Remember the answer of a run that is about to end, if it was whole and nothing in it changes by itself."""
    key = state.get("answer_key")
    if key is None or not _is_lasting(context, composition):
        return
    told = context.trace.execution_metadata(context.outcomes, (), resolution_applied=bool(state.get("verdicts")))
    answer = CachedAnswer(
        composition=composition, evidence=evidence, plan=state.get("plan"),
        as_of=context.asking.as_of(state["classification"]),
        outputs=tuple(output.model_copy(update={"tool_trace": ()}) for output in agent_outputs(context.outcomes)),
        report=report_of(context.outcomes, context.ports.agents), resolution=context.trace.resolution,
        verdicts=state.get("verdicts", ()),
        metadata=ExecutionMetadata.model_validate(told.model_dump(exclude_unset=True, exclude={"model_usage"})),
    )  # fmt: skip
    context.memory[key] = answer


def _is_lasting(context: "RunContext", composition: Composition) -> bool:
    """Whether every part did its work, in the planned way, with tools that give the same tomorrow."""
    lesser = context.trace.degraded or context.trace.caches.outages
    return composition.outcome in _WHOLE and not lesser and all(_is_timeless(outcome) for outcome in context.outcomes)


def _is_timeless(outcome: StepOutcome) -> bool:
    lasting = outcome.tool in _TIMELESS or outcome.tool.startswith(_OWN_SERVERS)
    if outcome.result is None or not lasting or outcome.tool != outcome.step.step.tool:
        return False
    return not any(search.by_words_alone for search in outcome.result.searches)
