"""Comparing two passages that lie near one another: do they contradict each other, do they repeat each other?

The limits are measured (decision 0014): what counts as likely here is right about two times in three.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple
from uuid import UUID

from app.claims import Claim, Weight, claims_in, likeness, subject_words
from app.storage.health import FindingRow
from app.storage.neighbours import Neighbour, PassageRow
from app.text.language import words

LEAST_SIMILARITY = 0.45
"""Cosine (centred by language) below which passages are not compared; the least near pair of passages with a planted
contradiction lies at 0.47."""
_CANDIDATE = 0.03
"""Least score of two claims that may contradict each other."""
_SURROUNDINGS = 0.6
"""How much what a claim stands under counts, against 1 for its own clause."""
_NEARNESS = 1.5
"""Exponent of the passages' similarity in the score."""
_OTHER_WORDS_BESIDE = 0.35
"""What is left of a score when nothing next to the amounts is the same (“14 ngày phép”, “báo trước 30 ngày”)."""
_OTHER_DAYS = 0.4
"""And when only one of them counts working days."""
_CONCEPT_WEIGHT = 6.0
"""A concept of the glossary tells as much as a rare word."""
_ACROSS = 0.65
"""Cosine of a passage and its own translation (median on XQuAD 0.63): as near as two languages come."""
_SHARED_CONCEPTS = 2
"""Across languages one concept in common (“budget”) is too little."""
_PRIOR = 50
"""Passages every word is thought to be absent from, so that a small corpus has rare words too."""
_CLAIMS = 40
"""Of a passage, in order; more stand only in tables of figures."""
_SHINGLE = 3
_REPEATED = 0.8
"""Least share of the rows of three words that two passages have in common to say the same."""
_REPEATED_WORDS = 12
"""A shorter passage (a greeting, a contact) may stand in many documents."""

Concepts = Callable[[str], frozenset[str]]
"""The concepts a text names, the same ones whatever its language."""


@dataclass(frozen=True, slots=True)
class _Stated:
    """A claim with what it is recognised by."""

    claim: Claim
    words: frozenset[str]
    concepts: frozenset[str]
    wider_concepts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """A passage after everything that needs no other passage."""

    passage: PassageRow
    stated: tuple[_Stated, ...]
    shingles: frozenset[tuple[str, ...]]

    @property
    def said(self) -> dict[str, UUID]:
        """Its sentences as findings quote them, with its chunk."""
        return {one.claim.sentence[:_QUOTED]: self.passage.chunk_id for one in self.stated}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two claims that exclude each other and may be about the same thing."""

    one: Claim
    other: Claim
    score: float
    """How alike what they speak of is by words and nearness, 0–1."""


def no_concepts(_text: str) -> frozenset[str]:
    """For a house without a glossary: passages in two languages are compared by the words they share (names, codes)."""
    return frozenset()


def read_passage(passage: PassageRow, concepts: Concepts) -> Reading:
    """Claims and rows of words of a passage; CPU only."""
    spoken = words(passage.text)
    rows = frozenset(zip(*(spoken[at:] for at in range(_SHINGLE)), strict=False))

    def named(text: str) -> frozenset[str]:
        return frozenset(f"#{name}" for name in concepts(text))

    stated = tuple(
        _Stated(claim, subject_words(claim.clause, claim.unit), named(claim.clause), named(claim.surroundings))
        for claim in claims_in(passage.text, passage.section)[:_CLAIMS]
    )
    return Reading(passage, stated, rows if len(spoken) >= _REPEATED_WORDS else frozenset())


def subject_words_of(readings: Iterable[Reading]) -> frozenset[str]:
    """The words whose weight is needed to compare the readings."""
    return frozenset().union(
        *(stated.claim.subject | stated.words for reading in readings for stated in reading.stated)
    )


def weigh_by(found: Collection[str], passages: int, counts: Mapping[str, int]) -> Weight:
    """Inverse document frequency of the words `found`; the index knows English words in the singular."""
    count = {word: max(counts.get(form, 0) for form in (word, word.removesuffix("s"))) for word in found}
    weights = {word: math.log((passages + _PRIOR) / (min(count[word], passages) + 1)) for word in found}
    return lambda word: weights.get(word, _CONCEPT_WEIGHT)


def contradictions(one: Reading, other: Reading, similarity: float, weight: Weight) -> list[Contradiction]:
    """The best contradiction of each unit.

    A claim is held against the one it is most like on the other side: where that one agrees, or speaks of another
    case, nothing is said.
    """
    crosses = one.passage.lang != other.passage.lang
    nearness = min(max(similarity / (_ACROSS if crosses else 1.0), 0.0), 1.0) ** _NEARNESS
    scored = [
        (_same_thing(mine, theirs, weight, crosses=crosses) * nearness, mine.claim, theirs.claim)
        for mine, theirs in product(one.stated, other.stated)
        if mine.claim.unit == theirs.claim.unit
    ]
    best: dict[int, float] = defaultdict(float)
    for score, *both in scored:
        for claim in both:
            best[id(claim)] = max(best[id(claim)], score)
    found: dict[str, Contradiction] = {}
    for score, mine, theirs in sorted(scored, key=lambda pair: -pair[0]):
        if score >= max(_CANDIDATE, best[id(mine)], best[id(theirs)]) and mine.excludes(theirs):
            found.setdefault(mine.unit, Contradiction(mine, theirs, min(score, 1.0)))
    return list(found.values())


def repeats(one: Reading, other: Reading) -> bool:
    """Whether the passages say nearly the same in the same words."""
    together = len(one.shingles | other.shingles)
    return together > 0 and len(one.shingles & other.shingles) / together >= _REPEATED


def _same_thing(one: _Stated, other: _Stated, weight: Weight, *, crosses: bool) -> float:
    """How likely two claims are about the same thing, 0–1."""
    mine, theirs, wider, their_wider = one.words, other.words, one.claim.subject, other.claim.subject
    doubt = 1.0 if crosses or one.claim.beside & other.claim.beside else _OTHER_WORDS_BESIDE
    doubt *= 1.0 if one.claim.is_working_time == other.claim.is_working_time else _OTHER_DAYS
    if crosses and len(one.concepts & other.concepts) < _SHARED_CONCEPTS:
        return 0.0
    if crosses:
        # Words of the other language never match; what does are names, and the concepts both languages share.
        shared, wider_shared = mine & theirs, wider & their_wider
        mine, theirs = one.concepts | shared, other.concepts | shared
        wider, their_wider = one.wider_concepts | wider_shared, other.wider_concepts | wider_shared
    near = likeness(mine, theirs, weight) + _SURROUNDINGS * likeness(wider, their_wider, weight)
    return doubt * near / (1 + _SURROUNDINGS)


_COPIED = 0.5
"""Least share of the smaller document that stands in the other one to call them duplicates."""
_QUOTED = 300
"""Letters of a quoted sentence."""
Pair = tuple[Reading, Reading, float]
"""Two passages of different documents, and how near they lie."""


class Candidate(NamedTuple):
    """What may be a contradiction, with its passages."""

    mine: PassageRow
    theirs: PassageRow
    similarity: float
    found: Contradiction


Judged = tuple[Candidate, float]
"""A candidate, and the chance that it is a contradiction."""


def candidates(pairs: Iterable[Pair], weight: Weight) -> list[Candidate]:
    """What may contradict in each pair. CPU only."""
    return [
        Candidate(one.passage, other.passage, similarity, found)
        for one, other, similarity in pairs
        for found in contradictions(one, other, similarity, weight)
    ]


def contradiction_rows(judged: Iterable[Judged]) -> list[FindingRow]:
    """What several passages of two documents repeat is said once."""
    best: dict[tuple[object, ...], FindingRow] = {}
    for one, chance in judged:
        mine, theirs = one.found.one, one.found.other
        values = ", ".join(mine.amounts)[:_QUOTED], ", ".join(theirs.amounts)[:_QUOTED]
        said = mine.sentence[:_QUOTED], theirs.sentence[:_QUOTED]
        pair, mine_first = _pair(one.mine, one.theirs), one.mine.document_id < one.theirs.document_id
        lines = "\n".join((mine.unit, *(said if mine_first else reversed(said))))
        finding_id = _finding_id(one.mine.document_id, one.theirs.document_id, f"contradiction {lines}")
        row = FindingRow(finding_id, "contradiction", *pair, mine.unit, *values, *said, one.similarity, chance)
        key = (row.document_id, row.other_document_id, row.unit, row.value, row.other_value)
        if key not in best or best[key].score < row.score:
            best[key] = row
    return list(best.values())


class Copies:
    """Counts how much of one document stands in each of its neighbours."""

    def __init__(self, mine: Sequence[PassageRow]):
        self._mine = {row.chunk_id: row for row in mine}
        self.shared: dict[UUID, dict[UUID, Neighbour]] = defaultdict(dict)
        """What of it stands in which document: by document, and by passage of ours."""

    def add(self, near: Iterable[Neighbour], readings: Mapping[UUID, Reading]) -> None:
        """Take in neighbours; CPU only."""
        for one in near:
            if repeats(readings[one.chunk_id], readings[one.passage.chunk_id]):
                self.shared[one.passage.document_id].setdefault(one.chunk_id, one)

    def rows(self, lengths: Mapping[UUID, int]) -> list[FindingRow]:
        """One finding a document that is repeated enough. `lengths`: letters of each of the documents."""
        found, letters = list[FindingRow](), sum(len(row.text) for row in self._mine.values())
        for document_id, shared in self.shared.items():
            copied = sorted((self._mine[chunk_id] for chunk_id in shared), key=lambda row: -len(row.text))
            smaller = max(1, min(letters, lengths.get(document_id, 0)))
            share = min(1.0, sum(len(row.text) for row in copied) / smaller)
            if share >= _COPIED:
                mine, near = copied[0], shared[copied[0].chunk_id]
                lines = _first_line(mine), _first_line(near.passage)
                finding_id = _finding_id(mine.document_id, document_id, "duplicate")
                pair = _pair(mine, near.passage)
                found.append(FindingRow(finding_id, "duplicate", *pair, "", "", "", *lines, near.similarity, share))
        return found


def _pair(mine: PassageRow, theirs: PassageRow) -> tuple[UUID, UUID, UUID, UUID]:
    return mine.document_id, mine.chunk_id, theirs.document_id, theirs.chunk_id


def _first_line(row: PassageRow) -> str:
    return row.text.strip().partition("\n")[0][:_QUOTED]


def _finding_id(one: UUID, other: UUID, what: str) -> UUID:
    """The same whichever of the two documents was examined; migration 0015 says the same in SQL."""
    told = f"{min(one, other)} {max(one, other)} {what}"
    return UUID(hashlib.md5(told.encode(), usedforsecurity=False).hexdigest())
