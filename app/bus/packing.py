"""How messages are written between processes: as JSON batches, never with a payload."""

from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import TypeAdapter, ValidationError

from app.domain.messages import Message

TEXT_BYTES: Final = 7_900
"""A text may have; NOTIFY takes no 8,000."""
_BATCH: TypeAdapter[tuple[str, list[Message]]] = TypeAdapter(tuple[str, list[Message]])


class Unreadable(ValueError):
    """The text was not written by this version of the service."""


def pack(origin: str, messages: Sequence[Message]) -> Iterator[str]:
    """Texts under `TEXT_BYTES` that carry the messages in order, without payloads; a message that fits in no text is
    left out."""
    if not messages:
        return
    text = _BATCH.dump_json((origin, list(messages)), exclude={1: {"__all__": {"payload"}}}, exclude_defaults=True)
    if len(text) <= TEXT_BYTES:
        yield text.decode()
    elif len(messages) > 1:
        half = len(messages) // 2
        yield from pack(origin, messages[:half])
        yield from pack(origin, messages[half:])


def unpack(text: str) -> tuple[str, list[Message]]:
    """The origin and the messages of a text. Raises `Unreadable`."""
    try:
        return _BATCH.validate_json(text)
    except ValidationError as error:
        raise Unreadable("not a batch of messages") from error
