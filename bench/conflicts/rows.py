"""Questions with two or more documents that may disagree, and what the retriever finds for them."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from app.claims.kinds import current_versions
from app.domain.knowledge import DocumentDraft, Language, Passage
from app.domain.principal import GENERAL
from app.embedding import Embedder
from app.ingestion.pipeline import Ingestion
from app.reasoning import AnswerRequest
from app.retrieval.ranking import load_calibration
from app.retrieval.search import Retriever
from app.storage.database import Database
from app.text.language import guess_language
from app.tools.rag import PASSAGE_LIMIT
from bench.corpora import read_lines, reader

OWN = Path(__file__).with_name("pairs.jsonl")
TUNED, HELD, HANDBOOK, RAMDOCS = "own, tuned on", "own, held out", "handbook versions", "RAMDocs"
_MIN_RELEVANCE = 0.7
_STRANGERS = 8


class Row(NamedTuple):
    """One question."""

    set: str
    id: str
    kind: str
    language: Language
    question: str
    expect: str
    """The type of conflict; ``none`` where both documents can hold."""
    gold: tuple[str, ...]
    wrong: tuple[str, ...]
    """What no answer may show."""
    documents: tuple[DocumentDraft, ...]
    told: dict[str, str]
    """external_id → the answer that document gives; ``unknown`` for noise."""

    @property
    def conflicts(self) -> bool:
        """Whether the documents disagree."""
        return self.expect != "none"


class Asked(NamedTuple):
    """A row with the passages found for it."""

    row: Row
    passages: tuple[Passage, ...]

    def request(self, passages: Iterable[Passage] | None = None) -> AnswerRequest:
        """As `rag_tool` asks it."""
        return AnswerRequest(
            query=self.row.question,
            language=guess_language(self.row.question),
            agent=GENERAL,
            index=1,
            passages=current_versions(self.passages if passages is None else tuple(passages)),
            min_relevance_score=_MIN_RELEVANCE,
        )


def rows(eval_folder: Path, every: int = 1) -> list[Row]:
    """Each n-th of our own pairs, and where the development data is, handbook versions and RAMDocs."""
    found = [_own(row) for row in read_lines(OWN)[::every]]
    folder = eval_folder / "conflicts"
    if folder.is_dir():
        found += [_version(row) for row in read_lines(folder / "policy_versions.jsonl")]
        found += [_ramdocs(row) for row in read_lines(folder / "ramdocs.jsonl")]
    return found


async def found_for(every: Iterable[Row], database: Database, embedder: Embedder) -> list[Asked]:
    """Each row's documents go through the ingestion into a tenant of their own, and its question is searched there."""
    calibration = load_calibration(embedder.model)
    ingestion = Ingestion(database, embedder, calibration=calibration)
    retriever = Retriever(database, embedder, calibration)
    asked: list[Asked] = []
    for row in every:
        await ingestion.ingest(reader(row.id), row.documents)
        result = await retriever.search(reader(row.id), row.question, departments=None, limit=PASSAGE_LIMIT)
        asked.append(Asked(row, result.passages))
    return asked


async def strangers_for(every: Iterable[Row], database: Database, embedder: Embedder) -> list[Asked]:
    """The questions of other rows asked of each row's documents, which `found_for` brought in: nothing answers them.

    RAMDocs apart, whose passages about namesakes may; each row is asked those of the `_STRANGERS` next of its set and
    language.
    """
    retriever = Retriever(database, embedder, load_calibration(embedder.model))
    asked: list[Asked] = []
    own = [row for row in every if row.set != RAMDOCS]
    for row in own:
        alike = [one for one in own if (one.set, one.language) == (row.set, row.language)]
        at = alike.index(row)
        for other in [*alike[at + 1 :], *alike[:at]][:_STRANGERS]:
            result = await retriever.search(reader(row.id), other.question, departments=None, limit=PASSAGE_LIMIT)
            asked.append(Asked(row._replace(question=other.question, gold=(), wrong=()), result.passages))
    return asked


def _own(row: dict[str, Any]) -> Row:
    name = TUNED if row["set"] == "tuned" else HELD
    gold = tuple(filter(None, [row["gold_answer"]]))
    return _row(name, row, row["lang"], row["expect"], gold, tuple(filter(None, [row["stale_answer"]])))


def _version(row: dict[str, Any]) -> Row:
    return _row(HANDBOOK, row, "en", "superseded_version", (row["gold_answer"],), (row["stale_answer"],))


def _ramdocs(row: dict[str, Any]) -> Row:
    """Documents with made-up answers contradict the right ones; right answers about namesakes do not."""
    expect = "contradiction" if any(one["type"] == "misinfo" for one in row["documents"]) else "none"
    return _row(RAMDOCS, row, "en", expect, tuple(row["gold_answers"]), tuple(row["wrong_answers"]))


def _row(
    name: str, row: dict[str, Any], language: Language, expect: str, gold: tuple[str, ...], wrong: tuple[str, ...]
) -> Row:
    return Row(
        set=name,
        id=row["id"],
        kind=row["kind"],
        language=language,
        question=row["question"],
        expect=expect,
        gold=gold,
        wrong=wrong,
        documents=tuple(_drafts(row)),
        told={one["id"]: one["answer"] for one in row["documents"]},
    )


def _drafts(row: dict[str, Any]) -> Iterator[DocumentDraft]:
    for one in row["documents"]:
        yield DocumentDraft(
            title=one.get("title", ""),
            text=one["text"],
            url=f"https://bench.example/{one['id']}",
            department=one.get("department") or row.get("department") or GENERAL,
            scope=one.get("scope", "internal"),
            created_at=datetime.fromisoformat(one.get("updated", "2026-01-01")).replace(tzinfo=UTC),
            external_id=one["id"],
            lang=one.get("lang", "en"),
        )
