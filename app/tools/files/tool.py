"""`files_tool`: tables are computed with, text is quoted from, and files are described and summarised."""

import asyncio
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from app.domain.attachments import AttachedFile, AttachedTable
from app.domain.knowledge import Evidence, Finding, Language, Quote, evidence_of
from app.errors import ToolFailed
from app.reasoning import AnswerRequest, Reasoner
from app.tables import plain as folded
from app.tools.base import ToolCall, ToolResult, computed, outages_as_retry, side_by_side
from app.tools.files.computing import TABULAR, Computed, Refused, Runner, compute, compute_sql, overview, sql_schema
from app.tools.files.reading import SENTENCES, FileReader, best_passages, files_of, named_in, passage_of, short

_SUMMARY = re.compile(
    r"\b(?:tom tat|tom luoc|tong hop noi dung|y chinh|noi dung chinh|summar(?:y|ise|ize)|key points|gist"
    r"|(?:tep|file)(?: nay)? (?:co|gom|chua|noi) gi|what(?:'s| is)? in (?:this|the)(?: attached)? file)\b"
)
"""Asks for the whole of a file, not for something in it."""
_SHAPE = re.compile(
    r"\b(?:how many|which|what|bao nhieu|nhung|cac) (?:columns|sheets|pages|entries|cot|trang(?: tinh)?|sheet)\b"
)
"""Asks how a file is built."""
_MOST_SECTIONS = 24
"""Pieces of a file that are summarised, spread over its length."""
_MOST_EVIDENCE = 8
_SUMMARY_CONFIDENCE = 0.8
_MOST_TABLES, _MOST_COLUMNS, _MOST_HEADINGS, _MOST_ENTRIES = 10, 20, 15, 20
"""Of a file that is described."""
_CONTEXT = {"vi": "Tệp đính kèm “{name}”", "en": "Attached file “{name}”"}


@dataclass(frozen=True, slots=True)
class _Told:
    """What became of one query."""

    finding: Finding
    text: str
    value: dict[str, JsonValue] | None = None
    trace: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One query of a call, and the files it is about."""

    call: ToolCall
    index: int
    query: str
    files: tuple[AttachedFile, ...]

    def finding(self, answer: str, confidence: float = 1.0, evidence: Sequence[Evidence] = ()) -> Finding:
        """An answer from the files; the files themselves are its evidence where nothing else is."""
        names = "; ".join(_CONTEXT[self.call.language].format(name=one.attachment.name) for one in self.files[:5])
        return Finding(
            agent=self.call.agent, index=self.index, query=self.query, context=names, answer=answer, found=True,
            confidence=confidence, evidence=tuple(evidence) or tuple(map(_evidence, self.files)),
        )  # fmt: skip

    def described(self, further: Sequence[str] = ()) -> _Told:
        """What the files are."""
        text = "\n".join([_described(self.files, self.call.language), *(f"- {line}" for line in further)])
        return _Told(self.finding(text), text, trace=f"{len(self.files)} files described")


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
        values: list[JsonValue] = [one.value for one in told]
        return ToolResult(
            text="\n".join(filter(None, (one.text or one.refusal for one in told))),
            findings=tuple(one.finding for one in told),
            value=values[0] if len(values) == 1 else values,
            trace=tuple(one.trace for one in told if one.trace),
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
        same = [found.finding.model_copy(update=one.finding.model_dump(include={"index", "query"})) for one in told]
        return [replace(found, finding=same[0]), *(_Told(finding, "") for finding in same[1:])]

    async def _answer(self, call: ToolCall, index: int, query: str, files: Sequence[AttachedFile]) -> _Told:
        asked = _Asked(call, index, query, named_in(query, files))
        is_silent = not any(file.content.sections or file.content.tables for file in asked.files)
        if is_silent or _SHAPE.search(folded(query)):
            return asked.described()
        if _SUMMARY.search(folded(query)):
            return await self._summary(asked)
        found = await compute(self._run, query, asked.files, call.now.astimezone(call.zone), call.language)
        if isinstance(found, Refused) and (written := await self._written_sql(asked)):
            found = await compute_sql(self._run, written, asked.files, call.language)
        match found:
            case Computed():
                return _computed(asked, found)
            case Refused():
                nothing = computed(call, index, query, "", source_type="file", url="")
                return _Told(nothing, "", refusal=found.text)
            case None:
                return await self._quoted(asked)

    async def _written_sql(self, asked: _Asked) -> str:
        """The SELECT a model writes for a question that rules cannot read; empty where there is no model."""
        schema = await asyncio.to_thread(sql_schema, asked.files)
        if schema is None:
            return ""
        with outages_as_retry("The reasoner"):
            found = await self._reasoner.arguments(self.name, asked.query, (), asked.call.language, schema)
        return found.values.get("sql", "").strip().rstrip(";")

    async def _quoted(self, asked: _Asked) -> _Told:
        """An answer from the text, in its own words, with pages."""
        call, left = asked.call, asked.call.seconds_left
        async with asyncio.timeout(None if math.isinf(left) else left):  # a large text takes a second
            passages = await asyncio.to_thread(best_passages, call.principal, asked.query, asked.files)
        with outages_as_retry("The reasoner"):
            finding = await self._reasoner.answer(
                AnswerRequest(
                    query=asked.query, language=call.language, agent=call.agent, index=asked.index,
                    passages=tuple(passages), min_relevance_score=self._min_relevance_score,
                    instructions=call.instructions, is_strict=call.is_strict,
                )
            )  # fmt: skip
        finding = finding.model_copy(update={"evidence": _as_file(finding.evidence)})
        trace = f"{len(passages)} pieces of {len(asked.files)} files read, {len(finding.quotes)} quoted"
        return _Told(finding, finding.answer if finding.found else "", trace=trace)

    async def _summary(self, asked: _Asked) -> _Told:
        """The gist of each file, in its own words; of tables alone their totals."""
        if all(file.attachment.kind in TABULAR for file in asked.files):
            told = [await overview(self._run, file, asked.call.language) for file in asked.files]
            return asked.described([line for lines in told for line in lines])
        sources = [_source(asked, file) for file in asked.files if file.content.sections]
        with outages_as_retry("The reasoner"):
            summary = await self._reasoner.summarise(asked.query, sources, asked.call.language)
        if not summary.lines:
            return asked.described()
        # The quotes a summary took lines from, for the pages they stand on.
        pairs = zip(summary.lines, summary.sources, strict=True)
        telling = [next((q for q in sources[at].quotes if line in q.text), sources[at].quotes[0]) for line, at in pairs]
        silent = _described([file for file in asked.files if not file.content.sections], asked.call.language)
        text = "\n\n".join(filter(None, (summary.text, silent)))
        finding = asked.finding(text, _SUMMARY_CONFIDENCE, _as_file(evidence_of(telling))[:_MOST_EVIDENCE])
        trace = f"summary of {len(sources)} files: {len(summary.lines)} lines"
        return _Told(finding, text, trace=trace)


def _computed(asked: _Asked, found: Computed) -> _Told:
    told = found.file.attachment
    finding = computed(
        asked.call, asked.index, asked.query, found.text, source_type="file", url=found.url, scope="private",
        created_at=told.created_at, context=_CONTEXT[asked.call.language].format(name=told.name),
    )  # fmt: skip
    return _Told(finding, found.text, found.value, found.trace)


def _source(asked: _Asked, file: AttachedFile) -> Finding:
    """A file as something to summarise: pieces of it, the first ones weighing a little more."""
    sections = file.content.sections
    step = max(len(sections) / _MOST_SECTIONS, 1.0)
    chosen = [sections[int(at * step)] for at in range(min(len(sections), _MOST_SECTIONS))]
    quotes = tuple(
        Quote(passage=passage_of(asked.call.principal, file, one), text=one.text, score=0.9 - 0.4 * at / len(chosen))
        for at, one in enumerate(chosen)
    )
    name = file.attachment.name
    return Finding(
        agent=asked.call.agent, index=1, query=asked.query, context=name, answer=name, found=True, confidence=1.0,
        quotes=quotes,
    )  # fmt: skip


def _as_file(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    return tuple(one.model_copy(update={"source_type": "file"}) for one in evidence)


def _evidence(file: AttachedFile) -> Evidence:
    return Evidence(
        url=file.address, created_at=file.attachment.created_at, source_type="file", scope="private",
        relevance_score=1.0,
    )  # fmt: skip


def _described(files: Sequence[AttachedFile], language: Language) -> str:
    """A few lines about each file. What it holds is quoted as names, never followed."""
    return "\n\n".join("\n".join(_lines(file, language)) for file in files)


def _lines(file: AttachedFile, language: Language) -> Iterator[str]:
    """Kind, size, columns, headings, entries, and what an image says of itself."""
    texts, told, content = SENTENCES["files"][language], file.attachment, file.content
    parts = [texts["file"].format(name=told.name, kind=told.kind.upper(), size=_size(told.byte_count, language))]
    parts += [texts[name].format(count=count) for name in ("pages", "tables") if (count := getattr(told, name))]
    yield f"{', '.join(parts)}."
    if told.kind == "image":
        facts = {"format": "?", "width": "?", "height": "?"} | {
            name: short(fact) for name, fact in content.facts.items()
        }
        needed = {"image": (), "taken_at": ("taken_at",), "camera": ("camera",), "place": ("latitude", "longitude")}
        known = [name for name, names in needed.items() if facts.keys() >= {*names}]
        yield f"{', '.join(texts[name].format(value=facts.get(name), **facts) for name in known)}."
    if told.kind == "zip":
        entries = [f"{short(one.name)} ({_size(one.byte_count, language)})" for one in content.entries[:_MOST_ENTRIES]]
        size = _size(int(content.facts.get("unpacked_bytes", "0")), language)
        listed = "; ".join(entries) + ("…" if len(content.entries) > _MOST_ENTRIES else "")
        yield f"{texts['entries'].format(count=len(content.entries), size=size, entries=listed)}."
    yield from (f"- {_table(table, texts)}." for table in content.tables[:_MOST_TABLES])
    headings = dict.fromkeys(short(section.heading) for section in content.sections if section.heading)
    if headings and not content.tables:
        yield f"{texts['headings'].format(headings='; '.join([*headings][:_MOST_HEADINGS]))}."


def _table(table: AttachedTable, texts: dict[str, str]) -> str:
    columns = ", ".join(f"“{short(name)}”" for name in table.header[:_MOST_COLUMNS] if name)
    columns += "…" if len(table.header) > _MOST_COLUMNS else ""
    name = f" “{short(table.name)}”" if table.name else ""
    told = texts["table"].format(name=name, rows=len(table.rows), columns=columns)
    return told + (texts["cut"] if table.is_cut else "")


def _size(count: int, language: Language) -> str:
    unit = next((at for at in (3, 2, 1) if count >= 1024**at), 0)
    shown = f"{count / 1024**unit:.1f}".removesuffix(".0")
    return f"{shown.replace('.', ',') if language == 'vi' else shown} {('byte', 'KB', 'MB', 'GB')[unit]}"
