"""`conclave audit`: what it prints, and the exit code it leaves with."""

import asyncio
import json
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from typer.testing import CliRunner

from app.cli.audit import audit_commands
from app.main import Services
from app.storage import documents
from app.storage.embedded import EmbeddedServer
from tests.api.test_audit import USERS


@pytest.fixture
def environment(house: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("database_url", "database_operator_url", "auth_jwt_secret"):
        monkeypatch.setenv(f"CONCLAVE_{name.upper()}", getattr(house.settings, name).get_secret_value())
    monkeypatch.setenv("CONCLAVE_DATA_DIR", str(tmp_path))


async def run(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    told = await asyncio.to_thread(CliRunner().invoke, audit_commands, arguments)
    return told.exit_code, [json.loads(line) for line in told.stdout.splitlines() if line[:1] == "{"], told.output


@pytest.mark.usefixtures("environment")
class TestAudit:
    async def test_holds_and_goes_on_from_its_copy_until_somebody_touches_a_row(
        self, house: Services, embedded_server: EmbeddedServer, tmp_path: Path
    ) -> None:
        boss, name, copy = USERS["globex/admin"], "globex", tmp_path / "audit.jsonl"
        async with house.database.principal_scope(boss) as tx:
            await documents.note(tx, "looked", "here", {"ids": ["ữ"]})
        code, lines, written = await run("export", "--tenant", name)
        assert (await run("export", "--tenant", name, "--to", str(copy)))[0] == 0
        assert copy.read_text("utf-8") == written
        assert (await run("export", "--tenant", name, "--to", str(copy)))[0] == 2
        assert code == 0 and lines[-2]["hash"] == lines[-1]["head_hash"] and lines[-2]["seq"] == lines[-1]["head_seq"]
        code, found, _ = await run("verify", "--json")
        assert code == 0 and {"globex", "acme"} <= {one["tenant"] for one in found if one["holds"]}
        assert (await run("verify", "--tenant", name, "--against", str(copy)))[0] == 0
        assert (await run("verify", "--tenant", "acme", "--against", str(copy)))[0] == 2
        assert (await run("verify", "--tenant", name, "--against", str(tmp_path / "none")))[0] == 2

        superuser = await asyncpg.connect(embedded_server.url("postgres", "test_api"))
        change = "update audit set target = $1 where tenant_id = $2 and seq = $3"
        try:
            await superuser.execute(change, "there", boss.tenant_id, lines[-1]["head_seq"])
            code, found, _ = await run("verify", "--tenant", name, "--json")
            assert code == 1 and (found[0]["holds"], found[0]["row"]) == (False, lines[-1]["head_seq"])
            assert f"row {lines[-1]['head_seq']} was changed" in (await run("verify"))[2]
        finally:
            await superuser.execute(change, "here", boss.tenant_id, lines[-1]["head_seq"])
            await superuser.close()
        assert (await run("verify", "--tenant", name))[0] == 0
