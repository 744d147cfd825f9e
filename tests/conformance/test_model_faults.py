"""Every way an endpoint fails, at every stage: a named outcome, at most three tries, in time, and nothing made up.

Each fault is played at a few drawn stages once; `make chaos` plays every pair with twenty seeds. A seed decides how the
reply is cut, how often the fault strikes, and whether it comes at the first call.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest

from app.domain.knowledge import Finding
from app.reasoning import Arguments, Classification, Composition
from app.reasoning.budget import Account
from app.reasoning.llm import TimeLimits
from app.reasoning.llm.request import CallOutcome
from app.reasoning.local import LocalReasoner
from tests.conformance.asking_models import CALLS, FOUND, LEAVE, MODES, PAY, paid, reasoner_to
from tests.fakes.house_mind import house_mind, stage_of
from tests.fakes.model_server import BENIGN_FAULTS, Asked, Fault, Reply, scripted_model_server
from tests.limits import limit
from tests.measured import measured
from tests.samples import SEED, drawn, size

SEEDS, STAGES_OF_EACH = range(size(1, 20, trust=15)), 2
LIMITS = TimeLimits(first_token=0.8, between_tokens=0.6, call=1.6)
DEADLINE, GRACE = 5.0, 2.0
MAX_TRIES = 3
REPAIRED = frozenset({
    Fault.BROKEN_JSON, Fault.DUPLICATE_KEYS, Fault.NOT_A_NUMBER, Fault.INFINITE, Fault.OVERFLOWING, Fault.HUGE_INTEGER,
    Fault.MISSING_FIELD, Fault.WRONG_TYPE, Fault.DEEP_JSON, Fault.LONE_SURROGATE,
})  # fmt: skip
"""Faults of the reply rather than of the call: one more call shows the errors, each with its own tries."""
CUTS = frozenset({
    Fault.RESET_MIDWAY, Fault.CLOSED_MIDWAY, Fault.CUT_UNFRAMED, Fault.STALL_MIDWAY, Fault.CUT_WITHOUT_FINISH,
    Fault.DONE_WITHOUT_FINISH, Fault.ERROR_MIDWAY, Fault.LENGTH, Fault.CONTENT_FILTER,
})  # fmt: skip
"""Faults after which half an answer has arrived."""
HARMLESS = BENIGN_FAULTS - {Fault.DRIP}  # whether dripping ends in time depends on the size of the drops
LARGE = frozenset({Fault.HUGE_DELTA, Fault.MANY_TOOL_CALLS, Fault.FLOOD, Fault.ENDLESS_LINE, Fault.DEEP_JSON})
RESULTS = {
    "plan": Classification, "answer": Finding, "arguments": Arguments,
}  # fmt: skip
LONG = " ".join(f"{LEAVE.text.split('. ')[0]} [1]. Lương trả vào ngày 28 [2]." for _ in range(3))
END = "Tối đa 5 ngày được chuyển sang quý 1."


def mind(asked: Asked) -> Reply:
    """The house's mind; answers end with a sentence that tells whether they are whole."""
    return Reply(f"{LONG} {END}") if stage_of(asked) == "compose" else house_mind(asked)


async def played(fault: Fault, stage: str, seed: int, rules: LocalReasoner) -> tuple[str, object, Account, int, float]:
    """One call of the port against a server with one fault: text, result, account, requests, seconds."""
    rng = random.Random(f"{fault} {stage} {seed}")
    piece_chars, wire_bytes = rng.choice((1, 5, 12, 60)), rng.choice((None, None, 7, 64))
    if fault in LARGE:
        wire_bytes = None  # cutting megabytes into sevens takes the server longer than any limit
    times = rng.choice((1, 2, None)) if seed else None
    is_benign = fault in HARMLESS
    limits, deadline = (TimeLimits(), 60.0) if is_benign else (LIMITS, DEADLINE)  # nothing to wait for: no hurry
    async with scripted_model_server(
        lambda asked: replace(mind(asked), piece_chars=piece_chars, wire_bytes=wire_bytes)
    ) as server:
        server.fail(fault, times=times)
        async with reasoner_to(
            rules, (server.base_url, "m"), mode=MODES.get(stage, "model"), limits=limits, seed=seed
        ) as model:
            clock = time.perf_counter()
            with paid(deadline) as account:
                result = await CALLS[stage](model)
            seconds = time.perf_counter() - clock
        told, result = result if stage == "compose" else ("", result)
        return told, result, account, len(server.requests), seconds


def check(
    fault: Fault, stage: str, seed: int, told: str, result: object, account: Account, tries: int, took: float
) -> None:
    where = f"{fault} at {stage}, seed {seed}"
    outcomes = [spent.outcome for spent in account.doings.calls]
    assert took <= DEADLINE + limit(GRACE) or fault in HARMLESS, where
    assert tries <= MAX_TRIES * (2 if fault in REPAIRED and stage != "compose" else 1), where
    assert set(outcomes) <= {outcome.value for outcome in CallOutcome}, where
    assert "cancelled" not in outcomes or fault.startswith("rejects"), where
    done_by_rules = any("done by rules" in note for note in account.doings.downgrades)
    if stage != "compose":
        assert isinstance(result, RESULTS[stage]), where
        return
    assert isinstance(result, Composition), where
    assert told == result.answer, where
    whole = told.rstrip().endswith(END)
    refused = result.outcome == "refused"
    assert whole or done_by_rules or refused, f"{where}: a cut answer was called complete: {told!r}"
    assert refused == (fault is Fault.REFUSAL and outcomes[-1:] == ["refusal"]), where
    assert whole <= (outcomes[-1] == "done"), where
    if fault in CUTS and done_by_rules:
        assert "12 ngày phép" in told, where
    assert "\x00" not in told, where
    told.encode()


def stages_of(fault: Fault, stages: Iterable[str]) -> list[str]:
    """Where a fault is played in this run."""
    return drawn(stages, STAGES_OF_EACH, seed=f"{SEED} {fault}")


@pytest.mark.parametrize("fault", list(Fault))
async def test_ends_in_a_named_outcome(fault: Fault, reasoner: LocalReasoner) -> None:
    """Stages side by side: most of the time is waiting."""
    stages = stages_of(fault, CALLS)
    for seed in SEEDS:
        results = await asyncio.gather(*(played(fault, stage, seed, reasoner) for stage in stages))
        for stage, (told, result, account, tries, took) in zip(stages, results, strict=True):
            check(fault, stage, seed, told, result, account, tries, took)
            if fault in HARMLESS:
                assert account.doings.downgrades == [], f"{fault} at {stage}, seed {seed}"
    measured(10, kinds=1, played=len(SEEDS) * len(stages), ended_otherwise=0)


def test_there_are_enough_kinds() -> None:
    assert {stage for fault in Fault for stage in stages_of(fault, CALLS)} == {*CALLS}
    assert len(Fault) >= 25
    assert Counter(CALLS).keys() == {"plan", "answer", "arguments", "compose"}
    assert PAY in {quote.passage for quote in FOUND.quotes}
