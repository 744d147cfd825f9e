"""Every way an endpoint fails, at every stage of the deep flow: the model's own word, or the rules' with a note.

Each is played at a few drawn stages once; `make chaos` plays every pair with twenty seeds.
"""

import asyncio
import random
import time
from dataclasses import replace

import pytest

from app.reasoning.budget import Account
from app.reasoning.llm import TimeLimits
from app.reasoning.llm.request import CallOutcome
from tests.conformance.asking_models import paid
from tests.conformance.deep_calls import DEEP_CALLS, DEEP_RESULTS, deep_reasoner_to
from tests.conformance.test_model_faults import DEADLINE, GRACE, HARMLESS, LARGE, LIMITS, MAX_TRIES, REPAIRED, stages_of
from tests.fakes.deep_model import BY_RULE, DEEP_STAGES, deep_model
from tests.fakes.model_server import Fault, scripted_model_server
from tests.limits import limit
from tests.samples import size

SEEDS = range(size(1, 20))


async def played(fault: Fault, stage: str, seed: int) -> tuple[object, Account, int, float]:
    """One call of the port against a server with one fault: result, account, requests, seconds."""
    rng = random.Random(f"{fault} {stage} {seed}")
    piece_chars, wire_bytes = rng.choice((1, 5, 12, 60)), rng.choice((None, None, 7, 64))
    if fault in LARGE:
        wire_bytes = None  # cutting megabytes into sevens takes the server longer than any limit
    times = rng.choice((1, 2, None)) if seed else None
    limits, deadline = (TimeLimits(), 60.0) if fault in HARMLESS else (LIMITS, DEADLINE)
    async with scripted_model_server(
        lambda asked: replace(deep_model(asked), piece_chars=piece_chars, wire_bytes=wire_bytes)
    ) as server:
        server.fail(fault, times=times)
        async with deep_reasoner_to((server.base_url, "m"), limits=limits, seed=seed) as mind:
            clock = time.perf_counter()
            with paid(deadline) as account:
                result = await DEEP_CALLS[stage](mind)
            return result, account, len(server.requests), time.perf_counter() - clock


def check(fault: Fault, stage: str, seed: int, result: object, account: Account, tries: int, took: float) -> None:
    where = f"{fault} at {stage}, seed {seed}"
    outcomes = [spent.outcome for spent in account.doings.calls]
    notes = account.doings.downgrades
    assert isinstance(result, DEEP_RESULTS[stage]), where
    assert took <= DEADLINE + limit(GRACE) or fault in HARMLESS, where
    assert tries <= MAX_TRIES * (2 if fault in REPAIRED else 1), where
    assert set(outcomes) <= {outcome.value for outcome in CallOutcome}, where
    assert {spent.purpose for spent in account.doings.calls} <= {stage}, where
    by_rule = BY_RULE in repr(result)
    assert by_rule == any(note.endswith("done by rules") for note in notes), f"{where}: {notes}"
    assert by_rule or outcomes[-1] == "done", where
    assert all(note.startswith(f"{stage}: ") for note in notes), where
    assert "\\x00" not in repr(result), where


@pytest.mark.parametrize("fault", list(Fault))
async def test_ends_in_the_models_word_or_the_rules(fault: Fault) -> None:
    """Stages side by side: most of the time is waiting."""
    stages = stages_of(fault, DEEP_STAGES)
    for seed in SEEDS:
        results = await asyncio.gather(*(played(fault, stage, seed) for stage in stages))
        for stage, played_out in zip(stages, results, strict=True):
            check(fault, stage, seed, *played_out)
            if fault in HARMLESS:
                assert played_out[1].doings.downgrades == [], f"{fault} at {stage}, seed {seed}"
