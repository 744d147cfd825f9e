"""A disagreement as it was weighed (§4 of the flow): all that weighing it again needs, without a model or a document.

``score = Σ weight × factor``; factors lie in 0–1 and weights count relative to their sum, so scores do too and a
threshold means the same whatever the weights.
"""

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Literal
from uuid import UUID

from app.domain.answer import Recency, ResolutionRules
from app.domain.health import Verdict
from app.domain.knowledge import Passage
from app.domain.principal import Scope
from app.domain.record import Record

FACTORS = ("domain", "scope", "recency", "relevance")
Rule = Literal["weighted_scoring", "later_version", "validity", "starts_later", "verdict"]
"""What decides: the weights, the later version of a page, which validity has ended or only begins after the day that is
asked about, or what an administrator said."""
SourceKind = Literal["document", "attachment", "web"]
ConflictType = Literal["superseded_version", "scope", "department", "contradiction", "outdated", "none"]
_OUT_OF_DOMAIN = 0.5
"""Domain factor of a source outside any special department; a specialised department counts 1."""
_EVEN = 1e-9
"""Sums as near to 1 as this are left as they are."""


class Known(Record):
    """What an examination found before anybody asked: a passage that says something, and another one that differs."""

    chunk_id: UUID
    sentence: str
    other: Passage
    """Its scores are 0: nobody asked."""
    other_sentence: str
    verdict: Verdict | None
    """What a person made of it."""
    holds: UUID | None
    decided_on: date | None


class Side(Record):
    """One source of a conflict, with its four factors (0–1) and their weighted sum."""

    document_id: UUID
    """Of the document, or of the attached file; of a page of the web a name made of its address."""
    kind: SourceKind
    url: str
    title: str
    department: str
    scope: Scope
    effective: datetime
    """When the source began to hold."""
    recency: Recency
    """Counted from the newer of the two sources."""
    claim: str
    """The sentence as people read it; empty where this side does not have the rule that the other one has."""
    factors: dict[str, float]
    score: float

    def as_json(self) -> dict[str, Any]:
        """As the trace and the ``conflict_resolved`` event publish it."""
        shown = self.model_dump(include={"url", "title", "department", "claim", "score"})
        return shown | {"factors": {name: round(factor, 4) for name, factor in self.factors.items()}}


class Weighing(Record):
    """What two sources are weighed by."""

    weights: dict[str, float]
    threshold: float
    """The margin from which the winner holds."""
    rules: ResolutionRules = ResolutionRules()

    def side(self, facts: Side) -> Side:
        """The side with its score; its factors of scope and recency by these rules."""
        factors = facts.factors | {
            "scope": self.rules.priority_by_scope[facts.scope],
            "recency": self.rules.priority_by_recency[facts.recency],
        }
        weights = normalised(self.weights)
        score = sum(weights[name] * factors[name] for name in FACTORS)
        return facts.model_copy(update={"factors": factors, "score": round(score, 4)})


class Conflict(Record):
    """A disagreement after weighing."""

    subject: str
    """The question whose answers disagree."""
    winner: Side
    loser: Side
    conflict_type: ConflictType
    reason: str
    """Why it is of that type."""
    rule: Rule
    weighing: Weighing
    decided_on: date | None = None
    """By the rule ``verdict``: the day an administrator said so."""

    @property
    def margin(self) -> float:
        """How far the winner leads, to four decimals (binary noise must not decide); a rule may choose the lighter."""
        return round(self.winner.score - self.loser.score, 4)

    @property
    def decided(self) -> bool:
        """Whether the winner holds; otherwise both sides are shown."""
        return self.rule != "weighted_scoring" or self.margin >= self.weighing.threshold

    def as_json(self) -> dict[str, Any]:
        """As the trace and the ``conflict_resolved`` event publish it."""
        return {
            "winner": self.winner.as_json(),
            "loser": self.loser.as_json(),
            "margin": self.margin,
            "decided": self.decided,
            "conflict_type": self.conflict_type,
            "reason": self.reason,
            "rule": self.rule,
        }

    def entry(self) -> dict[str, Any]:
        """The whole record with what follows from it, as the ledger keeps it."""
        return {**self.model_dump(mode="json"), "margin": self.margin, "decided": self.decided}

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> "Conflict":
        """The record of a ledger's entry."""
        return cls.model_validate({name: entry[name] for name in cls.model_fields if name in entry})

    def weighed_by(self, weighing: Weighing) -> "Conflict":
        """The same disagreement by other weights. What a rule decided stays decided; its scores are reckoned anew."""
        one, other = weighing.side(self.winner), weighing.side(self.loser)
        winner, loser = by_score(one, other) if self.rule == "weighted_scoring" else (one, other)
        return self.model_copy(update={"winner": winner, "loser": loser, "weighing": weighing})


def by_score(one: Side, other: Side) -> tuple[Side, Side]:
    """The heavier side first; of equal ones the source that took effect later, then the greater id."""
    heavier, lighter = sorted((one, other), key=lambda side: (side.score, *by_age(side)), reverse=True)
    return heavier, lighter


def by_age(side: Side) -> tuple[datetime, str, str]:
    """What sorts sources by age; the id decides between those of one day, so that the order they came in does not."""
    return side.effective.astimezone(UTC), str(side.document_id), side.claim


def facts_of(
    passage: Passage, *, effective: datetime, recency: Recency, title: str, claim: str, is_general: bool
) -> Side:
    """A source before it is weighed; `title` and `claim` as they are shown, `is_general` says that its department is
    none of the special ones."""
    kinds: dict[str, SourceKind] = {"attachment": "attachment", "web": "web"}
    domain = _OUT_OF_DOMAIN if is_general else 1.0
    relevance = round(passage.relevance_score, 2)  # an estimate: what is finer must not tip a margin over the threshold
    return Side(
        document_id=passage.document_id,
        kind=kinds.get(passage.authority, "document"),
        url=passage.url,
        title=title,
        department=passage.department,
        scope=passage.scope,
        effective=effective,
        recency=recency,
        claim=claim,
        factors={"domain": domain, "scope": 0.0, "recency": 0.0, "relevance": relevance},
        score=0.0,
    )


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights that sum to 1, in the order of `FACTORS`. Raises ``ValueError`` unless all are finite, ≥ 0 and one is
    above 0."""
    if weights.keys() != set(FACTORS):
        raise ValueError(f"give a weight to each of {', '.join(FACTORS)} and to nothing else")
    given = {name: float(weights[name]) for name in FACTORS}
    if any(not math.isfinite(weight) or weight < 0 for weight in given.values()):
        raise ValueError("weights must be finite and not below 0")
    largest = max(given.values())
    if largest == 0:
        raise ValueError("one weight at least must be above 0")
    if abs(sum(given.values()) - 1) <= _EVEN:
        return given
    scaled = {name: weight / largest for name, weight in given.items()}  # sums of huge or tiny numbers stay finite
    total = math.fsum(scaled.values())
    return {name: weight / total for name, weight in scaled.items()}
