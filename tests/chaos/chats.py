"""A client that never gives up: asks with a key, loses its line at any byte, comes back, and notes what is wrong."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tests.api.sse_reader import TERMINAL

_RETRIED = frozenset({429, 502, 503, 504})
"""Statuses that ask a client to come back."""
_BACKOFF_SECONDS = 0.2


@dataclass(frozen=True)
class Frame:
    """One event exactly as it came over the line."""

    seq: int
    type: str
    text: str

    @property
    def data(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.text)
        return value


class Chat:
    """One question as its client sees it, however often the line breaks."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        addresses: Callable[[], Sequence[str]],
        question: str,
        key: str,
        rng: random.Random,
        *,
        cut: Callable[[], int | None] = lambda: None,
    ):
        """`cut` says before each connection after how many bytes it breaks; None = not. `http` is signed in."""
        self._http, self._addresses = http, addresses
        self.question, self.key = question, key
        self._rng, self._cut = rng, cut
        self.frames: list[Frame] = []
        self.problems: list[str] = []
        """Whatever must never happen."""
        self.cuts = 0
        """Connections that ended before the terminal event."""
        self.refusals: Counter[int] = Counter()
        self.pending: list[dict[str, Any]] = []
        """Answers that were shown before they were in the database. What was told with one is void: everything is read
        again until the durable end."""
        self.task_id: str | None = None

    @property
    def has_ended(self) -> bool:
        return bool(self.frames) and self.frames[-1].type in TERMINAL

    @property
    def answer(self) -> dict[str, Any] | None:
        """What the terminal event carries; None where it is no answer."""
        return self.frames[-1].data.get("answer") if self.has_ended else None

    async def run(self, seconds: float) -> None:
        """Ask, and come back until the terminal event was seen."""
        try:
            async with asyncio.timeout(seconds):
                while not self.has_ended:
                    await self._connect()
        except TimeoutError:
            self.problems.append(f"no end within {seconds:.0f} s")

    async def _connect(self) -> None:
        base = f"{self._rng.choice(self._addresses())}/api/v1"
        try:
            async with self._request(base) as response:
                await self._read(response)
        except httpx.TransportError:
            await asyncio.sleep(_BACKOFF_SECONDS)
        self.cuts += not self.has_ended

    def _request(self, base: str) -> Any:
        """The first call, or one of the three ways back."""
        if self.task_id is None or (self.frames and self._rng.random() < 0.1):
            headers = {"Idempotency-Key": self.key}
            return self._http.stream("POST", f"{base}/chat/stream", json={"query": self.question}, headers=headers)
        path, last = f"{base}/tasks/{self.task_id}/events", str(len(self.frames))
        if self._rng.random() < 0.5:
            return self._http.stream("GET", path, params={"after": last})
        return self._http.stream("GET", path, headers={"Last-Event-ID": last})

    async def _read(self, response: httpx.Response) -> None:
        if response.status_code != 200:
            await self._refused(response)
            return
        if response.request.method == "POST" and self.frames:
            await self._read_again(response)
            return
        left, rest = self._cut(), b""
        async for chunk in response.aiter_raw():
            rest += chunk if left is None else chunk[:left]
            left = None if left is None else left - len(chunk)
            *blocks, rest = rest.split(b"\n\n")
            for block in blocks:
                await self._take(block.decode())
            if left is not None and left <= 0:
                return

    async def _read_again(self, response: httpx.Response) -> None:
        """The whole stream from its beginning: what was seen comes again as it was, unless this process tells a run
        that is not in the database yet."""
        text = ""
        try:
            async for piece in response.aiter_text():
                text += piece
        finally:
            told = frames_of(text[: text.rfind("\n\n") + 2])
            if told and is_pending(told[-1]):
                await self._begin_again(told[-1])
            else:
                seen, new = told[: len(self.frames)], told[len(self.frames) :]
                changed = [f"{was} became {now}" for was, now in zip(self.frames, seen, strict=False) if was != now]
                self.problems += changed
                for frame in [] if changed else new:
                    await self._append(frame)

    async def _refused(self, response: httpx.Response) -> None:
        self.refusals[response.status_code] += 1
        # What was answered without the database is unknown elsewhere until it is brought in.
        is_unknown_yet = response.status_code == 404 and self.pending and not self.frames
        if response.status_code not in _RETRIED and not is_unknown_yet:
            text = (await response.aread()).decode()
            self.problems.append(f"{response.status_code} behind {len(self.frames)} events: {text[:200]}")
        await asyncio.sleep(_BACKOFF_SECONDS)

    async def _take(self, block: str) -> None:
        frame = _frame(block)
        if frame is not None:
            await self._append(frame)

    async def _append(self, frame: Frame) -> None:
        """The next event, if it is that."""
        if self.task_id is None and "task_id" in frame.data:
            self.task_id = str(frame.data["task_id"])
        if is_pending(frame):
            await self._begin_again(frame)
        elif frame.seq <= len(self.frames):
            self.problems.append(f"double {frame.seq}")
        elif frame.seq != len(self.frames) + 1:
            self.problems.append(f"gap between {len(self.frames)} and {frame.seq}")
        elif self.has_ended:
            self.problems.append(f"{frame.type} behind the end")
        else:
            self.frames.append(frame)

    async def _begin_again(self, last: Frame) -> None:
        """An answer is shown that is not in the database yet: wait until it is."""
        answer = last.data["answer"]
        if answer not in self.pending:
            self.pending.append(answer)
        self.frames = []
        await asyncio.sleep(_BACKOFF_SECONDS)


def is_pending(frame: Frame) -> bool:
    """Whether this ends a run that waits to be brought into the database."""
    return frame.type in TERMINAL and frame.data.get("answer", {}).get("durability") == "pending"


def frames_of(text: str) -> list[Frame]:
    """The events of a whole stream."""
    return [frame for block in text.split("\n\n") if (frame := _frame(block)) is not None]


def _frame(block: str) -> Frame | None:
    fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
    return Frame(int(fields["id"]), fields["event"], fields["data"]) if "data" in fields else None
