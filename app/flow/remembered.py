"""Whole answers of earlier runs. An answer belongs to one set of rights, one state of the corpus and one question."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from cachetools import TTLCache

from app.agents.registry import AgentRegistry
from app.domain.answer import AgentOutput, ExecutionMetadata, FlowAction
from app.domain.conflicts import Conflict
from app.domain.knowledge import Evidence
from app.domain.plan import Plan
from app.domain.record import Record
from app.reasoning import AsOf, Composition
from app.retrieval.cache import Rights
from app.telemetry import count_lookups

MAX_ENTRIES = 1_000
"""Of some 10 to 30 kB each; the oldest go first."""


@dataclass(frozen=True)
class Circumstances:
    """All of a process that may change an answer; the same for every question it is asked."""

    space: str
    """Model and centring of the vectors."""
    mind: str
    """`Reasoner.identity`."""
    agents: str
    """Fingerprint of every agent's configuration."""
    limits: str
    """Fingerprint of the settings of the flow."""


@dataclass(frozen=True)
class AnswerKey:
    """All an answer depends on. Anything new that may change one must become a field.

    The conversation is none: a question that has a history is never remembered. Neither is the person: what an
    answer says depends on the rights alone.
    """

    circumstances: Circumstances
    rights: Rights
    corpus_version: int
    query: str
    """Normalised; the case counts, since names and acronyms are told by it."""
    agents_asked: str
    """The agents and tools the request asks for, as JSON."""
    mode: str
    language: str | None
    """Forced by the request."""
    as_of: date | None
    """Named by the request; one in the question follows from `query` and `today`."""
    today: date


class Remembered(Record):
    """What a run found, without anything of the run itself: no ids, no times, no asker."""

    composition: Composition
    evidence: tuple[Evidence, ...]
    plan: Plan | None
    """None for chitchat."""
    as_of: AsOf | None = None
    outputs: tuple[AgentOutput, ...] = ()
    report: str = ""
    resolution: FlowAction | None = None
    verdicts: tuple[Conflict, ...] = ()
    metadata: ExecutionMetadata


class AnswerMemory:
    """A bounded store in this process whose entries end after a while."""

    def __init__(
        self,
        circumstances: Circumstances,
        *,
        ttl_seconds: float,
        timer: Callable[[], float],
        max_entries: int = MAX_ENTRIES,
    ):
        """`timer` is a monotonic clock in seconds."""
        self.circumstances = circumstances
        self._entries: TTLCache[AnswerKey, Remembered] = TTLCache(max_entries, ttl_seconds, timer)

    def get(self, key: AnswerKey) -> Remembered | None:
        """The answer; counted as a lookup of the run."""
        found = self._entries.get(key)
        count_lookups(found is not None)
        return found

    def put(self, key: AnswerKey, answer: Remembered) -> None:
        """Keep an answer."""
        self._entries[key] = answer


def fingerprint(*parts: str) -> str:
    """A short stand-in for texts that must be equal."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def fingerprint_of_agents(agents: AgentRegistry) -> str:
    """Changes with any agent's configuration."""
    return fingerprint(*(agents.spec(name).model_dump_json() for name in agents.names))
