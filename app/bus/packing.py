"""How messages are written between processes: ids and names of a whole batch once, never a payload.

``[1, origin, words, messages]``: `words` holds every id (hex) and name of the batch, a message names them by place.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast
from uuid import UUID

from app.domain.messages import Message

TEXT_BYTES: Final = 7_900
"""A text may have; NOTIFY takes no 8,000."""
_FORMAT = 1
_IDS = frozenset({"tenant_id", "user_id", "session_id", "root_task_id", "task_id"})
_WORDS = (*sorted(_IDS), "method", "topic", "from_agent", "to_agent", "agent_type")
_NUMBERS = ("attempt", "seq", "token_limit")


class Unreadable(ValueError):
    """The text was not written by this version of the service."""


def pack(origin: str, messages: Sequence[Message]) -> Iterator[str]:
    """Texts under `TEXT_BYTES` that carry the messages in order, without payloads; a message that fits in no text is
    left out."""
    if not messages:
        return
    text = _text(origin, messages)
    if len(text) <= TEXT_BYTES:  # ASCII
        yield text
    elif len(messages) > 1:
        half = len(messages) // 2
        yield from pack(origin, messages[:half])
        yield from pack(origin, messages[half:])


def unpack(text: str) -> tuple[str, list[Message]]:
    """The origin and the messages of a text. Raises `Unreadable`."""
    try:
        form, origin, words, rows = json.loads(text)
        if form != _FORMAT:
            raise Unreadable(f"messages of form {form!r}")
        word = _reader(words)
        return str(origin), [_message(word, row) for row in rows]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Unreadable("not a batch of messages") from error


def _text(origin: str, messages: Sequence[Message]) -> str:
    words: dict[UUID | str, int] = {}
    rows = [_row(words, message) for message in messages]
    written = [word.hex if isinstance(word, UUID) else word for word in words]
    return json.dumps([_FORMAT, origin, written, rows], separators=(",", ":"))


def _row(words: dict[UUID | str, int], message: Message) -> list[int | None]:
    told = message.__dict__
    row: list[int | None] = [words.setdefault(told[field], len(words)) for field in _WORDS]
    row += [told[field] for field in _NUMBERS]
    row.append(None if message.deadline is None else round(message.deadline.timestamp() * 1000))
    return row


def _message(word: Callable[[int, str], UUID | str], row: Sequence[int | None]) -> Message:
    *numbers, deadline = row[len(_WORDS) :]
    fields: dict[str, Any] = dict(zip(_NUMBERS, numbers, strict=True))
    for field, place in zip(_WORDS, row, strict=False):
        fields[field] = word(cast(int, place), field)
    fields["deadline"] = None if deadline is None else datetime.fromtimestamp(deadline / 1000, UTC)
    return Message(**fields)


def _reader(words: Sequence[str]) -> Callable[[int, str], UUID | str]:
    """Words by place; an id is read once however often it is named."""
    ids: dict[int, UUID] = {}

    def word(place: int, field: str) -> UUID | str:
        if field not in _IDS:
            return words[place]
        if place not in ids:
            ids[place] = UUID(words[place])
        return ids[place]

    return word
