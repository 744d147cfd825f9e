"""Answering from one long text that was just fetched: its pieces are ranked against the question, the best are read.

What was fetched is somebody else's text. It becomes passages like those of documents: data that is quoted, never
followed.
"""

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from pydantic import JsonValue

from app.domain.knowledge import Finding, Passage, Quote
from app.embedding import Embedder, EmbeddingUnavailable
from app.errors import ToolFailed, ToolRetry
from app.reasoning import AnswerRequest, Reasoner
from app.retrieval.ranking import load_calibration
from app.text.language import clean, content_words, fold, guess_language, is_unaccented_vietnamese, words
from app.tools.base import ToolCall, ToolResult, computed, outages_as_retry
from app.tools.typed import R, TypedTool
from extras.web.fetching import refusal_sentence
from extras.web.safe_http import Fetcher, FetchRefused

_COMPARED = 16
"""Pieces whose vectors are made; 5-20 ms of one core each."""
_READ = 8
"""Passages a question is answered from."""
_OPENING_CHARS = 900
_OPENING_CONFIDENCE = 0.8
AUTHORITY = "web"
"""Authority and department of passages from the web."""


class Piece(NamedTuple):
    """A literal span of a text, and the headings above it."""

    text: str
    section: str = ""


class Source(NamedTuple):
    """Where a text was read."""

    url: str
    title: str
    created_at: datetime | None
    """None = not known."""


class Text(NamedTuple):
    """What was read, in pieces."""

    source: Source
    pieces: Sequence[Piece]
    addresses: Sequence[str] = ()
    """Of each piece, where pieces have addresses of their own (``…&t=75``); else all have the source's."""

    def address(self, at: int) -> str:
        """Where the piece at `at` can be looked up."""
        return self.addresses[at] if self.addresses else self.source.url


class Reading:
    """Answers from pieces of a text, by vectors and words where there is a model for vectors, else by words."""

    def __init__(self, reasoner: Reasoner, embedder: Embedder | None, min_relevance_score: float):
        self._reasoner = reasoner
        self._embedder = embedder
        self._min_relevance_score = min_relevance_score
        self._calibration = load_calibration(embedder.model if embedder else "")

    async def answer(self, call: ToolCall, index: int, query: str, question: str, read: Text) -> Finding:
        """The finding of one query. Raises `ToolRetry` when the reasoner is away.

        Args:
            call: The call.
            index: Of the query, from 1.
            query: As planned; the finding carries it.
            question: What is asked of the text, without the address and the like; empty = what the text says at all.
            read: The text; with no pieces nothing is found.
        """
        if not content_words(question):
            return _opening(call, index, query, read)
        passages = await self._passages(call, question, read)
        with outages_as_retry("The reasoner"):
            found = await self._reasoner.answer(
                AnswerRequest(
                    query=question, language=call.language, agent=call.agent, index=index, passages=passages,
                    min_relevance_score=self._min_relevance_score, instructions=call.instructions,
                )
            )  # fmt: skip
        cited = tuple(evidence.model_copy(update={"source_type": "web"}) for evidence in found.evidence)
        return found.model_copy(update={"query": query, "evidence": cited})

    async def _passages(self, call: ToolCall, question: str, read: Text) -> tuple[Passage, ...]:
        """The pieces that bear most on the question, best first."""
        unaccented = is_unaccented_vietnamese(question)
        shares = _shares(question, read.pieces, folded=unaccented)
        nearest = sorted(range(len(shares)), key=lambda at: -shares[at])[:_COMPARED]
        languages = [guess_language(read.pieces[at].text) for at in nearest]
        asked_in = guess_language(question)
        similarities = await self._similarities(question, asked_in, [read.pieces[at] for at in nearest], languages)
        found = [
            _passage(
                call, read, at, language, similarity or 0.0,
                self._calibration.relevance(
                    similarity or 0.0, shares[at], same_language=language == asked_in,
                    unaccented=unaccented or similarity is None,
                ),
            )
            for at, language, similarity in zip(nearest, languages, similarities, strict=True)
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda passage: -passage.relevance_score)[:_READ])

    async def _similarities(
        self, question: str, asked_in: str, pieces: Sequence[Piece], languages: Sequence[str]
    ) -> list[float | None]:
        """Cosine of question and each piece; None where no model could be asked."""
        if self._embedder is None or not pieces:
            return [None] * len(pieces)
        try:
            asked = await self._embedder.embed_queries([question])
            vectors = await self._embedder.embed_passages([f"{piece.section}\n{piece.text}" for piece in pieces])
        except EmbeddingUnavailable:
            return [None] * len(pieces)
        centre = self._calibration.centre_queries(asked, [asked_in])[0]
        return [float(value) for value in self._calibration.centre_passages(vectors, languages) @ centre]


class ReadingTool(TypedTool[R]):
    """Base of tools that fetch one text and answer from it."""

    def __init__(self, reasoner: Reasoner, fetcher: Fetcher, reading: Reading):
        super().__init__(reasoner)
        self._fetcher = fetcher
        self._reading = reading

    @abstractmethod
    async def fetch(self, call: ToolCall, query: str, arguments: R, trace: list[str]) -> tuple[Text | None, str]:
        """The text, None where there is none, and what is asked of it. Adds what was fetched to `trace`.

        Raises `ToolFailed` where nothing can be read, `ToolRetry` where another try may help, and `FetchRefused`.
        """

    async def run(self, call: ToolCall, index: int, query: str, arguments: R) -> ToolResult:
        """The text's answer to one query, if it holds one. Raises `ToolFailed`, and `ToolRetry` for what may pass."""
        trace: list[str] = []
        try:
            read, question = await self.fetch(call, query, arguments, trace)
        except FetchRefused as refused:
            error = ToolRetry if refused.may_pass else ToolFailed
            raise error(refusal_sentence(refused, call.language)) from refused
        finding = await self._reading.answer(call, index, query, question, read or Text(Source("", "", None), ()))
        return ToolResult(
            text=finding.answer, findings=(finding,), value=read and _named(read.source), trace=tuple(trace)
        )


def _named(source: Source) -> JsonValue:
    """The source for machines; its day where that is known."""
    day: dict[str, JsonValue] = {"date": source.created_at.date().isoformat()} if source.created_at else {}
    return {"url": source.url, "title": source.title} | day


def _shares(question: str, pieces: Sequence[Piece], *, folded: bool) -> list[float]:
    """Of each piece, the share of the question's words it mentions, rarer ones weighing more; 0-1."""
    asked = set(content_words(question))
    bags = [set(words(f"{fold(p.section)} {fold(p.text)}" if folded else f"{p.section} {p.text}")) for p in pieces]
    weights = {word: math.log(1 + (len(bags) + 1) / (1 + sum(word in bag for bag in bags))) for word in asked}
    total = sum(weights.values()) or 1.0
    return [sum(weights[word] for word in asked & bag) / total for bag in bags]


def _passage(call: ToolCall, read: Text, at: int, language: str, similarity: float, relevance: float) -> Passage:
    source, piece, address = read.source, read.pieces[at], read.address(at)
    return Passage(
        chunk_id=uuid5(NAMESPACE_URL, f"{address}\n{at}\n{piece.text}"),
        document_id=uuid5(NAMESPACE_URL, source.url),
        external_id=source.url,
        title=source.title,
        section=piece.section,
        text=piece.text,
        url=address,
        department=AUTHORITY,
        scope="public",
        language=language,
        created_at=source.created_at or call.now,
        effective_from=None,
        effective_to=None,
        authority=AUTHORITY,
        similarity=similarity,
        text_rank=0.0,
        relevance_score=relevance,
        fused_score=0.0,
    )


def _opening(call: ToolCall, index: int, query: str, read: Text) -> Finding:
    """How the text begins, for who asks no more than what it says."""
    taken: list[Quote] = []
    for at, piece in enumerate(read.pieces):
        if taken and sum(len(quote.text) for quote in taken) + len(piece.text) > _OPENING_CHARS:
            break
        shown = _passage(call, read, at, guess_language(piece.text), 0.0, _OPENING_CONFIDENCE)
        taken.append(Quote(passage=shown, text=piece.text, score=_OPENING_CONFIDENCE))
    return computed(
        call, index, query, "\n\n".join(quote.text for quote in taken), source_type="web", url=read.source.url,
        created_at=read.source.created_at, context=read.source.title, confidence=_OPENING_CONFIDENCE,
        quotes=tuple(taken),
    )  # fmt: skip


MAX_TEXT_CHARS = 200_000
"""Of one source; what is longer is read to here."""
_FULL, _LONGEST = 700, 1_200
"""Characters: paragraphs grow together up to the first; no piece is longer than the second."""
_HEADING = re.compile(r"(?P<marks>#{1,6})\s+(?P<title>.+)")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n")
_RULE = re.compile(r"[|:\- ]+")


def pieces_of(markdown: str) -> list[Piece]:
    """The text's pieces in their order; a piece of a cut table begins with the table's header."""
    found: list[Piece] = []
    headings: dict[int, str] = {}
    for paragraph in _PARAGRAPH_END.split(clean(markdown[:MAX_TEXT_CHARS])):
        lines = paragraph.strip("\n")
        while match := _HEADING.match(lines):
            level = len(match["marks"])
            headings = {depth: title for depth, title in headings.items() if depth < level} | {level: match["title"]}
            lines = lines[match.end() :].lstrip("\n")
        section = " › ".join(title.strip() for title in headings.values())
        for part in _parts(lines.strip()):
            _take(found, Piece(part, section))
    return found


def _take(found: list[Piece], piece: Piece) -> None:
    """Add a piece, to the last one where both are short and stand under the same heading."""
    last = found[-1] if found else None
    if last and last.section == piece.section and len(last.text) + len(piece.text) <= _FULL:
        found[-1] = last._replace(text=f"{last.text}\n\n{piece.text}")
    else:
        found.append(piece)


def _parts(paragraph: str) -> Iterator[str]:
    """A paragraph, or its parts where it is too long."""
    if len(paragraph) <= _LONGEST:
        if paragraph:
            yield paragraph
        return
    header = _table_header(paragraph)
    body = paragraph[len(header) :]
    for part in _filled(_SENTENCE_END.split(body) if not header else body.split("\n"), "\n" if header else " "):
        yield f"{header}{part}"


def _filled(bits: list[str], joint: str) -> Iterator[str]:
    """Sentences or rows put together up to the length of a piece; one that is longer by itself is cut."""
    held = ""
    for bit in (cut for whole in bits for cut in _cut(whole.strip())):
        if held and len(held) + len(bit) > _FULL:
            yield held
            held = ""
        held = f"{held}{joint}{bit}" if held else bit
    if held:
        yield held


def _cut(bit: str) -> Iterator[str]:
    for at in range(0, len(bit), _LONGEST):
        yield bit[at : at + _LONGEST]


def _table_header(paragraph: str) -> str:
    """The first two lines of a Markdown table; empty for other text."""
    lines = paragraph.split("\n", 2)
    is_table = len(lines) > 2 and lines[0].startswith("|") and "-" in lines[1] and bool(_RULE.fullmatch(lines[1]))
    header = f"{lines[0]}\n{lines[1]}\n" if is_table else ""
    return header if len(header) < _FULL else ""
