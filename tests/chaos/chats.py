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

    @property
    def task_id(self) -> str | None:
        return str(self.frames[0].data["task_id"]) if self.frames else None

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
        if self.task_id is None or self._rng.random() < 0.1:
            headers = {"Idempotency-Key": self.key}
            return self._http.stream("POST", f"{base}/chat/stream", json={"query": self.question}, headers=headers)
        path, last = f"{base}/tasks/{self.task_id}/events", str(self.frames[-1].seq)
        if self._rng.random() < 0.5:
            return self._http.stream("GET", path, params={"after": last})
        return self._http.stream("GET", path, headers={"Last-Event-ID": last})

    async def _read(self, response: httpx.Response) -> None:
        if response.status_code != 200:
            await self._refused(response)
            return
        is_replay = response.request.method == "POST"
        left, rest = self._cut(), b""
        async for chunk in response.aiter_raw():
            rest += chunk if left is None else chunk[:left]
            left = None if left is None else left - len(chunk)
            *blocks, rest = rest.split(b"\n\n")
            for block in blocks:
                self._take(block.decode(), is_replay)
            if left is not None and left <= 0:
                return

    async def _refused(self, response: httpx.Response) -> None:
        self.refusals[response.status_code] += 1
        if response.status_code not in _RETRIED:
            text = (await response.aread()).decode()
            self.problems.append(f"{response.status_code} behind {len(self.frames)} events: {text[:200]}")
        await asyncio.sleep(_BACKOFF_SECONDS)

    def _take(self, block: str, is_replay: bool) -> None:
        frame = _frame(block)
        if frame is None:
            return
        if frame.seq <= len(self.frames):
            if not is_replay:
                self.problems.append(f"double {frame.seq}")
            elif frame != self.frames[frame.seq - 1]:
                self.problems.append(f"{frame.seq} changed from {self.frames[frame.seq - 1].type} to {frame.type}")
        elif frame.seq != len(self.frames) + 1:
            self.problems.append(f"gap between {len(self.frames)} and {frame.seq}")
        elif self.has_ended:
            self.problems.append(f"{frame.type} behind the end")
        else:
            self.frames.append(frame)


def frames_of(text: str) -> list[Frame]:
    """The events of a whole stream."""
    return [frame for block in text.split("\n\n") if (frame := _frame(block)) is not None]


def _frame(block: str) -> Frame | None:
    fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
    return Frame(int(fields["id"]), fields["event"], fields["data"]) if "data" in fields else None
