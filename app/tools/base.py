"""What every tool is: an async function from a typed call to a result, acting with the caller's rights; and how tools
speak to people: sentences of a TOML file, filled in.

Identity never comes from arguments: it is the `Principal` in the `ToolCall`, and the planner cannot write there.
"""

import asyncio
import tomllib
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, tzinfo
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import UUID

from pydantic import JsonValue

from app.domain.knowledge import Evidence, Finding, Language, Quote, SearchPlan, SearchResult, SourceType, When
from app.domain.principal import Principal, Scope
from app.domain.record import Record
from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode, ToolRetry
from app.text.dates import HOME, zone_named

_Result = TypeVar("_Result")
_OUTAGES = frozenset({ErrorCode.DATABASE_UNAVAILABLE, ErrorCode.LLM_UNAVAILABLE})


async def side_by_side(work: Sequence[Coroutine[None, None, _Result]]) -> list[_Result]:
    """Results in the order of `work`; the first exception ends the rest and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(piece) for piece in work]
    except ExceptionGroup as failures:
        first = failures.exceptions[0]
        raise first from first.__cause__
    return [task.result() for task in running]


@contextmanager
def outages_as_retry(what: str) -> Iterator[None]:
    """Turn "could not be reached" into `ToolRetry`; every other exception passes.

    Args:
        what: What could not be reached, for the sentence somebody may read.
    """
    try:
        yield
    except (EmbeddingUnavailable, OSError, TimeoutError) as outage:
        raise ToolRetry(f"{what} is not reachable at the moment") from outage
    except AppError as refusal:
        if refusal.code not in _OUTAGES:
            raise
        raise ToolRetry(f"{what} is not reachable at the moment") from refusal


class Searcher(Protocol):
    """Finds passages under the rights of whoever asks."""

    async def search(
        self,
        principal: Principal,
        query: str,
        *,
        departments: tuple[str, ...] | None,
        limit: int = 8,
        as_of: date | None = None,
        when: When = "in_force",
    ) -> SearchResult:
        """Passages the principal may read, best first; None = of every department."""


class ToolCall(Record):
    """One call: who, for which agent, about what, on which earlier findings, and until when."""

    principal: Principal
    agent: str
    departments: tuple[str, ...]
    """Departments whose documents and logs this agent reads."""
    message: str
    """The step's message from the plan."""
    queries: tuple[tuple[int, str], ...]
    """(1-based index, text)."""
    refined_query: str
    language: Language
    findings: tuple[Finding, ...]
    """What steps of earlier tiers found: the agent's own, or everybody's for the orchestrator."""
    as_of: date | None = None
    """Answer as of this day; None = today."""
    instructions: str = ""
    """How this agent shall answer, by its YAML file and the leader; for minds that follow instructions."""
    is_strict: bool = False
    """Whether a model may only quote here, whatever it may do elsewhere."""
    files: tuple[UUID, ...] = ()
    """Files the asker attached to the question."""
    now: datetime
    """The run's clock, timezone-aware."""
    time_zone: str = HOME
    """Of the asker's tenant, by its IANA name: what "today" means."""
    until: float
    """Event-loop time by which the call must have ended: it is cancelled then. What models may spend on it is held by
    the run's account (`reasoning.budget`)."""
    given: Mapping[str, str] | None = None
    """Arguments a mind has chosen already, spelt as `reasoning.Arguments.values`; None = the tool asks for them. They
    are checked like any others."""
    asked: str = ""
    """The asker's own words, where `queries` are a mind's: addresses and figures count as stated only when they stand
    here. Empty = what `message`, `queries` and `refined_query` say was asked."""
    worked_out: tuple[str, ...] = ()
    """Results of earlier tool calls: figures in them count as stated as well."""

    @property
    def zone(self) -> tzinfo:
        """The zone of that name."""
        return zone_named(self.time_zone)

    @property
    def stated(self) -> str:
        """The text whose figures may be calculated with, besides those of findings."""
        asked = (self.asked,) if self.asked else (self.refined_query, *(text for _, text in self.queries))
        return "\n".join((*asked, *self.worked_out))

    @property
    def seconds_left(self) -> float:
        """Until the call is cancelled; never negative."""
        return max(self.until - asyncio.get_running_loop().time(), 0.0)


class ToolResult(Record):
    """What a tool gives back; text for people, findings for the later steps."""

    text: str
    """The tool's answer in the asker's language; may be empty when nothing was found."""
    findings: tuple[Finding, ...] = ()
    searches: tuple[SearchPlan, ...] = ()
    value: JsonValue = None
    """The result for machines, where there is one: ``{"result": "6"}``."""
    trace: tuple[str, ...] = ()
    """What was done, a short line each; no secrets and no text of documents."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the findings cite, in their order."""
        return tuple(evidence for finding in self.findings for evidence in finding.evidence)


class Tool(Protocol):
    """An async capability. `__doc__` of the class is its description to planners."""

    name: str
    alternative: str | None
    """The tool tried once when this one fails for good."""

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Do it. Raises `ToolRetry` when another try may help and `ToolFailed` when not."""


Toolbox = Mapping[str, Tool]


def computed(
    call: ToolCall,
    index: int,
    query: str,
    answer: str,
    *,
    source_type: SourceType,
    url: str,
    scope: Scope = "public",
    created_at: datetime | None = None,
    context: str = "",
    confidence: float = 1.0,
    quotes: tuple[Quote, ...] = (),
) -> Finding:
    """A finding with one evidence.

    Args:
        call: The call that made it.
        index: Of the query, from 1.
        query: What was asked.
        answer: One or a few sentences in the asker's language; empty = nothing was found.
        source_type: Where the result comes from.
        url: Names what was done or read: ``math:2+4``, ``mcp:math/mcp_sum?a=2&b=4``, a page's address.
        scope: Of the source.
        created_at: Of the source; None = now, it was computed.
        context: Where the answer comes from, for people.
        confidence: 0-1.
        quotes: Exact spans that support it, where it was read.
    """
    found = bool(answer)
    evidence = Evidence(
        url=url, created_at=created_at or call.now, source_type=source_type, scope=scope, relevance_score=confidence
    )
    return Finding(
        agent=call.agent,
        index=index,
        query=query,
        context=context,
        answer=answer,
        found=found,
        confidence=confidence if found else 0.0,
        quotes=quotes,
        evidence=(evidence,) if found else (),
    )


class Sentences:
    """The sentences of one file, by table, name and language."""

    def __init__(self, file: Path):
        self.tables: dict[str, dict[str, dict[str, str]]] = tomllib.loads(file.read_text("utf-8"))

    def __call__(self, table: str, name: str, language: Language, **values: object) -> str:
        """Fill in one sentence; a value is never read for places to fill in."""
        return self.tables[table][name][language].format(**values)


sentence = Sentences(Path(__file__).with_name("sentences.toml"))
