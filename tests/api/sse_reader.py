"""Reading server-sent events the way the standard says, for tests."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx

TERMINAL = {"final_report", "task_failed", "task_cancelled"}


@dataclass(frozen=True)
class Seen:
    """One received event."""

    seq: int
    type: str
    data: dict[str, Any]


def parse(text: str) -> list[Seen]:
    """The events of a finished piece of stream; comments are skipped."""
    return [event for block in re.split(r"\r\n\r\n|\n\n|\r\r", text) if (event := _event(block)) is not None]


def _event(block: str) -> Seen | None:
    fields: dict[str, str] = {}
    for line in re.split(r"\r\n|\n|\r", block):
        name, _, value = line.partition(":")
        if name:
            value = value.removeprefix(" ")
            fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
    return Seen(int(fields["id"]), fields["event"], json.loads(fields["data"])) if "data" in fields else None


async def events_of(response: httpx.Response) -> AsyncIterator[Seen]:
    """Events as they come in."""
    rest = ""
    async for text in response.aiter_text():
        *blocks, rest = (rest + text).split("\n\n")
        for block in blocks:
            event = _event(block)
            if event is not None:
                yield event
