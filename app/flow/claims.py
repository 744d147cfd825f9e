"""Comparable claims inside quotes: amounts with a unit, and what they are said of.

Two quotes disagree when they come from different documents, speak of the same thing, and give amounts of the same
unit that have no value in common ("12 ngày phép năm" against "14 ngày phép năm").
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from app.domain.knowledge import Finding, Quote
from app.domain.language import content_words, fold

_UNITS = {
    "ngay": "day", "day": "day", "days": "day", "gio": "hour", "hour": "hour", "hours": "hour",
    "phut": "minute", "minute": "minute", "minutes": "minute", "lan": "time", "times": "time",
    "tuan": "week", "week": "week", "weeks": "week", "thang": "month", "month": "month", "months": "month",
    "nam": "year", "year": "year", "years": "year", "dong": "money", "vnd": "money", "trieu": "million",
    "ky tu": "character", "character": "character", "characters": "character", "%": "percent",
    "percent": "percent", "phan tram": "percent",
}  # fmt: skip
_NUMBER = r"\d{1,3}(?:[.,]\d{3})+(?!\d)|\d+(?:[.,]\d+)?"
_AMOUNT = re.compile(
    rf"(?P<money>[£$€])\s?(?P<paid>{_NUMBER})"
    r"|(?P<clock>\b\d{1,2}\s?[:h]\s?\d{2}\b)"
    r"|\b(?:ngày|day)\s(?P<day>\d{1,2})\b(?![/.,-]?\d)"
    rf"|(?P<number>{_NUMBER})[\s-]*(?P<unit>%|[^\W\d_]+(?:\s[^\W\d_]+)?)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_SHARED_SUBJECT = 0.5
"""Least overlap coefficient of the two subjects' words for the claims to be about the same thing."""
_SHARED_WORDS = 2
LOG_AUTHORITY = "log"
"""Authority of quotes made from system log lines."""


@dataclass(frozen=True)
class Claim:
    """One sentence's amounts of one unit."""

    quote: Quote
    agent: str
    query: str
    sentence: str
    unit: str
    values: frozenset[Decimal]
    subject: frozenset[str]
    """Folded content words of the sentence and its heading, without the amounts."""


@dataclass(frozen=True)
class Disagreement:
    """Two claims that cannot both hold, in the order they were found."""

    one: Claim
    other: Claim


def claims_of(finding: Finding) -> list[Claim]:
    """Every amount stated in the finding's quotes; what a log line counts is no policy and is left out."""
    return [
        Claim(
            quote=quote,
            agent=finding.agent,
            query=finding.query,
            sentence=_readable(sentence),
            unit=unit,
            values=frozenset(values),
            subject=_subject(sentence, quote.passage.section, unit),
        )
        for quote in finding.quotes
        if quote.passage.authority != LOG_AUTHORITY
        for sentence in _SENTENCE_END.split(quote.text)
        for unit, values in _amounts(sentence).items()
    ]


def disagreements(findings: tuple[Finding, ...]) -> list[Disagreement]:
    """Pairs of claims that disagree, at most one for each pair of documents and unit."""
    claims = [claim for finding in findings if finding.found for claim in claims_of(finding)]
    seen: set[tuple[frozenset[str], str]] = set()
    found: list[Disagreement] = []
    for one, other in combinations(claims, 2):
        documents = frozenset({str(one.quote.passage.document_id), str(other.quote.passage.document_id)})
        key = (documents, one.unit)
        if len(documents) == 2 and key not in seen and _disagree(one, other):
            seen.add(key)
            found.append(Disagreement(one, other))
    return found


def _disagree(one: Claim, other: Claim) -> bool:
    if one.unit != other.unit or one.values & other.values:
        return False
    shared = one.subject & other.subject
    smaller = min(len(one.subject), len(other.subject))
    return len(shared) >= _SHARED_WORDS and len(shared) / smaller >= _SHARED_SUBJECT


def _readable(sentence: str) -> str:
    """The sentence as people read it; a table row becomes ``Dưới 3 năm: 14 ngày``."""
    cells = [cell.strip() for cell in sentence.strip().strip("|").split("|")]
    return ": ".join(filter(None, cells)).lstrip("-*• ")


def _amounts(sentence: str) -> dict[str, set[Decimal]]:
    found: dict[str, set[Decimal]] = {}
    for match in _AMOUNT.finditer(sentence):
        unit, value = _read(match)
        if unit:
            found.setdefault(unit, set()).add(value)
    return found


def _read(match: re.Match[str]) -> tuple[str, Decimal]:
    """Unit ("" when it is none we compare) and value of one amount."""
    if match["clock"]:
        hour, minute = re.split(r"\s?[:h]\s?", match["clock"])
        return "clock", Decimal(int(hour) * 60 + int(minute))
    if match["day"]:
        return "day of the month", Decimal(match["day"])
    if match["money"]:
        return "money", _number(match["paid"])
    words = fold(match["unit"]).lower().split()
    unit = _UNITS.get(" ".join(words)) or _UNITS.get(words[0], "")
    value = _number(match["number"])
    return ("money", value * 1_000_000) if unit == "million" else (unit, value)


def _number(text: str) -> Decimal:
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", text):
        return Decimal(re.sub(r"[.,]", "", text))
    return Decimal(text.replace(",", "."))


def _subject(sentence: str, section: str, unit: str) -> frozenset[str]:
    words = {fold(word) for word in content_words(f"{sentence} {section}")}
    return frozenset(word for word in words if not word.isdigit() and _UNITS.get(word) != unit)
