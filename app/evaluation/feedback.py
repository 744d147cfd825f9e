"""Users' corrections as cases: what somebody said is wrong must be right next time."""

import json
from collections.abc import Sequence

from app.evaluation.fact import Alternatives, Fact
from app.evaluation.question import Expected, Question, Rights
from app.storage.feedback import Correction
from app.text.language import guess_language

_MOST_CHARS = 2_000


def cases_from(tenant: str, corrections: Sequence[Correction]) -> list[Question]:
    """A question a correction, asked with the rights its asker had; in the order given, nobody named.

    The correction stands as an expected fact and waits for review: it is a person's own sentence, and an answer need
    not repeat it word by word.
    """
    return [_case(tenant, one) for one in corrections]


def as_lines(questions: Sequence[Question]) -> str:
    """The questions as a dataset, one a line."""
    written = [question.model_dump(mode="json", exclude_defaults=True) for question in questions]
    return "".join(json.dumps(_short(one), ensure_ascii=False) + "\n" for one in written)


def _case(tenant: str, said: Correction) -> Question:
    own = said.asker
    return Question(
        id=f"feedback-{said.task_id.hex[:12]}",
        question=said.question,
        asker=Rights(
            tenant=tenant, department=own.department, departments=tuple(sorted(own.departments - {own.department})),
            scopes=tuple(sorted(own.scopes)),
        ),
        language=guess_language(said.question),
        as_of=said.as_of,
        expected=Expected(facts=(Alternatives(any_of=(Fact(text=said.correction[:_MOST_CHARS]),)),)),
        tags=("feedback", *(("follow_up",) if said.is_follow_up else ())),
        to_review=True,
    )  # fmt: skip


def _short(written: dict[str, object]) -> dict[str, object]:
    """Facts in their short form, for whoever reviews the file by hand."""
    expected = written.get("expected")
    if isinstance(expected, dict):
        expected["facts"] = [fact["any_of"][0]["text"] for fact in expected.get("facts", ())]
    return written
