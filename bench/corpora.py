"""Questions with known answers, over corpora loaded into a database of their own."""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from app.domain.knowledge import DocumentDraft, Language
from app.domain.principal import GENERAL, SCOPES, Principal, tenant_id_of, user_id_of
from app.embedding import Embedder
from app.ingestion.pipeline import Ingestion
from app.ingestion.seed import SeedTenant, read_demo, read_seed
from app.retrieval.ranking import Calibration
from app.storage.database import Database
from app.storage.embedded import start_embedded
from app.storage.migrate import upgrade
from app.storage.tenants import add_tenant
from app.text.language import fold

XQUAD = "xquad"
"""Tenant that holds the XQuAD passages of both languages."""


class Asked(NamedTuple):
    """A question somebody asks, and how to tell its answer among the passages."""

    kind: str
    """``same``, ``cross``, ``unaccented`` (XQuAD), ``seed …`` or ``unanswerable``."""
    principal: Principal
    text: str
    language: Language
    documents: frozenset[str]
    """external_ids of the documents that answer; empty when none does."""
    phrases: tuple[str, ...]
    """One of them stands in a passage that answers; empty = any passage of the documents does."""
    hidden: frozenset[str] = frozenset()
    """Documents treated as absent: the answer in the language that is not asked about."""


def reader(tenant: str) -> Principal:
    """Somebody who administers and may read everything of a tenant."""
    tenant_id = tenant_id_of(tenant)
    return Principal(
        tenant_id=tenant_id,
        user_id=user_id_of(tenant_id, "bench"),
        department=GENERAL,
        departments=frozenset({GENERAL, "hr", "it"}),
        scopes=frozenset(SCOPES),
        roles=frozenset({"admin"}),
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def xquad_documents(folder: Path) -> list[DocumentDraft]:
    """Every passage as a document without title."""
    return [
        DocumentDraft(
            title="",
            text=row["text"],
            url=f"https://bench.example/{row['id']}",
            department=GENERAL,
            scope="public",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            external_id=row["id"],
            lang=row["lang"],
        )
        for row in read_lines(folder / "xquad" / "corpus.jsonl")
    ]


def xquad_questions(folder: Path, every: int = 1) -> Iterator[Asked]:
    """Each n-th question asked for its own passage, for the parallel one, and (Vietnamese) without diacritics."""
    asker = reader(XQUAD)
    for row in read_lines(folder / "xquad" / "queries.jsonl")[::every]:
        other: Language = "en" if row["lang"] == "vi" else "vi"
        own, parallel = row["passage_id"], other + row["passage_id"][2:]
        answers, instead = frozenset({own}), frozenset({parallel})
        yield Asked(f"{row['lang']} same", asker, row["question"], row["lang"], answers, (), instead)
        yield Asked(f"{row['lang']} cross", asker, row["question"], row["lang"], instead, (), answers)
        if row["lang"] == "vi":
            yield Asked("vi unaccented", asker, fold(row["question"]), "vi", answers, (), instead)


def seed_questions(folder: Path) -> Iterator[Asked]:
    """The questions beside the demonstration documents, each asked by its user; follow-ups and log questions apart."""
    people = {(user.tenant, user.name): user.principal for user in read_demo(folder).users}
    for path in sorted(folder.glob("*/questions*.jsonl")):
        for row in read_lines(path):
            if row["kind"] in ("followup", "log", "calculation"):
                continue
            answered = row["outcome"] != "not_found"
            kind = row["kind"] if row["kind"] in ("unaccented", "cross_lingual") else "same"
            yield Asked(
                f"seed {kind}" if answered else "unanswerable",
                people[row["tenant"], row["asker"]],
                row["question"],
                row["lang"],
                frozenset(row["expect_documents"]),
                tuple(row["expect_phrases"]),
            )


@asynccontextmanager
async def loaded(
    embedder: Embedder,
    calibration: Calibration,
    eval_folder: Path | None,
    seed_folder: Path,
    say: Callable[[str], None],
) -> AsyncIterator[Database]:
    """A database with XQuAD (unless `eval_folder` is None) and the demonstration tenants in it; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        server = start_embedded(Path(folder))
        try:
            upgrade(server.owner_url)
            await _add_tenants(server.maintenance_url, [XQUAD, *(tenant.name for tenant in _tenants(seed_folder))])
            database = await Database.connect(server.app_url)
            try:
                ingestion = Ingestion(database, embedder, calibration=calibration)
                if eval_folder:
                    await _ingest(ingestion, XQUAD, xquad_documents(eval_folder), say)
                for tenant in _tenants(seed_folder):
                    await _ingest(ingestion, tenant.name, tenant.documents, say)
                yield database
            finally:
                await database.dispose()
        finally:
            server.stop()


async def _ingest(
    ingestion: Ingestion, tenant: str, drafts: Sequence[DocumentDraft], say: Callable[[str], None]
) -> None:
    report = await ingestion.ingest(reader(tenant), drafts)
    say(f"{tenant}: {report.published} documents, {report.chunks} chunks in {report.seconds:.1f} s")


async def _add_tenants(url: str, names: Sequence[str]) -> None:
    operator = await Database.connect(url, pool_size=2)
    try:
        async with operator.operator_scope() as tx:
            for name in names:
                await add_tenant(tx, name)
    finally:
        await operator.dispose()


def _tenants(seed_folder: Path) -> tuple[SeedTenant, ...]:
    return read_seed(seed_folder) if seed_folder.is_dir() else ()
