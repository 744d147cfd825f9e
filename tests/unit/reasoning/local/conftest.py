"""The bundled model, loaded once, and the demonstration's documents cut as ingestion cuts them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from app.agents.registry import AgentRegistry
from app.domain.knowledge import Passage
from app.ingestion.chunk import chunk
from app.ingestion.seed import read_document
from app.reasoning import AgentOffer, AnswerRequest
from tests import factories
from tests.factories import bundled_tokens

SEED = Path(__file__).parents[4] / "seed_data"


@pytest.fixture(scope="session")
def offers() -> tuple[AgentOffer, ...]:
    """Every built-in agent with all its tools, as a member of it is offered them."""
    return AgentRegistry.load(None).offers_for(factories.principal(department="it"), None)


def _count_tokens(texts: Sequence[str]) -> list[int]:
    return [bundled_tokens(text) for text in texts]


@cache
def seed_passages(*names: str) -> tuple[Passage, ...]:
    """The chunks of demonstration documents (``acme/hr/annual-leave-2026``), all equally relevant."""
    found: list[Passage] = []
    for name in names:
        path = SEED / f"{name}.md"
        draft = read_document(path, path.parent.name)
        for piece in chunk(draft.text, draft.title, count_tokens=_count_tokens):
            changes = {"title": draft.title, "section": piece.section, "language": draft.lang}
            found.append(factories.passage(piece.text, document=draft.external_id, url=draft.url, **changes))
    return tuple(found)


def request(query: str, passages: Sequence[Passage], language: str = "vi") -> AnswerRequest:
    values = {"query": query, "language": language, "agent": "hr", "index": 1, "min_relevance_score": 0.7}
    return AnswerRequest.model_validate({**values, "passages": tuple(passages)})
