"""`log_tool`: search the company's system logs and tell what they hold."""

import asyncio
from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

from pydantic import Field

from app.domain.knowledge import Evidence, Finding, Language, Passage, Quote
from app.domain.plan import LOG_TOOL, RAG_TOOL
from app.domain.record import Record
from app.errors import ToolFailed
from app.reasoning import Reasoner
from app.storage.database import Database, Transaction
from app.text.dates import Period, period_in, read_moment
from app.text.language import clean, fold, normalise
from app.tools.base import ToolCall, ToolResult, outages_as_retry
from app.tools.catalogue import ToolPlugin
from app.tools.typed import TypedTool
from extras.logs.lines import LogLine
from extras.logs.reading import LogFilter, count_logs, search_logs, summarise_logs
from extras.logs.regex import Regex, RegexRefused, compile_regex
from extras.logs.report import LogQuestion, LogResult, choose_samples, sentence, write_line, write_report
from extras.logs.search import SECONDS, summarise_by_regex

_ERRORS, _CRITICAL, _WARNINGS = ("ERROR", "CRITICAL", "FATAL"), ("CRITICAL", "FATAL"), ("WARN", "WARNING")
_LEVELS: dict[str, tuple[str, ...]] = {
    "error": _ERRORS, "errors": _ERRORS, "err": _ERRORS, "loi": _ERRORS, "critical": _CRITICAL, "fatal": _CRITICAL,
    "nghiem trong": _CRITICAL, "warn": _WARNINGS, "warning": _WARNINGS, "warnings": _WARNINGS, "canh bao": _WARNINGS,
}  # fmt: skip
"""What a level is called (folded), and the levels that are meant: an error is everything as bad as an error."""
_MAX_TERMS = 8
_MAX_TERM_CHARS = 64
_MAX_SOURCE_CHARS = 100
_ALL_TERMS, _FILTERED, _SOME_TERMS, _UNFILTERED = 0.9, 0.8, 0.6, 0.5
"""How sure a report is to bear on the question, by what it was narrowed with."""


_SPARE_SECONDS = 1.0
"""Left for the report when a search by a regular expression ends with its time."""


class LogArguments(Record):
    """Which lines are wanted."""

    terms: str = Field("", description="Words of the messages, as systems write them: failed login, disk, HTTP 503.")
    regex: str = Field("", description="A regular expression (RE2) for the message, where the question gives one.")
    level: str = Field("", description="error, critical, warning or info, where the question says so.")
    source: str = Field("", description="The machine or service, or the beginning of its name: vpn-gw-01, vpn.")
    period: str = Field("", description="The span of time in the asker's own words: hôm qua, last 7 days.")
    since: str = Field("", description="ISO date or time, instead of the period.")
    until: str = Field("", description="ISO date or time, instead of the period.")


class LogTool(TypedTool[LogArguments]):
    """Searches the company's system logs by words, level, source and time; counts, finds patterns, shows examples."""

    name = LOG_TOOL
    alternative: str | None = RAG_TOOL
    """Incident reports and guides may answer where the caller has no logs to read."""
    arguments = LogArguments

    def __init__(self, database: Database, reasoner: Reasoner):
        super().__init__(reasoner)
        self._database = database

    async def run(self, call: ToolCall, index: int, query: str, arguments: LogArguments) -> ToolResult:
        """Search the logs for one query; the text is its report.

        Raises `ToolFailed` when the caller may read no line at all or the regular expression is refused, `ToolRetry`
        when the database is away.
        """
        search = _search(arguments, call)
        with outages_as_retry("The log search"):
            async with self._database.principal_scope(call.principal) as tx:
                search, result = await _run_widened(tx, search, call)
                readable = result.counts.total or result.examined or await _reads_any(tx, call.departments)
        if not readable:
            raise ToolFailed(sentence("log", "no_logs", call.language))
        text = write_report(search, result, call.language, call.zone)
        return ToolResult(
            text=text,
            findings=(_finding(call, index, query, text, search, result),),
            value={"total": result.counts.total, "by_level": dict(result.counts.by_level)},
            trace=(_traced(search, result),),
        )


async def _run_widened(tx: Transaction, search: LogQuestion, call: ToolCall) -> tuple[LogQuestion, LogResult]:
    """The search; when no source is called what was asked for, for that name in the messages."""
    result = await _run(tx, search, call)
    if result.counts.total or result.examined or not search.wanted.source:
        return search, result
    # The source as one more word of the message.
    terms = (*search.wanted.terms, search.wanted.source.lower())
    named = replace(search, wanted=search.wanted.model_copy(update={"terms": terms, "source": ""}))
    again = await _run(tx, named, call)
    return (named, again) if again.counts.total else (search, result)


async def _run(tx: Transaction, search: LogQuestion, call: ToolCall) -> LogResult:
    """Lines with all the terms; when there are none, lines with any; when there are none, what was looked through."""
    if search.regex is not None:
        return await _run_regex(tx, search, search.regex, call)
    wanted, partly = search.wanted, False
    found = await summarise_logs(tx, wanted)
    if not found.counts.total and len(wanted.terms) > 1:
        wanted = wanted.model_copy(update={"any_term": True})
        found, partly = await summarise_logs(tx, wanted), True
    if not found.counts.total:
        return await _without_match(tx, wanted)
    return LogResult(found.counts, kinds=found.kinds, samples=choose_samples(found.kinds), partly=partly)


async def _run_regex(tx: Transaction, search: LogQuestion, regex: Regex, call: ToolCall) -> LogResult:
    seconds = min(SECONDS, call.seconds_left - _SPARE_SECONDS)
    until = asyncio.get_running_loop().time() + seconds
    found, looked = await summarise_by_regex(tx, search.wanted, regex, until=until)
    if not found.counts.total and not looked.is_cut:
        return await _without_match(tx, search.wanted)
    return LogResult(found.counts, kinds=found.kinds, samples=choose_samples(found.kinds), looked=looked)


async def _without_match(tx: Transaction, wanted: LogFilter) -> LogResult:
    everything = wanted.model_copy(update={"terms": (), "levels": ()})
    looked_through = await count_logs(tx, everything)
    samples = await search_logs(tx, everything, limit=1) if looked_through.total else ()
    return LogResult(looked_through.model_copy(update={"total": 0}), samples=samples, examined=looked_through.total)


async def _reads_any(tx: Transaction, departments: tuple[str, ...]) -> bool:
    return bool(await search_logs(tx, LogFilter(departments=departments), limit=1))


def _search(arguments: LogArguments, call: ToolCall) -> LogQuestion:
    """The search the arguments describe; what cannot be understood is left out and told. Raises `ToolFailed`."""
    values: dict[str, str] = {key: clean(value).strip() for key, value in arguments.model_dump().items()}
    terms = tuple(
        dict.fromkeys(
            term.lower()
            for term in values["terms"].replace(",", " ").split()
            if len(term) <= _MAX_TERM_CHARS and any(char.isalnum() for char in term)
        )
    )[:_MAX_TERMS]
    period, not_understood = _period(values, call)
    level = normalise(values["level"])[:_MAX_TERM_CHARS]
    regex = _regex(clean(arguments.regex), call.language)
    wanted = LogFilter(
        terms=terms,
        levels=_LEVELS.get(fold(level).lower(), (level.upper(),)) if level else (),
        source=values["source"][:_MAX_SOURCE_CHARS],
        since=period.since,
        until=period.until,
        departments=call.departments,
    )
    return LogQuestion(wanted, regex, not_understood)


def _regex(text: str, language: Language) -> Regex | None:
    try:
        return compile_regex(text) if text else None
    except RegexRefused as refusal:
        raise ToolFailed(sentence("regex", refusal.fault, language)) from refusal


def _period(values: dict[str, str], call: ToolCall) -> tuple[Period, str]:
    """The span asked for, and the phrase for it that nobody could make sense of."""
    since = read_moment(values["since"], call.language, zone=call.zone)
    until = read_moment(values["until"], call.language, end=True, zone=call.zone)
    if since or until:
        return Period(since, until), ""
    phrase = values["period"]
    found = period_in(phrase, call.now, call.language, call.zone) if phrase else Period()
    return (found, "") if found else (Period(), phrase[:_MAX_TERM_CHARS])


def _traced(search: LogQuestion, result: LogResult) -> str:
    """What was narrowed with and how much was found, without a word of the question or of a line."""
    wanted = search.wanted
    narrowed = {
        "words": wanted.terms, "regex": search.regex, "level": wanted.levels, "source": wanted.source,
        "time": wanted.since or wanted.until,
    }  # fmt: skip
    by = ", ".join(name for name, value in narrowed.items() if value) or "nothing"
    looked = f"; looked through {result.looked.lines} of {result.looked.of}" if result.looked else ""
    return f"logs narrowed by {by}: {result.counts.total} lines{looked}"


def _finding(call: ToolCall, index: int, query: str, text: str, search: LogQuestion, result: LogResult) -> Finding:
    """The report as a finding. "None" counts as found only where it was clear which lines were meant."""
    found = result.counts.total > 0 or (
        result.examined > 0 and search.is_filtered and not search.wanted.terms and not search.regex
    )
    confidence = _confidence(search, result) if found else 0.0
    samples = result.samples if found else ()
    sources = ", ".join(result.counts.by_source) or search.wanted.source
    return Finding(
        agent=call.agent,
        index=index,
        query=query,
        context=": ".join(filter(None, (sentence("log", "title", call.language), sources))) if found else "",
        answer=text if found else "",
        found=found,
        confidence=confidence,
        quotes=tuple(_quote(call, line, confidence) for line in samples),
        evidence=tuple(
            Evidence(
                url=_url(one), created_at=one.logged_at, source_type="log", scope=one.scope, relevance_score=confidence
            )
            for one in samples
        ),
    )


def _confidence(search: LogQuestion, result: LogResult) -> float:
    if result.partly:
        return _SOME_TERMS
    if search.wanted.terms or search.regex:
        return _ALL_TERMS
    return _FILTERED if search.is_filtered else _UNFILTERED


def _quote(call: ToolCall, line: LogLine, relevance: float) -> Quote:
    """A log line in the shape of a passage, so that later steps treat it as the source it is."""
    tenant = uuid5(NAMESPACE_URL, f"urn:conclave:logs:{call.principal.tenant_id}")
    shown = write_line(line, call.language, call.zone)
    passage = Passage(
        chunk_id=uuid5(tenant, f"{line.logged_at.isoformat()} {line.source} {line.message}"),
        document_id=tenant,
        external_id=_url(line),
        title=f"{sentence('log', 'title', call.language)} {line.source}",
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


LOG = ToolPlugin(LogTool, lambda ports: LogTool(ports.database, ports.reasoner))
