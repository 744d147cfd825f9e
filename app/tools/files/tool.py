"""`files_tool`: tables are computed with, text is quoted from, and files are described and summarised."""

import asyncio
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from app.domain.attachments import AttachedFile
from app.domain.evidence import evidence_of
from app.domain.knowledge import Evidence, Finding, Quote
from app.errors import ToolFailed
from app.reasoning import AnswerRequest, Reasoner
from app.tables import plain as folded
from app.tools.base import ToolCall, ToolResult, computed, outages_as_retry, side_by_side
from app.tools.faithful import faithful
from app.tools.files.computing import TABULAR, Computed, Refused, Runner, compute, compute_sql, overview, sql_schema
from app.tools.files.describing import asks_what_it_is, described
from app.tools.files.passages import best_passages, passage_of
from app.tools.files.reading import FileReader, files_of, named_in

_SUMMARY = re.compile(
    r"\b(?:tom tat|tom luoc|tong hop noi dung|y chinh|noi dung chinh|summar(?:y|ise|ize)|key points|gist)\b"
)
_MOST_SECTIONS = 24
"""Pieces of a file that are summarised, spread over its length."""
_SUMMARY_TOKENS = 400
_MOST_EVIDENCE = 8
_SURE = 1.0
_SUMMARY_CONFIDENCE = 0.8
_CONTEXT = {"vi": "Tệp đính kèm “{name}”", "en": "Attached file “{name}”"}
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Told:
    """What became of one query."""

    finding: Finding
    text: str
    value: dict[str, object] | None = None
    trace: str = ""
    refusal: str = ""


class FilesTool:
    """Answers from the files attached to the question: totals of tables, quotes, contents, summaries."""

    name = "files_tool"
    alternative: str | None = None
    """None: what was asked of a file is not answered from something else."""

    def __init__(self, reader: FileReader, reasoner: Reasoner, min_relevance_score: float, run: Runner):
        """`run`: runs the jobs of `app.tables` in a confined process."""
        self._reader, self._reasoner, self._run = reader, reasoner, run
        self._min_relevance_score = min_relevance_score

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Answer every query from the files of the call.

        Raises `ToolFailed` with a sentence for the asker when there is no file, or no query can be answered for a
        reason that the asker can mend; `ToolRetry` when files or reasoner cannot be reached.
        """
        files = await files_of(self._reader, call)
        queries = call.queries or ((1, call.refined_query),)
        told = await side_by_side([self._answer(call, index, query, files) for index, query in queries])
        if any(one.refusal for one in told):
            told = await self._as_one(call, files, told)
        if all(one.refusal for one in told):
            raise ToolFailed("\n".join(dict.fromkeys(one.refusal for one in told)))
        values = [one.value for one in told]
        return ToolResult.model_validate(
            {
                "text": "\n".join(filter(None, (one.text or one.refusal for one in told))),
                "findings": tuple(one.finding for one in told),
                "value": values[0] if len(values) == 1 else values,
                "trace": tuple(one.trace for one in told if one.trace),
            }
        )

    async def _as_one(self, call: ToolCall, files: Sequence[AttachedFile], told: list[_Told]) -> list[_Told]:
        """Read the whole question at once, where a part of it says too little by itself: “who? give me the number”.

        The parts may come in one call or, where a plan made a step of each, in calls of their own.
        """
        whole = call.asked or call.refined_query
        if [whole] == [one.finding.query for one in told]:
            return told
        found = await self._answer(call, told[0].finding.index, whole, files)
        if found.refusal or found.value is None:
            return told
        same = [
            found.finding.model_copy(update={"index": one.finding.index, "query": one.finding.query}) for one in told
        ]
        return [replace(found, finding=same[0]), *(_Told(finding, "") for finding in same[1:])]

    async def _answer(self, call: ToolCall, index: int, query: str, files: Sequence[AttachedFile]) -> _Told:
        meant = named_in(query, files)
        if asks_what_it_is(query) or not any(file.content.sections or file.content.tables for file in meant):
            return _description(call, index, query, meant)
        if _SUMMARY.search(folded(query)):
            return await self._summary(call, index, query, meant)
        found = await compute(self._run, query, meant, call.now.astimezone(call.zone), call.language)
        if isinstance(found, Refused) and (written := await self._written_sql(call, query, meant)):
            found = await compute_sql(self._run, written, meant, call.language)
        match found:
            case Computed():
                return _computed(call, index, query, found)
            case Refused():
                return _Told(_nothing(call, index, query), "", refusal=found.text)
            case None:
                return await self._quoted(call, index, query, meant)

    async def _written_sql(self, call: ToolCall, query: str, files: Sequence[AttachedFile]) -> str:
        """The SELECT a model writes for a question that rules cannot read; empty where there is no model."""
        schema = await asyncio.to_thread(sql_schema, files)
        if schema is None:
            return ""
        with outages_as_retry("The reasoner"):
            found = await self._reasoner.arguments(self.name, query, (), call.language, schema)
        return found.values.get("sql", "").strip().rstrip(";")

    async def _quoted(self, call: ToolCall, index: int, query: str, files: Sequence[AttachedFile]) -> _Told:
        """An answer from the text, in its own words, with pages."""
        passages = await _in_thread(call, lambda: best_passages(call.principal, query, files))
        with outages_as_retry("The reasoner"):
            finding = await self._reasoner.answer(
                AnswerRequest(
                    query=query,
                    language=call.language,
                    agent=call.agent,
                    index=index,
                    passages=tuple(passages),
                    min_relevance_score=self._min_relevance_score,
                    instructions=call.instructions,
                )
            )
        finding = finding.model_copy(update={"evidence": _as_file(finding.evidence)})
        trace = f"{len(passages)} pieces of {len(files)} files read, {len(finding.quotes)} quoted"
        return _Told(finding, finding.answer if finding.found else "", trace=trace)

    async def _summary(self, call: ToolCall, index: int, query: str, files: Sequence[AttachedFile]) -> _Told:
        """The gist of each file, held against its text."""
        tabular = [file for file in files if file.attachment.kind in TABULAR]
        if len(tabular) == len(files):
            totals = [line for file in tabular for line in await overview(self._run, file, call.language)]
            return _description(call, index, query, files, totals)
        sources = [source for file in files if (source := _source(call, query, file)) is not None]
        with outages_as_retry("The reasoner"):
            summary = await self._reasoner.summarise(query, sources, call.language)
        texts = [[quote.text for quote in source.quotes] for source in sources]
        kept = faithful(summary.text, texts, max_tokens=_SUMMARY_TOKENS)
        if not kept.text:
            return _description(call, index, query, files)
        quotes = [quote for source in kept.sources for quote in _telling(sources[source].quotes, kept.text)]
        finding = Finding(
            agent=call.agent,
            index=index,
            query=query,
            context=_context(call, [files[0]] if len(files) == 1 else files),
            answer=kept.text,
            found=True,
            confidence=_SUMMARY_CONFIDENCE,
            evidence=_as_file(evidence_of(quotes))[:_MOST_EVIDENCE] or (_evidence(call, files[0]),),
        )
        trace = f"summary of {len(texts)} files: {kept.replaced} replaced, {kept.restored} restored"
        return _Told(finding, kept.text, trace=trace)


def _computed(call: ToolCall, index: int, query: str, found: Computed) -> _Told:
    finding = computed(
        call, index, query, found.text, source_type="file", url=found.url, scope="private",
        created_at=found.file.attachment.created_at, context=_context(call, [found.file]),
    )  # fmt: skip
    value = found.value if isinstance(found.value, dict) else None
    return _Told(finding, found.text, {**value} if value else None, found.trace)


def _description(
    call: ToolCall, index: int, query: str, files: Sequence[AttachedFile], further: Sequence[str] = ()
) -> _Told:
    text = "\n\n".join(described(file, call.language) for file in files)
    text = "\n".join([text, *(f"- {line}" for line in further)])
    finding = Finding(
        agent=call.agent,
        index=index,
        query=query,
        context=_context(call, files),
        answer=text,
        found=True,
        confidence=_SURE,
        evidence=tuple(_evidence(call, file) for file in files),
    )
    return _Told(finding, text, trace=f"{len(files)} files described")


def _nothing(call: ToolCall, index: int, query: str) -> Finding:
    return Finding(agent=call.agent, index=index, query=query, context="", answer="", found=False, confidence=0.0)


def _source(call: ToolCall, query: str, file: AttachedFile) -> Finding | None:
    """A file as something to summarise: pieces of it, the first ones weighing a little more."""
    sections = file.content.sections
    if not sections:
        return None
    step = max(len(sections) / _MOST_SECTIONS, 1.0)
    chosen = [sections[int(at * step)] for at in range(min(len(sections), _MOST_SECTIONS))]
    quotes = tuple(
        Quote(passage=passage_of(call.principal, file, section), text=section.text, score=0.9 - 0.4 * at / len(chosen))
        for at, section in enumerate(chosen)
    )
    name = file.attachment.name
    return Finding(
        agent=call.agent, index=1, query=query, context=name, answer=name, found=True, confidence=1.0, quotes=quotes
    )


def _telling(quotes: Sequence[Quote], text: str) -> list[Quote]:
    """The quotes a summary took lines from, for the pages they stand on."""
    lines = [line.removeprefix("- ").strip() for line in text.split("\n")]
    return [quote for quote in quotes if any(line and line in quote.text for line in lines)]


def _as_file(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    return tuple(one.model_copy(update={"source_type": "file"}) for one in evidence)


def _evidence(call: ToolCall, file: AttachedFile) -> Evidence:
    return Evidence(
        url=file.address,
        created_at=file.attachment.created_at,
        source_type="file",
        scope="private",
        relevance_score=1.0,
    )


def _context(call: ToolCall, files: Sequence[AttachedFile]) -> str:
    return "; ".join(_CONTEXT[call.language].format(name=file.attachment.name) for file in files[:5])


async def _in_thread(call: ToolCall, work: Callable[[], _Result]) -> _Result:
    """Work on a table or a text, off the loop; large ones take a second."""
    left = call.seconds_left
    async with asyncio.timeout(None if math.isinf(left) else left):
        return await asyncio.to_thread(work)
