"""What is brought in, by whom, with which vectors: the same every time."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from uuid import uuid4

import numpy as np

from app.domain.knowledge import DocumentDraft
from app.domain.principal import GENERAL, SCOPES, Principal
from app.embedding import Vectors

DIMENSIONS, SEED, LANGUAGE = 384, 20261121, "vi"
_SECTIONS, _PARAGRAPHS, _SENTENCES = (9, 17), (2, 4), (2, 5)
_SYLLABLES = (
    ("b", "c", "ch", "d", "đ", "g", "h", "kh", "l", "m", "n", "ng", "nh", "ph", "r", "s", "t", "th", "tr", "v", "x"),
    ("a", "à", "á", "ạ", "ă", "â", "e", "ê", "i", "o", "ô", "ơ", "u", "ư", "ươ", "oa", "iê"),
    ("", "c", "m", "n", "ng", "t"),
)


class FreeEmbedder:
    """Hands out vectors that are ready."""

    model, dimensions = "free", DIMENSIONS

    def __init__(self) -> None:
        made = np.random.default_rng(SEED).standard_normal((4_096, DIMENSIONS), np.float32)
        self._ready: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
        self.passages = 0

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        return self._ready[: len(texts)]

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, and a note that it was asked for."""
        self.passages += len(texts)
        return self._ready[: len(texts)]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """About what a multilingual model makes of it."""
        return [1 + len(text) // 4 for text in texts]

    async def aclose(self) -> None:
        """Nothing to stop."""


def documents(count: int) -> list[DocumentDraft]:
    """Markdown policies with headings, lists and Zipf words; the same every time."""
    rng = random.Random(SEED)
    words = ["".join(letters) for letters in product(*_SYLLABLES)]
    rng.shuffle(words)
    weights = [1 / (place + 5) for place in range(len(words))]

    def sentence() -> str:
        return " ".join(rng.choices(words, weights, k=rng.randint(8, 24))).capitalize() + "."

    def section(number: int) -> str:
        paragraphs = (
            " ".join(sentence() for _ in range(rng.randint(*_SENTENCES))) for _ in range(rng.randint(*_PARAGRAPHS))
        )
        return "\n\n".join([f"## Điều {number}: {' '.join(rng.choices(words, k=4))}", *paragraphs])

    return [
        DocumentDraft(
            title=f"Quy định {number}",
            text="\n\n".join(section(one) for one in range(1, rng.randint(*_SECTIONS))),
            url=f"https://intra.example/{number}",
            department=rng.choice(("hr", "it", GENERAL)),
            scope=rng.choice(SCOPES),
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            external_id=f"rule-{number}",
            lang=LANGUAGE,
        )
        for number in range(count)
    ]


def administrator() -> Principal:
    """Of a tenant nobody used before."""
    return Principal(
        tenant_id=uuid4(),
        user_id=uuid4(),
        department=GENERAL,
        departments=frozenset({GENERAL, "hr", "it"}),
        scopes=frozenset(SCOPES),
        roles=frozenset({"admin"}),
    )
