"""An endpoint that keeps failing is left alone, tried with one call, and taken back."""

from app.reasoning.llm.ladder import Breaker
from app.reasoning.llm.request import CallOutcome


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock) -> Breaker:
    breaker = Breaker(clock, threshold=3, pause_seconds=10, longest_seconds=35)
    for _ in range(3):
        assert breaker.admit()
        breaker.note(CallOutcome.UNREACHABLE)
    return breaker


class TestBreaker:
    def test_opens_after_outages_in_a_row(self) -> None:
        breaker = opened(Clock())
        assert breaker.is_open
        assert not breaker.admit()

    def test_counts_only_outages_and_only_in_a_row(self) -> None:
        breaker = Breaker(Clock(), threshold=2)
        for outcome in (CallOutcome.SLOW, CallOutcome.DONE, CallOutcome.SLOW, CallOutcome.LENGTH, CallOutcome.SLOW):
            assert breaker.admit()
            breaker.note(outcome)
        assert not breaker.is_open

    def test_says_nothing_about_calls_that_were_stopped(self) -> None:
        breaker = Breaker(Clock(), threshold=2)
        for outcome in (CallOutcome.SLOW, CallOutcome.CANCELLED, CallOutcome.DEADLINE, CallOutcome.SLOW):
            breaker.note(outcome)
        assert breaker.is_open

    def test_lets_exactly_one_call_through_after_the_pause(self) -> None:
        clock = Clock()
        breaker = opened(clock)
        clock.now = 10
        assert breaker.admit()
        assert not breaker.admit()
        breaker.note(CallOutcome.DONE)
        assert breaker.admit()

    def test_waits_longer_while_the_probe_fails(self) -> None:
        clock = Clock()
        breaker = opened(clock)
        for pause in (10, 20, 35, 35):
            clock.now += pause - 0.001
            assert not breaker.admit(), pause
            clock.now += 0.001
            assert breaker.admit(), pause
            breaker.note(CallOutcome.SLOW)

    def test_a_probe_that_was_stopped_leaves_the_next_call_to_try(self) -> None:
        clock = Clock()
        breaker = opened(clock)
        clock.now = 10
        assert breaker.admit()
        breaker.note(CallOutcome.CANCELLED)
        assert breaker.admit()
