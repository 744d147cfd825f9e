"""From compared passages to findings that are stored: contradictions, and documents that repeat one another."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID, uuid5

from app.claims import Claim, Weight
from app.ingestion.comparison import Reading, contradictions, repeats
from app.storage.health import FindingRow
from app.storage.neighbours import Neighbour, PassageRow

_COPIED = 0.5
"""Least share of the smaller document that stands in the other one to call them duplicates."""
_QUOTED = 300
"""Letters of a quoted sentence."""
Pair = tuple[Reading, Reading, float]
"""Two passages of different documents, and how near they lie."""


def contradiction_rows(pairs: Iterable[Pair], weight: Weight) -> list[FindingRow]:
    """The contradictions of the pairs; what several passages of two documents repeat is said once. CPU only."""
    best: dict[tuple[object, ...], FindingRow] = {}
    for one, other, similarity in pairs:
        for found in contradictions(one, other, similarity, weight):
            row = _contradiction(one.passage, other.passage, found.one, found.other, similarity, found.score)
            key = (row.document_id, row.other_document_id, row.unit, row.value, row.other_value)
            if key not in best or best[key].score < row.score:
                best[key] = row
    return list(best.values())


class Copies:
    """Counts how much of one document stands in each of its neighbours."""

    def __init__(self, mine: Sequence[PassageRow]):
        self._letters = sum(len(one.text) for one in mine)
        self._shared: dict[UUID, dict[UUID, tuple[PassageRow, Neighbour]]] = defaultdict(dict)

    def add(self, near: Iterable[Neighbour], readings: Mapping[UUID, Reading]) -> None:
        """Take in neighbours; CPU only."""
        for one in near:
            mine = readings[one.chunk_id]
            if repeats(mine, readings[one.passage.chunk_id]):
                self._shared[one.passage.document_id].setdefault(one.chunk_id, (mine.passage, one))

    @property
    def documents(self) -> list[UUID]:
        """Documents that repeat something."""
        return list(self._shared)

    def rows(self, lengths: Mapping[UUID, int]) -> list[FindingRow]:
        """One finding a document that is repeated enough. `lengths`: letters of each of `documents`."""
        found: list[FindingRow] = []
        for document_id, shared in self._shared.items():
            smaller = min(self._letters, lengths.get(document_id, 0))
            share = min(1.0, sum(len(mine.text) for mine, _ in shared.values()) / max(smaller, 1))
            if share >= _COPIED:
                mine, near = max(shared.values(), key=lambda pair: len(pair[0].text))
                found.append(_duplicate(mine, near, share))
        return found


def _contradiction(
    mine: PassageRow, theirs: PassageRow, one: Claim, other: Claim, similarity: float, score: float
) -> FindingRow:
    return FindingRow(
        finding_id=_finding_id(mine.chunk_id, theirs.chunk_id, f"contradiction {one.unit}"),
        kind="contradiction",
        document_id=mine.document_id,
        chunk_id=mine.chunk_id,
        other_document_id=theirs.document_id,
        other_chunk_id=theirs.chunk_id,
        unit=one.unit,
        value=", ".join(one.amounts)[:_QUOTED],
        other_value=", ".join(other.amounts)[:_QUOTED],
        sentence=one.sentence[:_QUOTED],
        other_sentence=other.sentence[:_QUOTED],
        similarity=similarity,
        score=score,
    )


def _duplicate(mine: PassageRow, near: Neighbour, share: float) -> FindingRow:
    theirs = near.passage
    return FindingRow(
        finding_id=_finding_id(mine.document_id, theirs.document_id, "duplicate"),
        kind="duplicate",
        document_id=mine.document_id,
        chunk_id=mine.chunk_id,
        other_document_id=theirs.document_id,
        other_chunk_id=theirs.chunk_id,
        unit="",
        value="",
        other_value="",
        sentence=_first_line(mine.text),
        other_sentence=_first_line(theirs.text),
        similarity=near.similarity,
        score=share,
    )


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:_QUOTED]


def _finding_id(one: UUID, other: UUID, what: str) -> UUID:
    """The same whichever of the two documents was examined."""
    return uuid5(min(one, other), f"{max(one, other)} {what}")
