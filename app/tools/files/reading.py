"""Where the tool gets files from, which of them a question is about, and their pieces as passages."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol
from uuid import UUID, uuid5

from app.domain.attachments import AttachedFile, AttachedSection
from app.domain.knowledge import Language, Passage
from app.domain.principal import Principal
from app.errors import ToolFailed
from app.text.language import content_words, fold, words
from app.tools.base import ToolCall, outages_as_retry, side_by_side

SENTENCES: dict[str, dict[Language, dict[str, str]]] = json.loads(
    Path(__file__).with_name("sentences.json").read_text("utf-8")
)
"""Of answers, of refusals, of descriptions."""
_LIMIT = 8
"""Pieces of all files that are read for an answer."""
_K1, _B = 1.5, 0.75
_HEADING_WEIGHT = 2
_LEAST_RELEVANCE = 0.5
"""The asker pointed at the file: even a piece that shares few words with the question is near."""


class FileReader(Protocol):
    """What the tool needs of `ingestion.attached.Attachments`."""

    async def read(self, principal: Principal, file_id: UUID) -> AttachedFile | None:
        """A file of the principal with its content; None for every other id."""


async def files_of(reader: FileReader, call: ToolCall) -> tuple[AttachedFile, ...]:
    """The files of a call, in order. Raises `ToolFailed` when there are none or one is gone, `ToolRetry` in outages."""
    refusals = SENTENCES["refusals"][call.language]
    if not call.files:
        raise ToolFailed(refusals["no_file"])
    with outages_as_retry("The store of attached files"):
        read = await side_by_side([reader.read(call.principal, one) for one in dict.fromkeys(call.files)])
    found = tuple(one for one in read if one is not None)
    if len(found) < len(read):
        raise ToolFailed(refusals["gone"])
    return found


def named_in(query: str, files: Sequence[AttachedFile]) -> tuple[AttachedFile, ...]:
    """The files a question calls by name; all when it names none."""
    said = f" {fold(' '.join(words(query)))} "
    return tuple(one for one in files if f" {fold(' '.join(words(one.attachment.name)))} " in said) or tuple(files)


def stem_of(file: AttachedFile) -> str:
    """The name of a file without its ending."""
    return PurePosixPath(file.attachment.name).stem


def short(text: str, most: int = 80) -> str:
    """A text cut to so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def best_passages(principal: Principal, query: str, files: Sequence[AttachedFile]) -> list[Passage]:
    """The best pieces of all files by BM25, best first; none when they have no text. CPU-bound for large files."""
    pieces = [(file, section, _counted(section)) for file in files for section in file.content.sections]
    weights: dict[str, float] = {}
    for word in _words(query):
        held = sum(word in counts for _, _, counts in pieces)
        weights[word] = math.log(1 + (len(pieces) - held + 0.5) / (held + 0.5))
    mean = max(sum(counts.total() for _, _, counts in pieces) / max(len(pieces), 1), 1.0)

    def score(counts: Counter[str]) -> float:
        norm = _K1 * (1 - _B + _B * counts.total() / mean)
        return sum(weight * counts[word] * (_K1 + 1) / (counts[word] + norm) for word, weight in weights.items())

    total = sum(weights.values()) or 1.0
    ranked = sorted(pieces, key=lambda piece: -score(piece[2]))[:_LIMIT]
    coverages = [sum(weight for word, weight in weights.items() if word in piece[2]) / total for piece in ranked]
    return [
        passage_of(principal, file, section, coverage, 1 / rank)
        for rank, ((file, section, _), coverage) in enumerate(zip(ranked, coverages, strict=True), 1)
    ]


def passage_of(
    principal: Principal, file: AttachedFile, section: AttachedSection, coverage: float = 1.0, score: float = 1.0
) -> Passage:
    """A piece of a file as a passage that only its owner may read; `coverage` is the share of the question's words it
    holds (0–1), `score` what it was ranked by."""
    told = file.attachment
    return Passage(
        chunk_id=uuid5(told.file_id, str(section.position)), document_id=told.file_id, external_id=file.address,
        title=told.name, section=section.heading, text=section.text, page=section.page, url=file.address,
        department=principal.department, scope="private", language=file.content.language or "vi",
        created_at=told.created_at, effective_from=None, effective_to=None, authority="attachment",
        similarity=coverage / 2, text_rank=coverage, fused_score=score,
        relevance_score=_LEAST_RELEVANCE + (1 - _LEAST_RELEVANCE) * coverage,
    )  # fmt: skip


def _counted(section: AttachedSection) -> Counter[str]:
    return Counter(_words(section.text) + _words(section.heading) * _HEADING_WEIGHT)


def _words(text: str) -> list[str]:
    return [fold(word) for word in content_words(text)]
