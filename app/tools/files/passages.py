"""The pieces of attached files that bear on a question, as passages."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from uuid import uuid5

from app.domain.attachments import AttachedFile, AttachedSection
from app.domain.knowledge import Passage
from app.domain.principal import Principal
from app.text.language import content_words, fold

LIMIT = 8
_K1, _B = 1.5, 0.75
_HEADING_WEIGHT = 2
_LEAST_RELEVANCE = 0.5
"""The asker pointed at the file: even a piece that shares few words with the question is near."""


class _Piece(NamedTuple):
    file: AttachedFile
    section: AttachedSection
    words: Counter[str]


def best_passages(principal: Principal, query: str, files: Sequence[AttachedFile], limit: int = LIMIT) -> list[Passage]:
    """The best pieces of all files, best first; none when they have no text. CPU-bound for large files."""
    pieces = [_piece(file, section) for file in files for section in file.content.sections]
    asked = _words(query)
    weights = _weights(asked, pieces)
    mean = sum(sum(piece.words.values()) for piece in pieces) / max(len(pieces), 1)
    ranked = sorted(pieces, key=lambda piece: -_score(piece, weights, mean))[:limit]
    total = sum(weights.values()) or 1.0
    found: list[Passage] = []
    for rank, piece in enumerate(ranked, 1):
        coverage = sum(weight for word, weight in weights.items() if word in piece.words) / total
        found.append(passage_of(principal, piece.file, piece.section, coverage, 1 / rank))
    return found


def passage_of(
    principal: Principal, file: AttachedFile, section: AttachedSection, coverage: float = 1.0, score: float = 1.0
) -> Passage:
    """A piece of a file as a passage that only its owner may read.

    Args:
        principal: The owner.
        file: The file.
        section: The piece.
        coverage: Share of the question's words it holds, 0–1.
        score: By which it was ranked.
    """
    told = file.attachment
    return Passage(
        chunk_id=uuid5(told.file_id, str(section.position)),
        document_id=told.file_id,
        external_id=file.address,
        title=told.name,
        section=section.heading,
        text=section.text,
        page=section.page,
        url=file.address,
        department=principal.department,
        scope="private",
        language=file.content.language or "vi",
        created_at=told.created_at,
        effective_from=None,
        effective_to=None,
        authority="attachment",
        similarity=coverage / 2,
        text_rank=coverage,
        relevance_score=_LEAST_RELEVANCE + (1 - _LEAST_RELEVANCE) * coverage,
        fused_score=score,
    )


def _piece(file: AttachedFile, section: AttachedSection) -> _Piece:
    words = Counter(_words(section.text))
    for word in _words(section.heading):
        words[word] += _HEADING_WEIGHT
    return _Piece(file, section, words)


def _words(text: str) -> list[str]:
    return [fold(word) for word in content_words(text)]


def _weights(asked: Sequence[str], pieces: Sequence[_Piece]) -> dict[str, float]:
    """How much each word of the question tells: the fewer pieces hold it, the more."""
    size = len(pieces)
    return {
        word: math.log(1 + (size - held + 0.5) / (held + 0.5))
        for word in dict.fromkeys(asked)
        for held in [sum(word in piece.words for piece in pieces)]
    }


def _score(piece: _Piece, weights: dict[str, float], mean: float) -> float:
    length = sum(piece.words.values()) / max(mean, 1.0)
    return sum(
        weight * piece.words[word] * (_K1 + 1) / (piece.words[word] + _K1 * (1 - _B + _B * length))
        for word, weight in weights.items()
    )
