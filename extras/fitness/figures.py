"""What a model did with the questions of a check, whether that is enough to use it, and what settings suit it."""

from pydantic import computed_field

from app.domain.record import Moment, Record

MOST_WRONG_ANSWERED, LEAST_RIGHT, MOST_LEFT_TO_RULES, MOST_WRONGLY_REFUSED = 0.15, 0.5, 0.1, 0.25


class Fitness(Record):
    """A check of a model; shares are of all questions, 0–1."""

    model: str
    made_at: Moment
    questions: int
    right: float
    """Answered right by the model itself: where rules had to step in for it, nothing counts as its own."""
    wrong_answered: float
    refused: float
    wrongly_refused: float = 0.0
    """What the documents answer and it did not; a model that refuses everything is right where nothing answers."""
    left_to_rules: float
    """Of which some part was done by rules because the model failed."""
    failures: dict[str, int]
    """How often it failed at what: ``plan: malformed``."""
    unsupported: float
    """Of the statements in its answers, those that nothing read says."""
    other_language: float
    """Answers in another language than the question's."""
    plan_repairs: int
    """Plans that were asked for again because the first was not of the form."""
    prompt_tokens: int
    completion_tokens: int
    tokens_per_second: float
    """Written, over the whole time of its calls."""
    median_seconds: float
    p95_seconds: float
    slowest_call_seconds: float

    @computed_field  # type: ignore[prop-decorator]
    @property
    def below_floor(self) -> list[str]:
        """Why it should not be used; empty = nothing speaks against it."""
        held = {
            f"{self.right:.0%} right by itself, not {LEAST_RIGHT:.0%}": self.right >= LEAST_RIGHT,
            f"{self.wrong_answered:.0%} wrong and answered, more than {MOST_WRONG_ANSWERED:.0%}":
                self.wrong_answered <= MOST_WRONG_ANSWERED,
            f"{self.wrongly_refused:.0%} refused though the documents answer, more than {MOST_WRONGLY_REFUSED:.0%}":
                self.wrongly_refused <= MOST_WRONGLY_REFUSED,
            f"{self.left_to_rules:.0%} left to the rules, more than {MOST_LEFT_TO_RULES:.0%}":
                self.left_to_rules <= MOST_LEFT_TO_RULES,
        }  # fmt: skip
        return [reason for reason, holds in held.items() if not holds]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def settings(self) -> dict[str, str]:
        """The settings that suit it, by variable; empty where it should not be used."""
        if self.below_floor:
            return {}
        seconds = round(max(30, 1.5 * self.slowest_call_seconds))
        return {
            "CONCLAVE_LLM_ANSWER_MODE": "strict" if self.unsupported > 0.1 else "model",
            "CONCLAVE_LLM_FIRST_TOKEN_SECONDS": str(seconds), "CONCLAVE_LLM_CALL_SECONDS": str(2 * seconds),
            "CONCLAVE_TASK_DEADLINE_MS": str(round(max(90, 1.5 * self.p95_seconds)) * 1000),
        }  # fmt: skip
