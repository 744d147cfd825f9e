"""Which questions are the deep flow's when nobody says so."""

from collections.abc import Callable

from app.domain.knowledge import Language
from app.reasoning import Classification

Dependence = Callable[[str, Language], bool]
"""Whether a question (complete on its own, in this language) has several steps that depend on one another."""


def needs_deep(classification: Classification, query: str, is_dependent: Dependence) -> bool:
    """Whether a classified question needs steps that depend on one another; in doubt it does not.

    A follow-up stays where its conversation is, and what asks for nothing is answered at once.
    """
    if classification.kind not in ("simple", "task") or classification.is_follow_up:
        return False
    language = classification.language
    return is_dependent(query, language) and is_dependent(classification.refined_query or query, language)


def planned_question(classification: Classification, query: str) -> str:
    """The question that is planned: as it was asked, unless it needs its conversation to be understood.

    Refining joins sentences; what is given, what is asked and how the answer is wanted are read one by one here.
    """
    return classification.refined_query if classification.is_follow_up and classification.refined_query else query
