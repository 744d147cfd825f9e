"""Answers as they are kept while a run goes on: a line each, so that a run that was stopped can be taken up again."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from app.evaluation.dataset import lines_of
from extras.gaia.question import GaiaQuestion
from extras.gaia.report import GaiaAnswer
from extras.gaia.scoring import is_match


def kept_answers(path: Path, questions: Iterable[GaiaQuestion], mode: str) -> dict[str, GaiaAnswer]:
    """The answers in `path` that still hold, by task id: of the same question, file and mode, and no failures.

    They are scored anew. A line that was cut off, or is of another shape, is none. Raises `AppError` for a file that
    cannot be read.
    """
    asked = {question.task_id: question for question in questions}
    found: dict[str, GaiaAnswer] = {}
    for line in lines_of(path) if path.exists() else []:
        try:
            answer = GaiaAnswer.model_validate_json(line)
        except ValidationError:
            continue
        question = asked.get(answer.task_id)
        if question is not None and not answer.error and _is_of(answer, question, mode):
            found[answer.task_id] = _scored(answer, question)
    return found


def submission_lines(answers: Iterable[GaiaAnswer]) -> str:
    """The answers as the benchmark's leaderboard takes them."""
    rows = (
        {"task_id": one.task_id, "model_answer": one.answer, "reasoning_trace": one.reasoning} for one in answers
    )  # fmt: skip
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _is_of(answer: GaiaAnswer, question: GaiaQuestion, mode: str) -> bool:
    return (answer.question, answer.file_name, answer.mode) == (question.question, question.file_name, mode)


def _scored(answer: GaiaAnswer, question: GaiaQuestion) -> GaiaAnswer:
    right = is_match(answer.answer, question.expected, question.spoken) if question.is_scored else None
    return answer.model_copy(
        update={"expected": question.expected, "right": right, "level": question.level, "tags": question.tags}
    )
