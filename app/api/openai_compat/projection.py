"""A run's journal as a completion: whole, or in chunks as it is written."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from app.api.openai_compat.shapes import (
    Annotation,
    AnswerMessage,
    Choice,
    Completion,
    RunTold,
    UrlCitation,
    Usage,
)
from app.api.retold import WRITTEN_ANEW, Retold
from app.api.titles import Named, unnamed
from app.domain.tokens import estimated_tokens
from app.events import FinalReport, JournalEntry, Redispatched, TaskCancelled, TaskFailed, TextDelta

_MARK = re.compile(r"\[(\d{1,3})\]")


def completion(
    model: str, created: int, prompt: str, answer: Mapping[str, Any], titles: Mapping[str, str]
) -> Completion:
    """A final answer (§5, with its ids) as a completion; `titles` by address."""
    text = str(answer["answer"])
    message = AnswerMessage(
        content=text, annotations=annotations(text, answer["evidence"], titles), references=tuple(answer["evidence"])
    )
    return Completion(
        id=f"chatcmpl-{answer['task_id']}", created=created, model=model, choices=(Choice(message=message),),
        usage=usage(prompt, text, answer), conclave=run_told(answer),
    )  # fmt: skip


def bare(model: str, created: int, number: str, prompt: str, text: str) -> Completion:
    """A completion no run was made for."""
    choice = Choice(message=AnswerMessage(content=text))
    return Completion(
        id=f"chatcmpl-{number}", created=created, model=model, choices=(choice,), usage=usage(prompt, text, {})
    )


def run_told(answer: Mapping[str, Any]) -> RunTold:
    """What else is known of the answer."""
    return RunTold.model_validate({name: answer[name] for name in RunTold.model_fields if name in answer})


def annotations(text: str, evidence: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> tuple[Annotation, ...]:
    """A citation for each place where the text names a source, ``[1]`` the first; sources it does not name stand at
    its end."""
    marks: dict[int, list[re.Match[str]]] = {}
    for mark in _MARK.finditer(text):
        marks.setdefault(int(mark[1]), []).append(mark)
    found: list[Annotation] = []
    for number, source in enumerate(evidence, 1):
        spans = [mark.span() for mark in marks.get(number, ())] or [(len(text), len(text))]
        url = str(source["url"])
        found += [
            Annotation(url_citation=UrlCitation(url=url, title=titles.get(url, url), start_index=start, end_index=end))
            for start, end in spans
        ]
    return tuple(found)


def usage(prompt: str, text: str, answer: Mapping[str, Any]) -> Usage:
    """What models were asked in this run; of an answer without a model an estimate of what was said."""
    asked = (answer.get("execution_metadata") or {}).get("model_usage")
    if asked:
        read, written = int(asked["prompt_tokens"]), int(asked["completion_tokens"])
    else:
        read, written = estimated_tokens(prompt), estimated_tokens(text)
    return Usage(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)


class Chunks:
    """The chunks of one streamed completion, as JSON objects in their order."""

    def __init__(
        self, number: str, model: str, created: int, prompt: str, *, include_usage: bool, named: Named = unnamed
    ):
        """`named` is asked once, with the end."""
        self._frame = {
            "id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": created, "model": model,
        }  # fmt: skip
        self._prompt, self._include_usage = prompt, include_usage
        self._text, self._named = Retold(), named

    async def of(self, entries: AsyncIterator[JournalEntry]) -> AsyncGenerator[dict[str, Any], None]:
        """One run's journal, to its end."""
        yield self._chunk({"role": "assistant", "content": ""})
        async for entry in entries:
            match entry.event:
                case TextDelta(text=text):
                    if piece := self._text.fresh(text):
                        yield self._chunk({"content": piece})
                case Redispatched():
                    self._text.begin_again()
                case FinalReport(answer=answer):
                    for chunk in self._ended(answer, await self._named(answer["evidence"])):
                        yield chunk
                case TaskFailed(answer=answer):
                    yield refusal(str(answer.get("error_message")), str(answer.get("error_code")))
                case TaskCancelled(reason=reason):
                    yield refusal(f"The task was stopped: {reason}", "TASK_CANCELLED")
                case _:
                    pass

    def whole(self, text: str) -> Iterator[dict[str, Any]]:
        """A text no run was made for."""
        yield self._chunk({"role": "assistant", "content": text})
        yield from self._last({}, usage(self._prompt, text, {}))

    def _ended(self, answer: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        text = str(answer["answer"])
        rest = self._text.rest(text)
        if rest is None:
            yield refusal(WRITTEN_ANEW, "OVERLOADED")
            return
        if rest:
            yield self._chunk({"content": rest})
        told = AnswerMessage(
            content="", annotations=annotations(text, answer["evidence"], titles), references=tuple(answer["evidence"])
        ).model_dump(mode="json", include={"annotations", "references"})
        own = {"conclave": run_told(answer).model_dump(mode="json", exclude_unset=True)}
        yield from self._last(told, usage(self._prompt, text, answer), own)

    def _last(
        self, delta: dict[str, Any], used: Usage, own: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        yield {**self._chunk(delta, "stop"), **(own or {})}
        if self._include_usage:
            yield {**self._frame, "choices": [], "usage": used.model_dump()}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._frame, "choices": [choice], **({"usage": None} if self._include_usage else {})}


def refusal(message: str, code: str, kind: str = "server_error") -> dict[str, Any]:
    """An error as OpenAI's clients read it, in a stream or as a body."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
