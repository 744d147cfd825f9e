"""``python -m bench.health``: how many of the planted contradictions are found, and how many findings are right.

Compares every document of the demonstration companies, of two dated versions of handbook pages (as if nobody had said
which one replaces the other), and of XQuAD, whose Vietnamese and English passages say the same and contradict nothing.
``--all`` prints every finding.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from app.domain.health import HealthItem, HealthKind
from app.domain.knowledge import DocumentDraft
from app.domain.principal import GENERAL
from app.embedding import Embedder
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.ingestion.health import Health
from app.ingestion.pipeline import Ingestion
from app.ingestion.seed import read_seed
from app.reasoning.local.terms import concepts_in
from app.retrieval.ranking import load_calibration
from app.storage.database import Database
from app.storage.embedded import start_embedded
from app.storage.migrate import upgrade
from app.storage.tenants import add_tenant
from bench.corpora import XQUAD, read_lines, reader, xquad_documents

TODAY = date(2026, 11, 21)
PLANTED = (
    ("acme-it-account-faq", "acme-it-password-policy-2026", "day"),
    ("acme-general-office-hours", "acme-general-parking", "hour"),
    ("acme-hr-onboarding-faq-2024", "acme-hr-salary-grades-2026", "day of the month"),
    ("acme-general-travel-expenses", "acme-hr-overtime-allowances-2026", "VND"),
    ("acme-hr-remote-work-2025", "acme-hr-remote-work-notice-2026-11", "day"),
    ("acme-it-backup-restore", "acme-it-servers-oncall", "day"),
    ("acme-general-meeting-rooms", "acme-general-office-hours", "minute"),
    ("acme-it-account-faq", "acme-it-vpn-access", "hour"),
    ("acme-general-office-hours", "acme-hr-punctuality-2026", "clock"),
    ("acme-general-office-hours", "acme-hr-handbook-punctuality-2023", "clock"),
    ("acme-it-devices-software", "acme-it-security-incident", "hour"),
    ("acme-hr-handbook-punctuality-2023", "acme-hr-punctuality-2026", "minute"),
    ("acme-hr-annual-leave-2026", "acme-hr-leave-notice-2025", "day"),
    ("globex-general-remote-notice", "globex-hr-working-time", "day"),
    ("globex-hr-handbook-2023", "globex-it-laptop", "hour"),
    ("globex-hr-handbook-2023", "globex-it-data-access", "hour"),
    ("globex-general-travel", "globex-hr-expenses-2026", "GBP"),
    ("globex-hr-leave-2026", "globex-hr-leave-notice", "day"),
    ("globex-hr-development", "globex-hr-handbook-2023", "GBP"),
    ("globex-it-password-2026", "globex-it-password-faq", "character"),
    ("globex-general-office-guide", "globex-general-purchasing", "GBP"),
    ("globex-hr-attendance", "globex-hr-handbook-2023", "minute"),
    ("globex-it-incident-response", "globex-it-oncall", "minute"),
)
"""Disagreements about amounts that were written into the demonstration documents, by pair and unit. Those without an
amount (an assembly point, a password that never expires) are not looked for."""
FURTHER = (("acme-hr-handbook-punctuality-2023", "acme-hr-punctuality-2026", "clock"),)
"""Right as well, though nobody asks about them."""
CHANGED = ("v10", "v11", "v12", "v13", "v14")
"""Handbook pages whose two versions differ in an amount of one unit; the others differ in names and in what is said."""
VERSIONS = "versions"


def pair_of(item: HealthItem) -> tuple[str, str, str]:
    """The two documents by name, and the unit."""
    names = sorted(side.external_id for side in (item.document, item.other) if side)
    return names[0], names[1], item.unit


def version_documents(folder: Path) -> list[DocumentDraft]:
    """Both versions of every page, in force side by side."""
    return [
        DocumentDraft(
            title=one["title"],
            text=one["text"],
            url=f"https://bench.example/{one['id']}",
            department=GENERAL,
            scope="public",
            created_at=datetime.fromisoformat(one["updated"]).replace(tzinfo=UTC),
            external_id=one["id"],
            lang="en",
        )
        for row in read_lines(folder / "conflicts" / "policy_versions.jsonl")
        for one in row["documents"]
    ]


async def compared(
    database: Database, space: str, tenant: str, embedder: Embedder
) -> tuple[list[HealthItem], list[float]]:
    """(everything that is found in a tenant, milliseconds a document)."""
    health = Health(database, space, concepts=concepts_in, embedder=embedder, today=lambda _zone: TODAY)
    who = reader(tenant)
    times: list[float] = []
    while True:
        started = time.perf_counter()
        if not await health.catch_up(who, limit=1):
            break
        times.append((time.perf_counter() - started) * 1000)
    items: list[HealthItem] = []
    cursor: str | None = None
    while True:
        page = await health.report(who, limit=100, cursor=cursor)
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items, times


def judge_seed(items: Sequence[HealthItem]) -> str:
    """Recall over what was planted, precision over what is reported; a second finding of a pair and unit is wrong."""
    told = [pair_of(item) for item in items if item.kind is HealthKind.CONTRADICTION]
    found = set(told) & set(PLANTED)
    right = len(found | (set(told) & set(FURTHER)))
    missed = ", ".join(" / ".join(pair) for pair in PLANTED if pair not in found)
    return (
        f"planted {len(PLANTED)}, found {len(found)} (recall {len(found) / len(PLANTED):.2f}); "
        f"reported {len(told)}, right {right} (precision {right / max(len(told), 1):.2f})\nnot found: {missed}"
    )


def judge_versions(items: Sequence[HealthItem]) -> str:
    """Pages found, contradictions between different pages, and pages recognised as nearly the same."""
    told = {pair_of(item) for item in items if item.kind is HealthKind.CONTRADICTION}
    same_page = {one[:3] for one, other, _ in told if one[:3] == other[:3]}
    apart = sum(one[:3] != other[:3] for one, other, _ in told)
    copies = [pair_of(item) for item in items if item.kind is HealthKind.DUPLICATE]
    found = sorted(same_page & set(CHANGED))
    return (
        f"amount changed on {len(CHANGED)} pages, found {len(found)} ({' '.join(found)}); also reported on "
        f"{len(same_page - set(CHANGED))} pages and between {apart} pairs of different pages; "
        f"{sum(one[:3] == other[:3] for one, other, _ in copies)} of 9 pages are duplicates of themselves, "
        f"{sum(one[:3] != other[:3] for one, other, _ in copies)} of others"
    )


def judge_xquad(items: Iterable[HealthItem]) -> str:
    """Everything reported here is wrong, except that a passage and its translation may round differently."""
    kinds = [item.kind for item in items]
    return f"{kinds.count(HealthKind.CONTRADICTION)} contradictions, {kinds.count(HealthKind.DUPLICATE)} duplicates"


@asynccontextmanager
async def opened(folder: Path, tenants: Iterable[str]) -> AsyncIterator[Database]:
    """A database of its own with these tenants, without documents."""
    server = start_embedded(folder)
    try:
        upgrade(server.owner_url)
        operator = await Database.connect(server.maintenance_url, pool_size=2)
        async with operator.operator_scope() as tx:
            for name in tenants:
                await add_tenant(tx, name)
        await operator.dispose()
        database = await Database.connect(server.app_url)
        try:
            yield database
        finally:
            await database.dispose()
    finally:
        server.stop()


async def measure(eval_folder: Path, seed_folder: Path, models: Path, *, everything: bool) -> None:
    """Load, compare, print."""
    embedder = await asyncio.to_thread(OnnxEmbedder.open, models)
    calibration, reading = load_calibration(embedder.model), CachedEmbedder(embedder)
    documents = {tenant.name: tenant.documents for tenant in read_seed(seed_folder)}
    documents[VERSIONS] = tuple(version_documents(eval_folder))
    documents[XQUAD] = tuple(xquad_documents(eval_folder))
    found: dict[str, list[HealthItem]] = {}
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        async with opened(Path(folder), documents) as database:
            for name, drafts in documents.items():
                await Ingestion(database, embedder, calibration=calibration).ingest(reader(name), drafts)
                found[name], times = await compared(database, calibration.space, name, reading)
                _say(f"{name}: {statistics.median(times):.0f} ms a document (slowest {max(times):.0f})")
    await embedder.aclose()
    if everything:
        _print_all(item for items in found.values() for item in items if item.other)
    demonstration = [item for name in found.keys() - {VERSIONS, XQUAD} for item in found[name]]
    _say(f"demonstration documents: {judge_seed(demonstration)}")
    _say(f"handbook versions: {judge_versions(found[VERSIONS])}")
    _say(f"XQuAD, nothing to find: {judge_xquad(found[XQUAD])}")


def _print_all(items: Iterable[HealthItem]) -> None:
    for item in items:
        mark = "+" if pair_of(item) in PLANTED + FURTHER else " "
        _say(f" {mark} {item.score:.2f} {item.kind} {pair_of(item)}")
        _say(f"      {item.document.value} | {item.document.sentence[:160]}")
        if item.other is not None:
            _say(f"      {item.other.value} | {item.other.sentence[:160]}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--all", action="store_true", help="print every finding")
    given = parser.parse_args()
    asyncio.run(measure(given.eval, given.seed, given.models, everything=given.all))
