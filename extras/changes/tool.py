"""`changes_tool`: what became different in the documents about a subject since a day, old and new side by side.

The subject is searched as of both days; the documents found are followed to what they replaced and were replaced by,
all under the rights of whoever asks: a version that may not be read is not there.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from uuid import UUID, uuid5

from app.domain.knowledge import Finding, Language, Passage, Quote, SearchPlan, SearchResult, evidence_of
from app.domain.plan import CHANGES_TOOL
from app.reasoning import Arguments, Reasoner
from app.storage.database import Database
from app.storage.neighbours import lines_of
from app.text.dates import period_in
from app.text.language import guess_language
from app.tools.base import Searcher, ToolCall, ToolResult, outages_as_retry, side_by_side
from app.tools.catalogue import ToolPlugin
from extras.changes.differences import Statement, compared, statements_of
from extras.changes.report import Change, Days, source_line, write_report
from extras.changes.successions import DocumentVersion, Succession, successions
from extras.changes.telling import Bearing, Concepts, about, focus_of, leading, selected

_PASSAGES = 12
"""Found as of each day, from which the documents about the subject are known."""
_DOUBTFUL = 0.5
"""Share of the least relevance below which no document is about the subject."""
_CHANGES, _UNCHANGED = 4, 2
"""Documents told."""
_SAYS = 3
"""Statements told of a new document."""
_MOST_SURE = 0.95
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class _Asked:
    """A question for changes, with its days."""

    subject: str
    days: Days
    searched_now: date | None
    """The newer day as it is searched; None = today, without what was superseded."""


class ChangesTool:
    """Tells what changed in the documents about a subject since a day: old and new statements side by side."""

    name = CHANGES_TOOL
    alternative: str | None = "rag_tool"
    """What the documents say today answers in part."""

    def __init__(
        self,
        retriever: Searcher,
        database: Database,
        reasoner: Reasoner,
        min_relevance_score: float,
        concepts: Concepts,
    ):
        self._retriever = retriever
        self._database = database
        self._reasoner = reasoner
        self._concepts = concepts
        self._least = min_relevance_score * _DOUBTFUL

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Compare for all queries side by side; one finding a query, also where no document is known.

        Raises `ToolRetry` when the database or the embedding model cannot be reached.
        """
        queries = call.queries or ((1, call.refined_query),)
        answered = await side_by_side([self._answer(call, index, query) for index, query in queries])
        return ToolResult(
            text="\n".join(finding.answer for finding, _ in answered if finding.found),
            findings=tuple(finding for finding, _ in answered),
            searches=tuple(plan for _, plans in answered for plan in plans),
        )

    async def _answer(self, call: ToolCall, index: int, query: str) -> tuple[Finding, tuple[SearchPlan, ...]]:
        with outages_as_retry("The document search"):
            arguments = await self._reasoner.arguments(self.name, query, (), call.language)
            asked = _asked(arguments, query, call)
            found = await self._searched(call, asked, query)
            passages = [passage for one in found for passage in one.passages]
            relevance = about(asked.subject, passages, self._concepts, self._least)
            async with self._database.principal_scope(call.principal) as tx:
                versions = [DocumentVersion(**row) for row in await lines_of(tx, relevance)] if relevance else []
        changes = await asyncio.to_thread(_changes, versions, asked, relevance)
        return _finding(call, index, query, asked, changes, relevance), tuple(one.plan for one in found)

    async def _searched(self, call: ToolCall, asked: _Asked, query: str) -> list[SearchResult]:
        """What bears on the subject, and on the question as it stands, on the newer day and on the older one."""
        days = [asked.searched_now] + ([asked.days.before] if asked.days.before else [])
        departments = call.departments or None
        return await side_by_side(
            [
                self._retriever.search(call.principal, text, departments=departments, limit=_PASSAGES, as_of=day)
                for day, text in product(days, dict.fromkeys((asked.subject, query)))
            ]
        )


def _asked(arguments: Arguments, query: str, call: ToolCall) -> _Asked:
    values = arguments.values
    subject = values.get("subject", "").strip() or query
    today = call.now.astimezone(call.zone).date()
    now = call.as_of or today
    before: date | None = None
    if span := _span(values.get("since", ""), call):
        before, now = span[0] - _DAY, max(now, span[0])
    elif span := _span(values.get("against", ""), call):
        before = span[1]
    elif span := _span(values.get("during", ""), call):
        before, now = span[0] - _DAY, min(now, span[1]) if span[0] <= now else span[1]
    if before is not None and before >= now:
        before = now - _DAY
    return _Asked(subject, Days(before, now), None if now == today and call.as_of is None else now)


def _span(time: str, call: ToolCall) -> tuple[date, date] | None:
    """First and last day of a time: an ISO interval, or words that the clock resolves."""
    first, _, last = time.partition("/")
    try:
        return (date.fromisoformat(first), date.fromisoformat(last)) if time else None
    except ValueError:
        pass
    period = period_in(time, call.now, call.language, call.zone)
    if period is None or period.since is None:
        return None
    until = (period.until or call.now).astimezone(call.zone)
    return period.since.astimezone(call.zone).date(), (until - timedelta(seconds=1)).date()


def _changes(versions: Sequence[DocumentVersion], asked: _Asked, bearing: Mapping[UUID, Bearing]) -> list[Change]:
    """What became of the documents, each with what is told of it; then those about the subject that stand unchanged."""
    found = successions(versions, asked.days.before, asked.days.now)
    named = max((one.by for one in bearing.values()), default=0)
    meant = [one for one in found if one.kind == "replaced" or _of(one, bearing).by >= max(named, 1)]
    changed = [one for one in meant if one.kind != "unchanged"][:_CHANGES]
    kept = sorted((one for one in meant if one.kind == "unchanged"), key=lambda one: -_of(one, bearing).relevance)
    if changed and asked.days.before is None:
        kept = []
    told = [_told(one, asked.subject) for one in changed]
    return told + [Change(one, says=_says(one, asked.subject, 1)) for one in kept[:_UNCHANGED]]


def _told(one: Succession, subject: str) -> Change:
    if one.kind == "ended" or one.new is None:
        return Change(one)
    if one.old is None or one.old.version.language != one.new.version.language:
        return Change(one, says=_says(one, subject, _SAYS))
    old, new = one.old.version, one.new.version
    comparison = compared(old.text, new.text, _language(new))
    return Change(one, selected(comparison, _focus(subject, old, new)))


def _says(one: Succession, subject: str, most: int) -> tuple[Statement, ...]:
    if one.new is None:
        return ()
    version = one.new.version
    return tuple(leading(statements_of(version.text, _language(version)), _focus(subject, version), most))


def _focus(subject: str, *versions: DocumentVersion) -> frozenset[str]:
    """Words that name a part of the documents; across languages words do not meet, and everything counts."""
    if any(version.language != guess_language(subject) for version in versions):
        return frozenset()
    return focus_of(subject, [version.title for version in versions])


def _of(one: Succession, bearing: Mapping[UUID, Bearing]) -> Bearing:
    return max((bearing[document] for document in one.documents if document in bearing), default=Bearing(0, 0.0))


def _language(version: DocumentVersion) -> Language | None:
    return "vi" if version.language == "vi" else "en" if version.language == "en" else None


def _finding(
    call: ToolCall, index: int, query: str, asked: _Asked, changes: Sequence[Change], bearing: Mapping[UUID, Bearing]
) -> Finding:
    quotes = tuple(quote for change in changes for quote in _quotes(change, _of(change.succession, bearing).relevance))
    text = write_report(asked.subject, asked.days, changes, call.language) if quotes else ""
    sure = max((_of(change.succession, bearing).relevance for change in changes), default=0.0)
    return Finding(
        agent=call.agent,
        index=index,
        query=query,
        context=source_line(changes, call.language) if text else "",
        answer=text,
        found=bool(text),
        confidence=round(min(sure, _MOST_SURE), 3) if text else 0.0,
        quotes=quotes,
        evidence=evidence_of(quotes),
        compares=True,
    )


def _quotes(change: Change, relevance: float) -> Iterator[Quote]:
    """What the answer shows of both sides; of a side of which it shows nothing, how it begins."""
    old, new = change.succession.old, change.succession.new
    told = change.selection.told if change.selection else ()
    sides = [(new, [*change.says, *(one.new for one in told if one.new)])]
    if change.is_change:
        sides.append((old, [one.old for one in told if one.old]))
    for standing, statements in sides:
        if standing is None:
            continue
        for statement in statements or statements_of(standing.version.text)[:1]:
            yield _quote(standing.version, statement, relevance)


def _quote(version: DocumentVersion, statement: Statement, relevance: float) -> Quote:
    """A statement as a passage of its own: versions that were replaced have none that is searched."""
    of_document = version.model_dump(include=set(Passage.model_fields) - {"text"})
    passage = Passage(
        **of_document,
        chunk_id=uuid5(version.document_id, f"{version.version} {statement.literal}"),
        section=statement.heading,
        text=statement.literal,
        similarity=0.0,
        text_rank=0.0,
        relevance_score=relevance,
        fused_score=0.0,
    )
    return Quote(passage=passage, text=statement.literal, score=relevance)


CHANGES = ToolPlugin(
    ChangesTool,
    lambda ports: ChangesTool(
        ports.retriever, ports.database, ports.reasoner, ports.min_relevance_score, ports.concepts
    ),
)
