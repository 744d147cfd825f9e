"""Claims of an answer's quotes, and which of them disagree.

Two quotes disagree when they come from different documents, speak of the same thing, and give amounts of the same
unit that have no value in common ("12 ngày phép năm" against "14 ngày phép năm").
"""

from dataclasses import dataclass
from itertools import combinations

from app.domain import claims
from app.domain.knowledge import Finding, Quote

_SHARED_SUBJECT = 0.5
"""Least overlap coefficient of the two subjects' words for the claims to be about the same thing."""
_SHARED_WORDS = 2
LOG_AUTHORITY = "log"
"""Authority of quotes made from system log lines."""


@dataclass(frozen=True)
class Claim:
    """What a quote states in amounts of one unit, and whose finding it stands in."""

    quote: Quote
    agent: str
    query: str
    stated: claims.Claim
    subject: frozenset[str]

    @property
    def sentence(self) -> str:
        """The sentence as people read it."""
        return self.stated.sentence


@dataclass(frozen=True)
class Disagreement:
    """Two claims that cannot both hold, in the order they were found."""

    one: Claim
    other: Claim


def claims_of(finding: Finding) -> list[Claim]:
    """Every amount stated in the finding's quotes; what a log line counts is no policy and is left out."""
    return [
        Claim(quote, finding.agent, finding.query, stated, stated.subject)
        for quote in finding.quotes
        if quote.passage.authority != LOG_AUTHORITY
        for stated in claims.claims_in(quote.text, quote.passage.section)
    ]


def disagreements(findings: tuple[Finding, ...]) -> list[Disagreement]:
    """Pairs of claims that disagree, at most one for each pair of documents and unit."""
    stated = [claim for finding in findings if finding.found for claim in claims_of(finding)]
    seen: set[tuple[frozenset[str], str]] = set()
    found: list[Disagreement] = []
    for one, other in combinations(stated, 2):
        documents = frozenset({str(one.quote.passage.document_id), str(other.quote.passage.document_id)})
        key = (documents, one.stated.unit)
        if len(documents) == 2 and key not in seen and _disagree(one, other):
            seen.add(key)
            found.append(Disagreement(one, other))
    return found


def _disagree(one: Claim, other: Claim) -> bool:
    if not one.stated.excludes(other.stated):
        return False
    shared = one.subject & other.subject
    smaller = min(len(one.subject), len(other.subject))
    return len(shared) >= _SHARED_WORDS and len(shared) / smaller >= _SHARED_SUBJECT
