"""A synthetic corpus of many tenants: clustered vectors, Zipf text, documents of one department and one scope.

Everything follows from the seed. A vector lies near one of the topics its tenant writes about, in a few directions of
that topic; a text mixes frequent words of the whole language with words of its topic.
"""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt

from app.domain.principal import SCOPES, Principal, tenant_id_of, user_id_of
from app.embedding import Vectors

TENANTS, TOPICS = 20, 400
DEPARTMENTS = ("hr", "it", "finance", "general")
MODEL = "synthetic"
_DEPARTMENT_SHARES, _SCOPE_SHARES = (0.35, 0.3, 0.25, 0.1), (0.5, 0.35, 0.15)
_VOCABULARY, _TOPIC_WORDS = 20_000, 60
_TOPICAL_SHARE = 0.23
_FREQUENT = [40, 41]
_BATCH = 5_000
Integers = npt.NDArray[np.int64]


class Ask(NamedTuple):
    """A question, who asks it, and what an exact search would find."""

    principal: Principal
    text: str
    vector: Vectors
    departments: tuple[str, ...] | None
    visible: int
    nearest: tuple[UUID, ...]
    """The ten nearest visible chunks."""


@dataclass
class Corpus:
    """`size` chunks; every array has one row a chunk, in the order they arrived."""

    size: int
    tenant: Integers
    document: Integers
    department: Integers
    scope: Integers
    topic: Integers
    vectors: Vectors
    words: Integers
    """Shape (size, words in a text): numbers of `vocabulary`."""
    vocabulary: npt.NDArray[np.str_]
    _rng: np.random.Generator
    _centres: Vectors
    _spread: Vectors
    _topic_words: Integers

    @cached_property
    def chunk_ids(self) -> list[UUID]:
        """Random as real ones are, but the same every time."""
        return [UUID(hashlib.md5(f"chunk {number}".encode()).hexdigest()) for number in range(self.size)]

    def tenant_sizes(self) -> list[int]:
        """Chunks of each tenant."""
        return [int(count) for count in np.bincount(self.tenant, minlength=TENANTS)]

    def ask(self, tenant: int, principal: Principal, departments: tuple[str, ...] | None = None) -> Ask:
        """A question near one of the tenant's topics, in four of the topic's words."""
        own = np.flatnonzero(self.tenant == tenant)
        topic = int(self.topic[self._rng.choice(own)])
        vector = _points(self._rng, self._centres, self._spread, np.array([topic]))[0]
        picked = self._topic_words[topic][self._rng.choice(_TOPIC_WORDS, 4, replace=False)]
        seen = own[self.may_read(own, principal, departments)]
        similarity = self.vectors[seen] @ vector
        best = seen[np.argsort(-similarity, kind="stable")[:10]]
        text = f"what is the {' '.join(self.vocabulary[picked])}"
        return Ask(principal, text, vector, departments, len(seen), tuple(self.chunk_ids[at] for at in best))

    def with_frequent_words(self, ask: Ask) -> Ask:
        """The same question with two words more that stand in a fifth of all chunks."""
        return ask._replace(text=f"{ask.text} {' '.join(self.vocabulary[_FREQUENT])}")

    def document_id(self, row: int) -> UUID:
        """Of the document a chunk belongs to."""
        return UUID(hashlib.md5(f"document {self.document[row]}".encode()).hexdigest())

    def may_read(self, rows: Integers, who: Principal, departments: tuple[str, ...] | None) -> npt.NDArray[np.bool_]:
        """The permission rule for many rows."""
        scopes = np.isin(self.scope[rows], [SCOPES.index(scope) for scope in who.scopes])
        own = np.isin(self.department[rows], [DEPARTMENTS.index(name) for name in {*who.departments, "general"}])
        seen: npt.NDArray[np.bool_] = scopes & ((self.scope[rows] != SCOPES.index("private")) | own)
        if departments is not None:
            seen &= np.isin(self.department[rows], [DEPARTMENTS.index(name) for name in departments])
        return seen

    def text_of(self, row: int) -> str:
        """The text of one chunk."""
        return " ".join(self.vocabulary[self.words[row]])


def reader(tenant: int, department: str = "hr", scopes: tuple[str, ...] = SCOPES) -> Principal:
    """Somebody of a tenant."""
    tenant_id = tenant_id_of(f"size-{tenant}")
    return Principal.model_validate(
        {
            "tenant_id": tenant_id,
            "user_id": user_id_of(tenant_id, department),
            "department": department,
            "departments": frozenset({department}),
            "scopes": frozenset(scopes),
        }
    )


def make_corpus(size: int, *, dimensions: int = 384, words: int = 110, seed: int = 7) -> Corpus:
    """About 34 % of the chunks belong to the largest tenant and 1 % to the smallest."""
    rng = np.random.default_rng(seed)
    centres = _unit(rng.standard_normal((TOPICS, dimensions)))
    spread = (rng.standard_normal((TOPICS, 24, dimensions)) / math.sqrt(dimensions)).astype(np.float32)
    tenant_of, document_of, department_of, scope_of, topic_of = _documents(rng, size).T
    vectors = np.concatenate(
        [_points(rng, centres, spread, topic_of[at : at + _BATCH]) for at in range(0, size, _BATCH)]
    )
    topic_words = rng.integers(1_000, _VOCABULARY, (TOPICS, _TOPIC_WORDS))
    topical = round(words * _TOPICAL_SHARE)
    frequency = 1 / np.arange(1, _VOCABULARY + 1)
    common = rng.choice(_VOCABULARY, (size, words - topical), p=frequency / frequency.sum())
    own = np.take_along_axis(topic_words[topic_of], rng.integers(0, _TOPIC_WORDS, (size, topical)), 1)
    return Corpus(
        size, tenant_of, document_of, department_of, scope_of, topic_of, vectors, np.concatenate([common, own], 1),
        _vocabulary(), rng, centres, spread, topic_words,
    )  # fmt: skip


def _documents(rng: np.random.Generator, size: int) -> Integers:
    """(tenant, document, department, scope, topic) of each chunk; documents of all tenants in turn."""
    shares = 1 / np.arange(1, TENANTS + 1) ** 1.2
    topics_of = [rng.choice(TOPICS, TOPICS // 5, replace=False) for _ in range(TENANTS)]
    rows: list[Integers] = []
    document = count = 0
    while count < size:
        chunks = int(rng.integers(5, 36))
        tenant = int(rng.choice(TENANTS, p=shares / shares.sum()))
        topic = int(rng.choice(topics_of[tenant]))
        topics = np.where(rng.random(chunks) < 0.8, topic, rng.choice(topics_of[tenant], chunks))
        department = topic % len(DEPARTMENTS) if rng.random() < 0.6 else rng.choice(4, p=_DEPARTMENT_SHARES)
        same = np.tile([tenant, document, department, rng.choice(3, p=_SCOPE_SHARES)], (chunks, 1))
        rows.append(np.column_stack([same, topics]))
        document, count = document + 1, count + chunks
    return np.concatenate(rows)[:size]


def _points(rng: np.random.Generator, centres: Vectors, spread: Vectors, topics: Integers) -> Vectors:
    dimensions = centres.shape[1]
    inside = rng.standard_normal((len(topics), spread.shape[1])).astype(np.float32) / math.sqrt(spread.shape[1])
    noise = rng.standard_normal((len(topics), dimensions)).astype(np.float32) / math.sqrt(dimensions)
    return _unit(centres[topics] + 0.9 * np.einsum("nk,nkd->nd", inside, spread[topics]) + 0.25 * noise)


def _unit(vectors: npt.NDArray[np.floating]) -> Vectors:
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _vocabulary() -> npt.NDArray[np.str_]:
    """Made-up words nobody takes for Vietnamese ones, none an English plural."""
    onsets = ("bl", "br", "dr", "fl", "fr", "gl", "gr", "kl", "pl", "pr", "sk", "sp", "st", "tw", "zw")
    syllables = [
        onset + rest for rest in ("ab", "eg", "if", "od", "ul", "yr", "ef", "ig", "ob", "ud") for onset in onsets
    ]
    return np.array([syllables[number % 150] + syllables[number // 150] for number in range(_VOCABULARY)])
