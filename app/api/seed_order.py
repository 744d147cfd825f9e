"""Answers with their fields in the order people know."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from app.domain.answer import ErrorAnswer, FinalAnswer, to_json

_OWN_FIELDS = ("session_id", "task_id", "outcome")
"""What the service adds to the seed's answers."""


def in_seed_order(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer with its fields in the order of §5 or §6, ids and outcome last: jsonb does not keep the order."""
    own = {name: answer[name] for name in _OWN_FIELDS if name in answer}
    body = {name: item for name, item in answer.items() if name not in own}
    record = ErrorAnswer if body.get("error") else FinalAnswer
    try:
        return {**to_json(record.model_validate(body)), **own}
    except ValidationError:
        return {**body, **own}
