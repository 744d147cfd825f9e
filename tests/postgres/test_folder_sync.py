"""Bringing a folder and the catalogue in step, on a real database with the bundled model."""

import io
import json
import random
from collections.abc import AsyncIterator, Mapping
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from rich.console import Console

from app.cli.access import explain
from app.cli.bulk_ingest import Said
from app.cli.ingest import Wanted, carry_out, prepare
from app.domain.principal import SCOPES, Principal, Scope
from app.embedding import EmbeddingUnavailable
from app.embedding.onnx import OnnxEmbedder
from app.errors import AppError, ErrorCode
from app.ingestion.catalogue import Catalogue
from app.ingestion.folder import read_manifest
from app.ingestion.pipeline import Ingestion
from app.main.storage import operator_claims
from app.retrieval.ranking import load_calibration
from app.retrieval.search import Retriever
from app.storage.database import Database
from tests.factories import principal
from tests.postgres.folder_library import FolderLibrary
from tests.postgres.library import ACME, HOLIDAYS, LATENESS, TODAY, CountingEmbedder, add_tenants, today

LEAVE = "# Nghỉ phép\n\nNhân viên chính thức được hưởng 12 ngày nghỉ phép năm.\n"
SALARY = "# Thang lương\n\nKỹ sư bậc 3 nhận mức lương cơ bản 32.000.000 đồng một tháng.\n"
PASSWORDS = "# Mật khẩu\n\nMật khẩu có ít nhất 12 ký tự.\n"
SERVERS = "# Máy chủ\n\nMáy chủ mail-01 được khởi động lại trong 15 phút.\n"
TREE = {"hr/leave.md": LEAVE, "hr/salary/grades.md": SALARY, "it/passwords.txt": PASSWORDS, "it/servers.md": SERVERS}
_numbers = count(1)


class Sync(NamedTuple):
    """One tenant and its folder."""

    folder: Path
    library: FolderLibrary
    embedder: CountingEmbedder
    operator: Principal
    ingestion: Ingestion
    retriever: Retriever

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    async def run(self, *, allow_retire_all: bool = False) -> tuple[int, dict[str, Any]]:
        """Exit code and the result line, with the outcome of each file under ``files``."""
        said = Said({"department": "general", "scope": "internal", "authority": "policy"}, {})
        wanted = Wanted([self.folder], said, is_sync=True, allow_retire_all=allow_retire_all)
        out, progress = io.StringIO(), Console(file=io.StringIO())
        steps, known = await prepare(self.library, wanted, read_manifest(self.folder))
        code = await carry_out(self.library, steps, known, Console(file=out), progress, True)
        *files, result = map(json.loads, out.getvalue().splitlines())
        return code, {**result, "files": {one["file"]: one for one in files}}

    async def stored(self) -> dict[str, tuple[str, str, int]]:
        """(department, scope, version) by external id."""
        found = [view async for view in self.library.listing(None, None)]
        return {view.external_id: (view.department, view.scope, view.latest_version) for view in found}

    async def reads(self, department: str, query: str) -> set[str]:
        """External ids somebody of a department finds with every scope."""
        asker = principal(str(self.operator.tenant_id), "asker", department)
        found = await self.retriever.search(asker, query, departments=None)
        return {passage.external_id for passage in found.passages}


@pytest_asyncio.fixture
async def sync(database: Database, maintenance_url: str, bundled: OnnxEmbedder, tmp_path: Path) -> AsyncIterator[Sync]:
    tenant = f"tenant-{next(_numbers)}"
    await add_tenants(maintenance_url, tenant)
    embedder = CountingEmbedder(bundled)
    ingestion = Ingestion(database, embedder, today=today)
    operator = operator_claims(tenant, frozenset({"hr", "it"})).principal()
    calibration = load_calibration(embedder.model)
    library = FolderLibrary(database, ingestion, Catalogue(database, today), operator)
    retriever = Retriever(database, embedder, calibration, caching=False, today=today)
    folder = tmp_path / "policies"
    folder.mkdir()
    yield Sync(folder, library, embedder, operator, ingestion, retriever)
    await ingestion.aclose()


class TestSync:
    async def test_brings_a_tree_in_and_does_nothing_the_second_time(self, sync: Sync) -> None:
        sync.write(TREE)
        code, first = await sync.run()
        assert (code, first["published"], first["failed"]) == (0, 4, 0), first
        stored = await sync.stored()
        assert stored == {
            "folder:policies/hr/leave.md": ("hr", "internal", 1),
            "folder:policies/hr/salary/grades.md": ("hr", "internal", 1),
            "folder:policies/it/passwords.txt": ("it", "internal", 1),
            "folder:policies/it/servers.md": ("it", "internal", 1),
        }
        asked = len(sync.embedder.passages)
        code, second = await sync.run()
        assert (code, second["unchanged"], second["published"], second["embedded"]) == (0, 4, 0, 0)
        assert len(sync.embedder.passages) == asked
        assert await sync.stored() == stored

    async def test_updates_what_changed_and_retires_what_vanished(self, sync: Sync) -> None:
        sync.write(TREE)
        await sync.ingestion.ingest(sync.operator, [LATENESS])
        await sync.run()
        sync.write({"hr/leave.md": LEAVE.replace("12 ngày", "14 ngày")})
        (sync.folder / "it" / "servers.md").unlink()
        code, result = await sync.run()
        assert (code, result["published"], result["unchanged"], result["retired"]) == (0, 1, 2, 1)
        assert result["files"]["it/servers.md"]["outcome"] == "retired"
        stored = await sync.stored()
        assert stored["folder:policies/hr/leave.md"][2] == 2
        assert "lateness" in stored and "folder:policies/it/servers.md" not in stored
        assert "folder:policies/it/servers.md" not in await sync.reads("it", "khởi động lại máy chủ mail-01")

    async def test_retires_nothing_when_most_of_the_folder_is_gone_until_told_to(self, sync: Sync) -> None:
        sync.write(TREE)
        await sync.run()
        for name in TREE:
            (sync.folder / name).unlink()
        code, result = await sync.run()
        assert (code, result["retired"], result["withheld"]) == (1, 0, 4)
        assert "--allow-retire-all" in result["notes"][0]
        assert len(await sync.stored()) == 4
        code, result = await sync.run(allow_retire_all=True)
        assert (code, result["retired"]) == (0, 4)
        assert await sync.stored() == {}

    async def test_moves_rights_with_the_manifest_without_asking_the_model(self, sync: Sync) -> None:
        sync.write(TREE)
        await sync.run()
        grades, asked = "folder:policies/hr/salary/grades.md", len(sync.embedder.passages)
        assert grades in await sync.reads("it", "lương kỹ sư bậc 3")
        sync.write({"conclave.toml": '[[rules]]\nmatch = "hr/salary/**"\nscope = "private"\n'})
        code, result = await sync.run()
        assert (code, result["published"], result["unchanged"]) == (0, 1, 3)
        assert len(sync.embedder.passages) == asked
        assert grades not in await sync.reads("it", "lương kỹ sư bậc 3")
        assert grades in await sync.reads("hr", "lương kỹ sư bậc 3")

    async def test_changes_nothing_when_the_manifest_is_wrong(self, sync: Sync) -> None:
        sync.write({**TREE, "conclave.toml": "[defaults]\nscop = 'private'\n"})
        with pytest.raises(AppError, match=r"defaults\.scop"):
            await sync.run()
        assert await sync.stored() == {}

    async def test_lets_no_failure_stop_the_others(self, sync: Sync) -> None:
        broken: dict[str, str | bytes] = {
            "it/broken.pdf": b"no\x00pdf", "hr/empty.md": "", "hr/large.txt": "x" * 1_000_001,
            "hr/rights.md": "---\nscope: secret\n---\nx", "hr/faq.jsonl": '{"text": "Một."}\n{"external_id": 1}',
        }  # fmt: skip
        sync.write({**TREE, **broken})
        code, result = await sync.run()
        failed = {name for name, one in result["files"].items() if one["outcome"] == "failed"}
        assert failed == {
            "it/broken.pdf", "hr/empty.md", "hr/large.txt", "hr/rights.md", "hr/faq.jsonl#2",
        }  # fmt: skip
        assert (code, result["published"]) == (1, 5)
        assert all(one["code"] and one["detail"] for one in result["files"].values() if one["outcome"] == "failed")

    async def test_keeps_what_a_file_said_that_cannot_be_read_any_more(self, sync: Sync) -> None:
        lines = [json.dumps({"external_id": name, "text": f"Câu hỏi {name}."}) for name in "abcde"]
        sync.write({"hr/faq.jsonl": "\n".join(lines), "hr/leave.md": LEAVE})
        await sync.run()
        sync.write({"hr/faq.jsonl": "\n".join([*lines[:-1], "{"])})
        code, result = await sync.run(allow_retire_all=True)
        assert (code, result["retired"], result["failed"]) == (1, 0, 1)
        sync.write({"hr/faq.jsonl": "\n".join(lines[:-1])})
        code, result = await sync.run()
        assert (code, result["retired"]) == (0, 1)
        assert "folder:policies/hr/faq.jsonl#e" not in await sync.stored()

    async def test_goes_on_where_it_was_interrupted(self, sync: Sync) -> None:
        sync.write(TREE)
        await sync.run()
        sync.write({"hr/leave.md": LEAVE.replace("12 ngày", "14 ngày")})
        sync.embedder.failure = EmbeddingUnavailable("away")
        with pytest.raises(AppError) as caught:
            await sync.run()
        assert caught.value.code is ErrorCode.LLM_UNAVAILABLE
        sync.embedder.failure = None
        code, result = await sync.run()
        assert (code, result["published"]) == (0, 1)
        view = await sync.library.find("folder:policies/hr/leave.md")
        assert (view.status, view.current_version) == ("ready", view.latest_version)

    async def test_lets_a_newer_file_take_the_older_ones_place(self, sync: Sync) -> None:
        old = f"---\nexternal_id: leave-2024\neffective_from: 2024-01-01\n---\n{LEAVE}"
        new = "---\nsupersedes: leave-2024\neffective_from: 2026-01-01\n---\n" + LEAVE.replace("12", "14")
        sync.write({"hr/a-new.md": new, "hr/b-old.md": old})
        assert (await sync.run())[0] == 0
        assert (await sync.library.find("folder:policies/hr/b-old.md")).effective_to == date(2025, 12, 31)
        assert await sync.reads("hr", "ngày nghỉ phép năm") == {"folder:policies/hr/a-new.md"}

    async def test_says_after_any_history_what_the_folder_says(self, sync: Sync) -> None:
        chance, texts = random.Random(9), [LEAVE, SALARY, PASSWORDS, SERVERS]
        await sync.ingestion.ingest(sync.operator, [LATENESS])
        for _ in range(8):
            for name in TREE:
                if chance.random() < 0.5:
                    sync.write({name: chance.choice(texts)})
                elif chance.random() < 0.5:
                    (sync.folder / name).unlink(missing_ok=True)
            code, result = await sync.run(allow_retire_all=True)
            assert (code, result["failed"]) == (0, 0)
            here = {f"folder:policies/{name}" for name in TREE if (sync.folder / name).exists()}
            assert set(await sync.stored()) == here | {"lateness"}
            assert (await sync.run(allow_retire_all=True))[1]["published"] == 0


class TestExplainAccess:
    async def test_says_what_searching_finds(self, sync: Sync, database: Database) -> None:
        """Every reader against every document: rights, days, and a version that has yet to begin."""
        catalogue = Catalogue(database, today)
        await sync.ingestion.ingest(sync.operator, ACME)
        later = HOLIDAYS.model_copy(
            update={"text": "Công ty nghỉ thêm ngày 24/12.", "effective_from": date(2027, 1, 1)}
        )
        await sync.ingestion.ingest(sync.operator, [later])
        scopes: tuple[tuple[Scope, ...], ...] = ((), ("public",), ("public", "internal"), SCOPES)
        readers = [
            principal(str(sync.operator.tenant_id), "reader", own, held) for own in ("hr", "it") for held in scopes
        ]
        verdicts = set()
        for draft in ACME:
            view = await sync.library.find(draft.external_id)
            versions = await catalogue.versions(sync.operator, view.document_id, 10)
            for reader in readers:
                found = await sync.retriever.search(reader, draft.text, departments=None)
                is_found = any(passage.document_id == view.document_id for passage in found.passages)
                explanation = explain("reader", reader, view, versions, TODAY)
                assert explanation.is_allowed == is_found, explanation
                verdicts.add((explanation.is_allowed, explanation.decided_by))
        assert {part for is_allowed, part in verdicts if not is_allowed} == {"scope", "department", "in force"}
        assert {part for is_allowed, part in verdicts if is_allowed} == {"scope", "department"}
