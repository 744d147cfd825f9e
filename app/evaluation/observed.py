"""What a run told: everything its asker was shown, taken out of the events of its journal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.domain.knowledge import without_page
from app.domain.record import Record
from app.events import ConflictResolved, Event, FinalReport, TaskCancelled, TaskFailed, TextDelta


class Weighed(Record):
    """A disagreement as the run reported it."""

    winner: str
    """url; of both sides alike where it was left undecided."""
    loser: str
    decided: bool
    type: str = ""
    """Empty where the run names none."""


class Observation(Record):
    """One question as it was answered."""

    outcome: str
    """Of the answer; ``failed`` for an error, also one before the run began."""
    answer: str = ""
    """The fallback answer, and why there is no other, where the run failed."""
    confidence: float = 0.0
    evidence: tuple[str, ...] = ()
    """Addresses without pages, ranked as the answer ranks them, each once."""
    agents: tuple[str, ...] = ()
    conflicts: tuple[Weighed, ...] = ()
    seconds: float = 0.0
    """From asking to the answer's end, as the asker waits."""
    tokens: int = 0
    """Of language models, prompts included."""
    error: str = ""


def observed(events: Sequence[Event], seconds: float) -> Observation:
    """The observation a run's events add up to."""
    ending = events[-1] if events else None
    match ending:
        case FinalReport(answer=answer) | TaskFailed(answer=answer):
            return _of_answer(answer, _conflicts(events), seconds)
        case TaskCancelled(reason=reason):
            return Observation(outcome="failed", seconds=seconds, error=f"cancelled: {reason}")
        case _:
            return Observation(outcome="failed", seconds=seconds, error="the run did not end")


def shown_texts(events: Sequence[Event]) -> list[tuple[str, str]]:
    """(where, text) of all that is told of a run: the parts of its answer, and every event."""
    texts: list[tuple[str, str]] = []
    for event in events:
        told = event.model_dump(mode="json")
        if isinstance(event, FinalReport | TaskFailed):
            for part, value in event.answer.items():
                texts.append((part, _text_of(value)))
        else:
            texts.append((f"event {event.type}", _text_of(told)))
    texts.append(("event text_delta", "".join(event.text for event in events if isinstance(event, TextDelta))))
    return texts


def cited_urls(observation: Observation) -> Iterator[tuple[str, str]]:
    """(where, url) of every document the answer names as a source."""
    yield from (("evidence", url) for url in observation.evidence)
    for conflict in observation.conflicts:
        yield from (("conflicts", url) for url in (conflict.winner, conflict.loser) if url)


def _of_answer(answer: Mapping[str, Any], conflicts: tuple[Weighed, ...], seconds: float) -> Observation:
    metadata = answer.get("execution_metadata") or {}
    usage = metadata.get("model_usage") or {}
    failed = bool(answer.get("error"))
    return Observation(
        outcome=str(answer.get("outcome") or "failed"),
        answer=str(answer.get("fallback_answer" if failed else "answer") or ""),
        confidence=float(answer.get("confidence_score") or 0.0),
        evidence=tuple(dict.fromkeys(without_page(str(one["url"])) for one in answer.get("evidence") or ())),
        agents=tuple(metadata.get("agents_invoked") or ()),
        conflicts=conflicts,
        seconds=seconds,
        tokens=int(usage.get("prompt_tokens", 0)) + int(usage.get("completion_tokens", 0)),
        error=f"{answer.get('error_code')}: {answer.get('error_message')}" if failed else "",
    )


def _conflicts(events: Sequence[Event]) -> tuple[Weighed, ...]:
    told = [event for event in events if isinstance(event, ConflictResolved)]
    return tuple(_weighed(one) for one in told[-1].conflicts) if told else ()


def _weighed(told: Mapping[str, Any]) -> Weighed:
    winner, loser = (told.get(side) or {} for side in ("winner", "loser"))
    return Weighed(
        winner=without_page(str(winner.get("url") or "")),
        loser=without_page(str(loser.get("url") or "")),
        decided=bool(told.get("decided")),
        type=str(told.get("conflict_type") or ""),
    )


def _text_of(value: Any) -> str:
    """Every string inside a JSON value, keys included, a line each."""
    match value:
        case str():
            return value
        case dict():
            return "\n".join(f"{key}\n{_text_of(item)}" for key, item in value.items())
        case list() | tuple():
            return "\n".join(_text_of(item) for item in value)
        case _:
            return ""
