"""Remembering a run's answer: by what, when it may be, and what of it."""

import json

from app.agents.step import StepOutcome
from app.domain.answer import ExecutionMetadata
from app.domain.knowledge import Evidence
from app.domain.plan import CHANGES_TOOL, MATH_TOOL, RAG_TOOL, SUMMARY_TOOL, UNIT_TOOL
from app.errors import AppError, ErrorCode
from app.flow.remembered import AnswerKey, Remembered
from app.flow.report import report_of
from app.flow.state import RunContext, RunState
from app.flow.trace import agent_outputs
from app.reasoning import Composition
from app.retrieval.cache import Rights
from app.text.language import normalise

_TIMELESS = frozenset({RAG_TOOL, CHANGES_TOOL, SUMMARY_TOOL, MATH_TOOL, UNIT_TOOL})
_OWN_SERVERS = ("math.", "date.")
"""What changes only with the documents and the day. Logs grow without telling, as do servers of others."""
_WHOLE = frozenset({"answered", "partial", "conflict", "not_found", "chitchat"})


async def key_of(context: RunContext) -> AnswerKey | None:
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
        version = None
    if version is None:
        return None
    request = asking.request
    return AnswerKey(
        circumstances=context.memory.circumstances,
        rights=Rights.of(asking.principal),
        corpus_version=version,
        query=normalise(request.query),
        agents_asked=json.dumps(request.agents, sort_keys=True),
        mode=request.mode,
        language=request.language,
        as_of=request.as_of,
        today=asking.today,
    )


def keep(context: RunContext, state: RunState, composition: Composition, evidence: tuple[Evidence, ...]) -> None:
    """Remember the answer of a run that is about to end, if it was whole and nothing in it changes by itself."""
    key = state.get("answer_key")
    if key is None or not _is_lasting(context, composition):
        return
    as_of = context.asking.as_of(state["classification"])
    answer = Remembered(
        composition=composition,
        evidence=evidence,
        plan=state.get("plan"),
        as_of=as_of,
        outputs=tuple(output.model_copy(update={"tool_trace": ()}) for output in agent_outputs(context.outcomes)),
        report=report_of(context.outcomes, context.ports.agents),
        resolution=context.trace.resolution,
        verdicts=state.get("verdicts", ()),
        metadata=_lasting(
            context.trace.execution_metadata(context.outcomes, (), resolution_applied=bool(state.get("verdicts")))
        ),
    )
    context.memory.put(key, answer)


def _lasting(metadata: ExecutionMetadata) -> ExecutionMetadata:
    """Without what only this run spent."""
    return ExecutionMetadata.model_validate(metadata.model_dump(exclude_unset=True, exclude={"model_usage"}))


def _is_lasting(context: RunContext, composition: Composition) -> bool:
    """Whether every part did its work, in the planned way, with tools that give the same tomorrow."""
    lesser = context.trace.degraded or context.trace.caches.outages
    return composition.outcome in _WHOLE and not lesser and all(_is_timeless(outcome) for outcome in context.outcomes)


def _is_timeless(outcome: StepOutcome) -> bool:
    lasting = outcome.tool in _TIMELESS or outcome.tool.startswith(_OWN_SERVERS)
    if outcome.result is None or not lasting or outcome.tool != outcome.step.step.tool:
        return False
    return not any(search.by_words_alone for search in outcome.result.searches)
