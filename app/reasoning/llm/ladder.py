"""Ask a model with patience: the one layer that retries, pays, leaves a broken endpoint alone, and goes down to the
next smaller model. Text that went out is never repeated."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from app.errors import AppError, ErrorCode
from app.reasoning.budget import LimitReached, Spent, current_account
from app.reasoning.llm.request import FINAL, OUTAGES, TRANSIENT, CallOutcome, ModelFailed, Request, Usage


@dataclass
class Breaker:
    """Opens after `threshold` outages in a row; lets one call through after a pause, which doubles while that call
    fails."""

    clock: Callable[[], float]
    """Monotonic, in seconds."""
    threshold: int = 5
    pause_seconds: float = 15.0
    longest_seconds: float = 300.0

    def __post_init__(self) -> None:
        self.reset()

    @property
    def is_open(self) -> bool:
        """Whether calls are refused at the moment."""
        return self._open_until is not None and (self._is_probing or self.clock() < self._open_until)

    def reset(self) -> None:
        """Forget everything: the endpoint is known to be well."""
        self._outages, self._pause, self._is_probing = 0, self.pause_seconds, False
        self._open_until: float | None = None

    def admit(self) -> bool:
        """Whether a call may be made; the first one after the pause is the probe. Every admitted call is `note`d."""
        if self._open_until is None:
            return True
        if self.is_open:
            return False
        self._is_probing = True
        return True

    def note(self, outcome: CallOutcome) -> None:
        """How an admitted call ended."""
        was_probe, self._is_probing = self._is_probing, False
        if outcome is CallOutcome.CANCELLED or outcome is CallOutcome.DEADLINE:
            return  # says nothing about the endpoint
        if outcome not in OUTAGES:
            self.reset()
            return
        self._outages += 1
        if was_probe:
            self._pause = min(self._pause * 2, self.longest_seconds)
        if was_probe or self._outages >= self.threshold:
            self._open_until = self.clock() + self._pause


if TYPE_CHECKING:
    from app.reasoning.llm.endpoint import Endpoint

_PAUSE_SECONDS = 0.4
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Rung:
    """A model and how it has been doing."""

    endpoint: "Endpoint"
    breaker: Breaker = field(default_factory=lambda: Breaker(time.monotonic))

    def move(self, base_url: str, api_key: str) -> None:
        """Ask at another address from now on; what failed at the old one is forgotten."""
        self.endpoint.client.base_url, self.endpoint.client.api_key = base_url, api_key or "none"
        self.breaker.reset()


@dataclass
class Ladder:
    """Models from the best to the smallest. What comes after the last one is for the caller to know."""

    rungs: Sequence[Rung]
    max_tries: int = 3
    rng: random.Random = field(default_factory=random.Random)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def models(self) -> tuple[str, ...]:
        """Names, best first."""
        return tuple(rung.endpoint.model for rung in self.rungs)

    async def aclose(self) -> None:
        """Close every endpoint."""
        for rung in self.rungs:
            await rung.endpoint.aclose()

    async def text(self, purpose: str, request: Request, *, share: float = 1.0) -> str:
        """The whole reply. Raises `ModelFailed`."""
        pieces: list[str] = []
        async with aclosing(_Attempts(self, purpose, request, share).run(pieces.clear)) as coming:
            async for piece in coming:  # a try that fails forgets its pieces, so they are kept one by one
                pieces.append(piece)  # noqa: PERF401
        return "".join(pieces)

    def stream(self, purpose: str, request: Request, *, share: float = 1.0) -> AsyncGenerator[str, None]:
        """The reply as it comes. Raises `ModelFailed`; close the iterator to stop the model."""
        return _Attempts(self, purpose, request, share).run(None)

    async def pause(self, tries: int, asked_for: float | None, until: float) -> bool:
        """Wait before the next try; False when there is no time for that."""
        wait = asked_for if asked_for is not None else _PAUSE_SECONDS * 2 ** (tries - 1)
        wait *= self.rng.uniform(1.0, 1.25) if asked_for is not None else self.rng.uniform(0.5, 1.5)
        if asyncio.get_running_loop().time() + wait >= until:
            return False
        await self.sleep(wait)
        return True


class _Attempts:
    """The tries of one call."""

    def __init__(self, ladder: Ladder, purpose: str, request: Request, share: float):
        account = current_account()
        if account is None:
            raise RuntimeError("a model was to be asked outside a run: nobody would pay")
        self._ladder, self._purpose, self._request, self._account = ladder, purpose, request, account
        self._until = asyncio.get_running_loop().time() + account.seconds_left * share
        self._tries = 0

    async def run(self, forget: Callable[[], None] | None) -> AsyncGenerator[str, None]:
        """Pieces of the first try that succeeds. `forget` is called before a try that repeats what was yielded;
        without it nothing may be repeated."""
        last = ModelFailed(CallOutcome.CIRCUIT_OPEN)
        for place, rung in enumerate(self._ladder.rungs):
            further = len(self._ladder.rungs) - place - 1
            while self._tries < max(self._ladder.max_tries - further, place + 1):
                spoke = False
                try:
                    async with aclosing(self._once(rung)) as pieces:
                        async for piece in pieces:
                            spoke = True
                            yield piece
                    return
                except ModelFailed as failure:
                    latest = failure
                if latest.outcome is not CallOutcome.CIRCUIT_OPEN or not self._tries:
                    last = latest  # what opened a circuit between two tries is the news, not that it is open
                if (spoke and forget is None) or last.outcome in FINAL:
                    raise last
                if forget is not None:
                    forget()
                if not await self._is_worth_waiting(latest):
                    break
            if further:
                self._account.doings.downgrade(f"{self._purpose}: {last.outcome}, asked a smaller model")
        raise last

    async def _is_worth_waiting(self, failure: ModelFailed) -> bool:
        if failure.learnt or failure.outcome not in TRANSIENT:
            return failure.learnt
        return await self._ladder.pause(self._tries, failure.retry_after_seconds, self._until)

    async def _once(self, rung: Rung) -> AsyncGenerator[str, None]:
        """One request, reserved before and settled after."""
        if not rung.breaker.admit():
            raise ModelFailed(CallOutcome.CIRCUIT_OPEN)
        usage, outcome, clock = Usage(), CallOutcome.CANCELLED, time.perf_counter()
        try:
            call_id = await self._reserve(rung)
            self._tries += 1
            try:
                async with aclosing(rung.endpoint.stream(self._request, usage, self._until)) as pieces:
                    async for piece in pieces:
                        yield piece
                outcome = CallOutcome.DONE
            except ModelFailed as failure:
                outcome = CallOutcome.CANCELLED if failure.learnt else failure.outcome
                raise
            finally:
                await self._settle(call_id, rung, usage, outcome, clock)
        finally:
            rung.breaker.note(outcome)

    async def _reserve(self, rung: Rung) -> UUID:
        if asyncio.get_running_loop().time() >= self._until:
            raise ModelFailed(CallOutcome.DEADLINE)
        tokens = self._request.estimated_prompt_tokens + self._request.max_tokens + rung.endpoint.thinking.tokens
        try:
            return await self._account.reserve(self._purpose, rung.endpoint.model, tokens)
        except LimitReached as reached:
            _log.info("model_budget_reached", kind=self._purpose, limit=reached.limit)
            raise ModelFailed(CallOutcome.BUDGET) from reached
        except AppError as away:  # what cannot be counted is not spent
            if away.code is not ErrorCode.DATABASE_UNAVAILABLE:
                raise
            raise ModelFailed(CallOutcome.BUDGET) from away

    async def _settle(self, call_id: UUID, rung: Rung, usage: Usage, outcome: CallOutcome, clock: float) -> None:
        model = rung.endpoint.model
        spent = Spent(
            agent=self._account.agent, purpose=self._purpose, model=model, outcome=outcome.value,
            prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens,
            cost_micros=rung.endpoint.prices.micros(usage.prompt_tokens, usage.completion_tokens),
            duration_ms=round((time.perf_counter() - clock) * 1000),
        )  # fmt: skip
        if outcome is not CallOutcome.DONE:
            _log.info("model_call_failed", kind=self._purpose, model=model, outcome=outcome.value)
        try:
            await self._account.settle(call_id, spent)
        except AppError as away:  # the reservation stays in its place
            _log.warning("model_call_not_settled", code=away.code.value)
