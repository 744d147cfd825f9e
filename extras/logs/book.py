"""The system logs of a tenant: lines are checked one by one and brought in, and looked at as the asker may."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field, TypeAdapter, ValidationError

from app.domain.principal import GENERAL, Principal, Scope
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import first_fault
from app.ingestion.intake import demand_admin
from app.storage.database import Database
from app.storage.paging import read_cursor, write_cursor
from app.text.language import clean
from extras.logs.lines import LogLine, store_logs
from extras.logs.reading import LogFilter, LogPosition, page_logs
from extras.logs.regex import Fault, Regex, RegexRefused, compile_regex
from extras.logs.report import mask_secrets
from extras.logs.search import SECONDS, FoundLines, find_by_regex

JSON_LINES = "application/x-ndjson"
MAX_LINE_BYTES = 65_536
MAX_MESSAGE_CHARS = 8_000
_PROBLEM_CHARS = 200


def _filled(text: str) -> str:
    if not (cleaned := clean(text).strip()):
        raise ValueError("must not be blank")
    return cleaned


def _name(text: str) -> str:
    return " ".join(_filled(text).split())


LogMoment = Annotated[AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(2200, 1, 1, tzinfo=UTC))]
"""A time log lines may have."""


class LogDraft(LogLine):
    """A line as it is sent. An unknown field is refused, so that a misspelt right is never ignored."""

    logged_at: LogMoment
    """With its time zone: ``2026-11-12T08:30:00+07:00``."""
    source: Annotated[str, Field(max_length=200), AfterValidator(_name)]
    level: Annotated[str, Field(max_length=40), AfterValidator(_name), AfterValidator(str.upper)]
    message: Annotated[str, Field(max_length=MAX_MESSAGE_CHARS), AfterValidator(_filled), AfterValidator(mask_secrets)]
    """Without its secrets: what is never stored is found by no word and no expression, letter by letter either."""
    department: Annotated[str, Field(max_length=64), AfterValidator(_name), AfterValidator(str.lower)] = GENERAL
    scope: Scope = "internal"


class RefusedLine(Record):
    """A line that was not stored."""

    line: int
    """From 1; in an array the element's number."""
    problem: str


def elements_of(body: bytes) -> list[bytes]:
    """The elements of a JSON array, each as a line. Raises `AppError` (422) when it is none."""
    try:
        elements = json.loads(body)
        if isinstance(elements, list):
            return [json.dumps(element).encode() for element in elements]
    except (ValueError, RecursionError) as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The body is not JSON.", status=422) from error
    raise AppError(ErrorCode.PAYLOAD_INVALID, "The body is not a JSON array of log lines.", status=422)


def check_lines(lines: Iterable[bytes], first: int = 1) -> tuple[list[LogDraft], list[RefusedLine]]:
    """The good lines, and the others with their number and what is wrong with them (never their text). Blank lines are
    passed over."""
    good, refused = list[LogDraft](), list[RefusedLine]()
    for number, line in enumerate(lines, first):
        problem = f"has more than {MAX_LINE_BYTES} bytes" if len(line) > MAX_LINE_BYTES else ""
        if line.strip() and not problem:
            try:
                good.append(LogDraft.model_validate_json(line))
            except ValidationError as error:
                problem = "is not JSON" if error.errors()[0]["type"] == "json_invalid" else first_fault(error)
        if problem:
            refused.append(RefusedLine(line=number, problem=clean(problem)[:_PROBLEM_CHARS]))
    return good, refused


REFUSED_SHOWN = 20
_MAX_WORDS = 8
_Place = tuple[LogMoment, Annotated[int, Field(ge=-(2**63), lt=2**63)], Annotated[int, Field(ge=0, lt=2**31)]]
_PLACE: TypeAdapter[_Place] = TypeAdapter(_Place)
"""A `LogPosition`."""
_FAULTS: dict[Fault, str] = {
    "empty": "is empty.",
    "long": "must have at most 500 characters.",
    "large": "is too large; repeat less.",
    "syntax": "is not in RE2's syntax, which has no references back and no look-around.",
}


class Delivery(Record):
    """What became of the lines somebody brought."""

    stored: int = 0
    """New lines."""
    repeated: int = 0
    """Lines that were stored before; they are kept once."""
    refused_lines: int = 0
    refused: tuple[RefusedLine, ...] = ()
    """The first 20 of them."""

    def and_then(self, other: "Delivery") -> "Delivery":
        """Both together, this one first."""
        return Delivery(
            stored=self.stored + other.stored,
            repeated=self.repeated + other.repeated,
            refused_lines=self.refused_lines + other.refused_lines,
            refused=(*self.refused, *other.refused)[:REFUSED_SHOWN],
        )


class LogPage(Record):
    """Lines, newest first; secrets in them are hidden."""

    lines: tuple[LogLine, ...]
    next_cursor: str | None
    """Ask again with it for the lines before these; null at the end."""
    looked_through: int
    """Lines a regular expression was tried on; a page may be short when its time was up."""


class LogBook:
    """Log lines of whoever asks."""

    def __init__(self, database: Database):
        self._database = database

    async def take_in(self, principal: Principal, lines: Sequence[bytes], first: int = 1) -> Delivery:
        """Check lines, numbered from `first`, and store the good ones in one commit. Equal lines of one call are told
        apart by their order; one that is there already is not stored again. Raises `AppError` for who is no
        administrator."""
        check_may_bring(principal)
        good, refused = await asyncio.to_thread(check_lines, lines, first)
        stored, told = await store_logs(self._database, principal, good), tuple(refused[:REFUSED_SHOWN])
        return Delivery(stored=stored, repeated=len(good) - stored, refused_lines=len(refused), refused=told)

    async def page(
        self, principal: Principal, wanted: LogFilter, *, regex: str = "", cursor: str | None = None, limit: int = 50
    ) -> LogPage:
        """Lines the caller may read, newest first, a page at a time. Raises `AppError` (422) for a regular expression
        that is refused and a cursor that was not given out here."""
        place = read_cursor(_PLACE, cursor)
        before = place and LogPosition(*place)
        async with self._database.principal_scope(principal, durable=False) as tx:
            if regex:
                until = asyncio.get_running_loop().time() + SECONDS
                compiled = _compiled(regex)
                found = await find_by_regex(tx, wanted, compiled, limit=limit, before=before, until=until)
            else:
                lines = await page_logs(tx, wanted, limit=limit + 1, before=before)
                behind = lines[limit - 1].position if len(lines) > limit else None
                found = FoundLines(lines[:limit], behind, 0)
        return LogPage(
            lines=tuple(one.line.model_copy(update={"message": mask_secrets(one.line.message)}) for one in found.lines),
            next_cursor=None if found.behind is None else write_cursor(_PLACE, found.behind),
            looked_through=found.looked_through,
        )


def words_of(text: str) -> tuple[str, ...]:
    """The words that are looked for."""
    return tuple(word for word in text.split() if any(sign.isalnum() for sign in word))[:_MAX_WORDS]


def check_may_bring(principal: Principal) -> None:
    """Raise `AppError` (403) for who is no administrator."""
    demand_admin(principal, "brings log lines in")


def _compiled(text: str) -> Regex:
    try:
        return compile_regex(text)
    except RegexRefused as refusal:
        detail = f"regex: {_FAULTS[refusal.fault]}"
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422) from refusal
