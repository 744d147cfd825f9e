"""`log_tool`: search the company's system logs and tell what they hold."""

from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from app.domain.knowledge import Evidence, Finding, Language, Passage, Quote
from app.domain.language import clean, fold, normalise
from app.errors import ToolFailed
from app.reasoning import Arguments, Reasoner
from app.storage.database import Database, Transaction
from app.storage.logs import LogFilter, LogLine, count_by, count_patterns, search_logs
from app.tools.base import ToolCall, ToolResult
from app.tools.calling import outages_as_retry, side_by_side
from app.tools.log_report import SAMPLE_LINES, LogQuestion, LogResult, write_line, write_report
from app.tools.periods import Period, read_moment, resolve_period

_ERRORS, _CRITICAL, _WARNINGS = ("ERROR", "CRITICAL", "FATAL"), ("CRITICAL", "FATAL"), ("WARN", "WARNING")
_LEVELS: dict[str, tuple[str, ...]] = {
    "error": _ERRORS, "errors": _ERRORS, "err": _ERRORS, "loi": _ERRORS, "critical": _CRITICAL, "fatal": _CRITICAL,
    "nghiem trong": _CRITICAL, "warn": _WARNINGS, "warning": _WARNINGS, "warnings": _WARNINGS, "canh bao": _WARNINGS,
}  # fmt: skip
"""What a level is called (folded), and the levels that are meant: an error is everything as bad as an error."""
_MAX_TERMS = 8
_MAX_TERM_CHARS = 64
_TITLES: dict[Language, str] = {"vi": "Log hệ thống", "en": "System log"}
_NO_LOGS: dict[Language, str] = {
    "vi": "Không có log hệ thống nào mà tài khoản này được xem.",
    "en": "There are no system logs this account may read.",
}
_ALL_TERMS, _FILTERED, _SOME_TERMS, _UNFILTERED = 0.9, 0.8, 0.6, 0.5
"""How sure a report is to bear on the question, by what it was narrowed with."""


@dataclass(frozen=True)
class _Search:
    """One query's search: how it is told and how it is asked."""

    asked: LogQuestion
    wanted: LogFilter

    @property
    def is_filtered(self) -> bool:
        """Whether anything besides words narrows the lines."""
        return bool(self.wanted.levels or self.wanted.source or self.wanted.since or self.wanted.until)


class LogTool:
    """Searches the company's system logs by words, level, source and time; counts, finds patterns, shows examples."""

    name = "log_tool"
    alternative: str | None = "rag_tool"
    """Incident reports and guides may answer where the caller has no logs to read."""

    def __init__(self, database: Database, reasoner: Reasoner):
        self._database = database
        self._reasoner = reasoner

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Search the logs for every query, side by side; the text is one report a query.

        Raises `ToolFailed` when the caller may read no line at all, `ToolRetry` when the database is away.
        """
        reports = await side_by_side([self._report(call, index, query) for index, query in call.queries])
        return ToolResult(
            text="\n".join(text for text, _ in reports), findings=tuple(finding for _, finding in reports)
        )

    async def _report(self, call: ToolCall, index: int, query: str) -> tuple[str, Finding]:
        with outages_as_retry("The log search"):
            arguments = await self._reasoner.arguments(self.name, query, call.findings, call.language)
            search = _search(arguments, call)
            async with self._database.principal_scope(call.principal) as tx:
                result = await _run(tx, search)
                readable = result.counts.total or result.examined or await _reads_any(tx, call.departments)
        if not readable:
            raise ToolFailed(_NO_LOGS[call.language])
        text = write_report(search.asked, result, call.language)
        return text, _finding(call, index, query, text, search, result)


async def _run(tx: Transaction, search: _Search) -> LogResult:
    """Lines with all the terms; when there are none, lines with any; when there are none, what was looked through."""
    wanted, counts, partly = search.wanted, await count_by(tx, search.wanted), False
    if not counts.total and len(wanted.terms) > 1:
        wanted = wanted.model_copy(update={"any_term": True})
        counts, partly = await count_by(tx, wanted), True
    if not counts.total:
        everything = wanted.model_copy(update={"terms": (), "levels": ()})
        looked_through = await count_by(tx, everything)
        samples = await search_logs(tx, everything, limit=1)
        return LogResult(counts, samples=samples, examined=looked_through.total)
    return LogResult(
        counts=counts,
        patterns=await count_patterns(tx, wanted),
        samples=await search_logs(tx, wanted, limit=SAMPLE_LINES, severe_first=True),
        partly=partly,
    )


async def _reads_any(tx: Transaction, departments: tuple[str, ...]) -> bool:
    return bool(await search_logs(tx, LogFilter(departments=departments), limit=1))


def _search(arguments: Arguments, call: ToolCall) -> _Search:
    """The search the arguments describe; what cannot be understood is left out and told."""
    values = {key: clean(value).strip() for key, value in arguments.values.items()}
    terms = tuple(
        dict.fromkeys(
            term.lower()
            for term in values.get("terms", "").replace(",", " ").split()
            if len(term) <= _MAX_TERM_CHARS and any(char.isalnum() for char in term)
        )
    )[:_MAX_TERMS]
    period, not_understood = _period(values, call)
    level = normalise(values.get("level", ""))
    levels = _LEVELS.get(fold(level).lower(), (level.upper(),)) if level else ()
    asked = LogQuestion(terms, levels[0] if levels else "", values.get("source", ""), period, not_understood)
    return _Search(
        asked,
        LogFilter(
            terms=terms,
            levels=levels,
            source=asked.source,
            since=period.since,
            until=period.until,
            departments=call.departments,
        ),
    )


def _period(values: dict[str, str], call: ToolCall) -> tuple[Period, str]:
    """The span asked for, and the phrase for it that nobody could make sense of."""
    since = read_moment(values.get("since", ""), call.language)
    until = read_moment(values.get("until", ""), call.language, end=True)
    if since or until:
        return Period(since, until), ""
    phrase = values.get("period", "")
    found = resolve_period(phrase, call.now, call.language) if phrase else Period()
    return (found, "") if found else (Period(), phrase[:_MAX_TERM_CHARS])


def _finding(call: ToolCall, index: int, query: str, text: str, search: _Search, result: LogResult) -> Finding:
    """The report as a finding. "None" counts as found only where it was clear which lines were meant."""
    found = result.counts.total > 0 or (result.examined > 0 and search.is_filtered and not search.wanted.terms)
    confidence = _confidence(search, result) if found else 0.0
    samples = result.samples if found else ()
    sources = ", ".join(result.counts.by_source) or search.asked.source
    return Finding(
        agent=call.agent,
        index=index,
        query=query,
        context=": ".join(filter(None, (_TITLES[call.language], sources))) if found else "",
        answer=text if found else "",
        found=found,
        confidence=confidence,
        quotes=tuple(_quote(call, line, confidence) for line in samples),
        evidence=tuple(_evidence(line, confidence) for line in samples),
    )


def _confidence(search: _Search, result: LogResult) -> float:
    if result.partly:
        return _SOME_TERMS
    if search.wanted.terms:
        return _ALL_TERMS
    return _FILTERED if search.is_filtered else _UNFILTERED


def _evidence(line: LogLine, relevance: float) -> Evidence:
    return Evidence(
        url=_url(line), created_at=line.logged_at, source_type="log", scope=line.scope, relevance_score=relevance
    )


def _quote(call: ToolCall, line: LogLine, relevance: float) -> Quote:
    """A log line in the shape of a passage, so that later steps treat it as the source it is."""
    tenant = uuid5(NAMESPACE_URL, f"urn:conclave:logs:{call.principal.tenant_id}")
    shown = write_line(line, call.language)
    passage = Passage(
        chunk_id=uuid5(tenant, f"{line.logged_at.isoformat()} {line.source} {line.message}"),
        document_id=tenant,
        external_id=_url(line),
        title=f"{_TITLES[call.language]} {line.source}",
        section="",
        text=shown,
        url=_url(line),
        department=line.department,
        scope=line.scope,
        language="en",
        created_at=line.logged_at,
        effective_from=None,
        effective_to=None,
        authority="log",
        similarity=0.0,
        text_rank=0.0,
        relevance_score=relevance,
        fused_score=0.0,
    )
    return Quote(passage=passage, text=shown, score=relevance)


def _url(line: LogLine) -> str:
    return f"log:{line.source}"
