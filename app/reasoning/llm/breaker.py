"""A circuit breaker: an endpoint that keeps failing is left alone for a while, then tried with one call."""

from collections.abc import Callable

from app.reasoning.llm.outcomes import OUTAGES, CallOutcome


class Breaker:
    """Opens after `threshold` outages in a row; lets one call through after `pause_seconds`.

    The pause doubles while that one call fails, up to `longest_seconds`. One instance an endpoint and process.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        threshold: int = 5,
        pause_seconds: float = 15.0,
        longest_seconds: float = 300.0,
    ):
        """`clock` is monotonic, in seconds."""
        self._clock = clock
        self.threshold = threshold
        self._first_pause = self._pause = pause_seconds
        self._longest = longest_seconds
        self._outages = 0
        self._open_until: float | None = None
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        """Whether calls are refused at the moment."""
        return self._open_until is not None and (self._is_probing or self._clock() < self._open_until)

    def reset(self) -> None:
        """Forget everything: the endpoint is known to be well."""
        self._outages, self._open_until, self._pause, self._is_probing = 0, None, self._first_pause, False

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
            self._pause = min(self._pause * 2, self._longest)
        if was_probe or self._outages >= self.threshold:
            self._open_until = self._clock() + self._pause
