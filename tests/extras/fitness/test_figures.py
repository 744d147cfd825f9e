"""What rules did for a model is not its own, and a model that is not good enough is told so."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from app.evaluation.judging import Grade
from app.evaluation.observed import Observation
from app.evaluation.question import Question
from app.evaluation.report import Asked
from app.reasoning.budget import Spent
from app.settings import Settings
from extras.fitness.asking import fitness_of, questions_of, served
from extras.fitness.figures import LEAST_RIGHT, MOST_LEFT_TO_RULES, MOST_WRONG_ANSWERED, MOST_WRONGLY_REFUSED, Fitness

USED = {"model_usage": {"calls": 2}}


def asked(grade: Grade, answer: str = "The limit is 12 days.", seconds: float = 2.0) -> Asked:
    question = Question.model_validate(
        {"id": "q", "question": "What is the limit?", "asker": "some/body", "expected": {"outcome": "answered"}}
    )
    return Asked(
        dataset="d", question=question, language="en", asker="some/body", right=grade == "right", grade=grade,
        observation=Observation(outcome="answered", answer=answer, seconds=seconds), faults=(), leaks=(), measures={},
    )  # fmt: skip


def answer(*degraded: str, **metadata: Any) -> dict[str, Any]:
    told = {**metadata, **({"degraded": list(degraded)} if degraded else {})}
    return {"answer": "The limit is 12 days.", "execution_metadata": told, "support": [{"kind": "quote"}]}


def call(purpose: str, milliseconds: int = 1000) -> Spent:
    return Spent("", purpose, "m", "done", 100, 10, 0, milliseconds)


def fitness(**changed: Any) -> Fitness:
    good: dict[str, Any] = {
        "model": "m", "made_at": datetime.now(UTC), "questions": 60, "right": 0.8, "wrong_answered": 0.02,
        "refused": 0.1, "left_to_rules": 0.0, "failures": {}, "unsupported": 0.05, "other_language": 0.0,
        "plan_repairs": 0, "prompt_tokens": 1, "completion_tokens": 1, "tokens_per_second": 9.0, "median_seconds": 5.0,
        "p95_seconds": 80.0, "slowest_call_seconds": 40.0,
    }  # fmt: skip
    return Fitness.model_validate(good | changed)


class TestFigures:
    def test_only_what_it_did_itself_is_right(self) -> None:
        found = fitness_of(
            "m",
            [asked("right"), asked("right"), asked("right"), asked("wrong_answered", "Giới hạn là bao nhiêu ngày?")],
            [answer(**USED), answer("plan: malformed, done by rules", **USED), answer(), answer(**USED)],
            [call("plan"), call("plan"), call("plan"), call("compose", 4000)],
        )
        assert (found.right, found.wrong_answered, found.left_to_rules) == (0.25, 0.25, 0.25)
        assert found.failures == {"plan: malformed": 1}
        assert (found.other_language, found.plan_repairs, found.unsupported) == (0.25, 1, 0.0)
        assert (found.completion_tokens, found.tokens_per_second, found.slowest_call_seconds) == (40, 5.71, 4.0)

    def test_who_refuses_everything_is_below_the_floor(self) -> None:
        refused = [asked("rightly_refused")] * 3 + [asked("wrongly_refused")] * 2
        found = fitness_of("m", refused, [answer(**USED)] * 5, [])
        assert (found.refused, found.wrongly_refused) == (1.0, 0.4)
        assert any("refused though the documents answer" in reason for reason in found.below_floor)

    def test_a_run_that_told_nothing_was_not_the_models(self) -> None:
        found = fitness_of("m", [asked("failed")], [{}], [])
        assert (found.right, found.left_to_rules, found.tokens_per_second) == (0.0, 1.0, 0.0)

    @pytest.mark.parametrize(
        "bad",
        [
            {"right": LEAST_RIGHT - 0.01},
            {"wrong_answered": MOST_WRONG_ANSWERED + 0.01},
            {"left_to_rules": MOST_LEFT_TO_RULES + 0.01},
            {"wrongly_refused": MOST_WRONGLY_REFUSED + 0.01},
        ],
    )
    def test_the_floor(self, bad: dict[str, float]) -> None:
        found = fitness(**bad)
        assert len(found.below_floor) == 1 and found.settings == {}
        assert fitness().below_floor == []

    def test_settings_leave_room_for_what_was_slow(self) -> None:
        assert fitness().settings == {
            "CONCLAVE_LLM_ANSWER_MODE": "model", "CONCLAVE_LLM_FIRST_TOKEN_SECONDS": "60",
            "CONCLAVE_LLM_CALL_SECONDS": "120", "CONCLAVE_TASK_DEADLINE_MS": "120000",
        }  # fmt: skip
        assert fitness(unsupported=0.2).settings["CONCLAVE_LLM_ANSWER_MODE"] == "strict"

    @pytest.mark.parametrize("most", [1, 7, 60])
    def test_questions_are_spread(self, most: int) -> None:
        assert sum(len(one.cases) for one in questions_of(most)) == most


class Started:
    """A model of this machine that is served already."""

    name, state = "some-model", "ready"

    @asynccontextmanager
    async def running(self, tell: Callable[[str, str], object]) -> AsyncIterator[None]:
        tell("http://127.0.0.1:1/v1", "key")
        yield

    async def settled(self) -> None: ...


@pytest.mark.parametrize(("own", "asked_in"), [({}, "small"), ({"llm_profile": "full"}, "full")])
async def test_a_model_of_this_machine_is_checked_in_the_profile_it_is_used_in(
    own: dict[str, Any], asked_in: str
) -> None:
    model: Any = Started()
    async with served(Settings(**own), model) as settings:
        assert (settings.llm_profile, settings.llm_model) == (asked_in, "some-model")
