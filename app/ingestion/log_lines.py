"""Log lines as they are brought in: JSON lines or a JSON array, each line checked by itself."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from app.domain.principal import GENERAL, Scope
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.storage.log_lines import LogLine
from app.text.language import clean

MAX_LINE_BYTES = 65_536
MAX_MESSAGE_CHARS = 8_000
_YEARS = range(1970, 2200)
_PROBLEM_CHARS = 200


def _name(text: str) -> str:
    if not (cleaned := " ".join(clean(text).split())):
        raise ValueError("must not be blank")
    return cleaned


def _level(text: str) -> str:
    return _name(text).upper()


def _department(text: str) -> str:
    return _name(text).lower()


def _message(text: str) -> str:
    if not (cleaned := clean(text).strip()):
        raise ValueError("must not be blank")
    return cleaned


def _in_range(moment: AwareDatetime) -> AwareDatetime:
    if moment.year not in _YEARS:
        raise ValueError(f"the year must lie from {_YEARS.start} to {_YEARS.stop - 1}")
    return moment


LogMoment = Annotated[AwareDatetime, AfterValidator(_in_range)]
"""A time log lines may have."""


class LogDraft(Record):
    """A line as it is sent. An unknown field is refused, so that a misspelt right is never ignored."""

    logged_at: LogMoment
    """With its time zone: ``2026-11-12T08:30:00+07:00``."""
    source: Annotated[str, Field(max_length=200), AfterValidator(_name)]
    level: Annotated[str, Field(max_length=40), AfterValidator(_level)]
    message: Annotated[str, Field(max_length=MAX_MESSAGE_CHARS), AfterValidator(_message)]
    department: Annotated[str, Field(max_length=64), AfterValidator(_department)] = GENERAL
    scope: Scope = "internal"


class RefusedLine(Record):
    """A line that was not stored."""

    line: int
    """From 1; in an array the element's number."""
    problem: str


class RawLine(NamedTuple):
    """A line nobody looked at yet."""

    number: int
    content: bytes | Any
    """Bytes of one JSON object, or an element of an array."""


def raw_lines(pieces: Iterable[bytes], *, first: int = 1) -> Iterator[RawLine]:
    """The lines of a text that are not blank, with their numbers."""
    for number, piece in enumerate(pieces, first):
        if piece.strip():
            yield RawLine(number, piece)


def raw_elements(body: bytes) -> list[RawLine]:
    """The elements of a JSON array. Raises `AppError` (422) when it is none."""
    try:
        elements = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The body is not JSON.", status=422) from error
    if not isinstance(elements, list):
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The body is not a JSON array of log lines.", status=422)
    return [RawLine(number, element) for number, element in enumerate(elements, 1)]


def check_lines(raw: Sequence[RawLine]) -> tuple[list[LogLine], list[RefusedLine]]:
    """The good lines, and the others with what is wrong with them (never their text)."""
    good, refused = [], []
    for number, content in raw:
        try:
            good.append(_checked(content))
        except ValidationError as error:
            refused.append(RefusedLine(line=number, problem=_told(error)))
        except ValueError as error:
            refused.append(RefusedLine(line=number, problem=str(error)))
    return good, refused


def _checked(content: bytes | Any) -> LogLine:
    if not isinstance(content, bytes):
        draft = LogDraft.model_validate(content)
    elif len(content) > MAX_LINE_BYTES:
        raise ValueError(f"has more than {MAX_LINE_BYTES} bytes")
    else:
        draft = LogDraft.model_validate_json(content)
    return LogLine.model_construct(**draft.__dict__)


def _told(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if fault["type"] == "json_invalid":
        return "is not JSON"
    where = ".".join(clean(str(part))[:40] for part in fault["loc"]) or "line"
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}"[:_PROBLEM_CHARS]
