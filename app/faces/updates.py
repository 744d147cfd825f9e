"""Read a run's journal once for every protocol: what changes for somebody who looks on, and how it is streamed.

`RunReader` turns journal events into updates; a protocol's projection derives from `RunProjection` and only says how
each update is written. The text of an answer is given out once, whatever attempts it took, and every run has one end.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sse_starlette import ServerSentEvent

from app.api.deps import AppServices
from app.api.sse import TimedStream
from app.domain.answer import in_seed_order
from app.domain.knowledge import titles_by_url, without_page
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.events import Event, FinalReport, JournalEntry, Progress, Redispatched, TaskFailed, TextDelta
from app.faces.quoted import Quotes, note_quotes

Chunk = dict[str, Any]
Evidence = Sequence[Mapping[str, Any]]
ANSWER_FIELDS = (
    "answer", "outcome", "confidence_score", "evidence", "reasoning", "follow_up_questions", "session_id", "task_id",
)  # fmt: skip
"""Of an answer, without its trace."""
_REWRITTEN = "The answer was written anew after its first words were sent; ask again."


@dataclass(frozen=True)
class Progressed:
    """The run went on."""

    is_counted: bool
    """Whether `RunReader.progress` and `message` are new."""


@dataclass(frozen=True)
class Answered:
    """The end: an answer, its whole text given out."""

    answer: Mapping[str, Any]
    """With its fields in the order of §5."""
    titles: Mapping[str, str]
    """Titles of its sources by address."""


@dataclass(frozen=True)
class Failed:
    """The end: there is no answer, or it cannot be followed any more."""

    message: str
    code: ErrorCode


Update = Progressed | Answered | Failed | Event
"""What the reader worked out, or else the event as it is; a `TextDelta` holds text that was not given out before."""


@dataclass
class RunReader:
    """One run, as far as its journal was read."""

    name_sources: Callable[[Evidence], Awaitable[dict[str, str]]] | None = None
    """See `titles_of`; asked once, with the end. None = sources have no titles."""
    with_text: bool = True
    """False for a reader that takes the text whole with the end."""
    progress: float = 0
    message: str = ""
    quotes: Quotes = field(default_factory=dict)
    _given_out: str = ""
    _of_attempt: str = ""

    async def updates(self, entries: AsyncIterator[JournalEntry]) -> AsyncGenerator[tuple[int, Update], None]:
        """Updates with the seq of their event; `Failed` comes last when the run is erased or the database goes away."""
        seq = 0
        try:
            async for entry in entries:
                seq, titles = entry.seq, {}
                if isinstance(entry.event, FinalReport) and self.name_sources is not None:
                    titles = await self.name_sources(entry.event.answer["evidence"])
                for update in self.read(entry.event, titles):
                    yield seq, update
        except AppError as error:
            yield seq + 1, Failed(error.detail, error.code)
        finally:
            if isinstance(entries, AsyncGenerator):
                await entries.aclose()

    def read(self, event: Event, titles: Mapping[str, str]) -> Iterator[Update]:
        """Read one event; `titles` are those of its sources."""
        note_quotes(event, self.quotes)
        match event:
            case TextDelta(text=text):
                if self.with_text and (piece := self._new_text(text)):
                    yield event.model_copy(update={"text": piece})
            case Progress(output=output):
                yield self._progress(output)
            case FinalReport(answer=answer):
                yield from self._answered(answer, titles)
            case TaskFailed(answer=answer):
                yield Failed(str(answer.get("error_message")), ErrorCode(answer["error_code"]))
            case Redispatched():
                self._of_attempt = ""
                yield event
            case _:
                yield event

    def _new_text(self, text: str) -> str:
        """What of a piece was not given out by an earlier attempt, which begins its text again."""
        self._of_attempt += text
        if len(self._of_attempt) <= len(self._given_out) or not self._of_attempt.startswith(self._given_out):
            return ""  # an attempt that says it differently: its whole text comes with the end
        piece, self._given_out = self._of_attempt[len(self._given_out) :], self._of_attempt
        return piece

    def _answered(self, answer: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[Update]:
        text = str(answer["answer"])
        if not text.startswith(self._given_out):
            yield Failed(_REWRITTEN, ErrorCode.OVERLOADED)
            return
        if self.with_text and (rest := text[len(self._given_out) :]):
            yield TextDelta(text=rest)
        yield Answered(in_seed_order(answer), titles)

    def _progress(self, output: Mapping[str, Any]) -> Progressed:
        is_counted = "progress_percentage" in output
        if is_counted:
            self.progress = output["progress_percentage"]
            self.message = str(output.get("progress_message") or "")
        return Progressed(is_counted)


async def titles_of(services: AppServices, caller: Principal, evidence: Evidence) -> dict[str, str]:
    """Titles by address of what an answer cites, as far as the caller may read it; none while the database is away."""
    cited = [(str(one["url"]), datetime.fromisoformat(str(one["created_at"]))) for one in evidence]
    if not cited:
        return {}
    try:
        found = await services.catalogue.titles(caller, sorted({without_page(url) for url, _ in cited}))
    except AppError:
        return {}
    return titles_by_url(cited, found)


def tokens_of(answer: Mapping[str, Any]) -> tuple[int, int] | None:
    """What models read and wrote for an answer; None where none was asked."""
    used = (answer.get("execution_metadata") or {}).get("model_usage")
    return (int(used["prompt_tokens"]), int(used["completion_tokens"])) if used else None


class RunProjection(ABC):
    """A run as one protocol writes it."""

    has_ended = False
    """Set by a protocol that ends a stream before the run does."""

    done: str | None = None
    """A last line of the stream that is no JSON."""
    headers: Mapping[str, str] | None = None

    def __init__(self) -> None:
        self.run = RunReader()

    @abstractmethod
    def begin(self) -> Iterator[Chunk]:
        """What comes before the first update."""

    @abstractmethod
    def write(self, update: Update, seq: int) -> Iterator[Chunk]:
        """An update, and the seq of the event it was read from."""

    async def chunks(self, entries: AsyncIterator[JournalEntry]) -> AsyncGenerator[Chunk, None]:
        """One run's journal, from its beginning to its end."""
        for chunk in self.begin():
            yield chunk
        async with aclosing(self.run.updates(entries)) as updates:
            async for seq, update in updates:
                for chunk in self.write(update, seq):
                    yield chunk
                if self.has_ended:
                    return

    def stream(self, services: AppServices, caller: Principal, task_id: UUID) -> TimedStream:
        """The run as server-sent events without names and ids."""
        self.run.name_sources = partial(titles_of, services, caller)
        return self.stream_of(self.chunks(services.journal.follow(caller, task_id)))

    def stream_of(self, chunks: AsyncGenerator[Chunk, None]) -> TimedStream:
        """These chunks as server-sent events."""
        return TimedStream(_frames(chunks, self.done), headers=self.headers)


async def _frames(chunks: AsyncGenerator[Chunk, None], done: str | None) -> AsyncGenerator[ServerSentEvent, None]:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield ServerSentEvent(json.dumps(chunk, ensure_ascii=False), sep="\n")
        if done is not None:
            yield ServerSentEvent(done, sep="\n")
