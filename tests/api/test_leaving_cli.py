"""`conclave user erase`, `tenant remove` and `key`: what they leave, what they print, and the exit code."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer import Typer
from typer.testing import CliRunner

from app.cli.keys import key_commands
from app.cli.people import tenant_commands, user_commands
from app.domain.oversight import KeptRun
from app.domain.principal import tenant_id_of, user_id_of
from app.main import Services
from app.storage import tenants
from app.storage.database import Database
from app.storage.spool import Entry, SpoolFile, SpoolLimits
from tests.api.test_keys import Door, operator

__all__ = ["operator"]  # a fixture
FIRM = "leaving-firm"
FIRM_ID = tenant_id_of(FIRM)


@pytest.fixture
def environment(house: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("database_url", "database_owner_url", "database_operator_url", "auth_jwt_secret"):
        monkeypatch.setenv(f"CONCLAVE_{name.upper()}", getattr(house.settings, name).get_secret_value())
    monkeypatch.setenv("CONCLAVE_DATA_DIR", str(tmp_path))


@pytest.fixture
async def firm(house: Services, address: str, operator: Database, environment: None) -> Door:
    async with operator.operator_scope() as tx:
        await tenants.add_tenant(tx, FIRM)
    door = Door(house, address, operator)
    await door.write_down("mai", tenant=FIRM_ID, department="hr", scopes={"public", "internal"}, roles={"admin"})
    return door


async def run(commands: Typer, *arguments: str, said: str = "") -> tuple[int, str]:
    told = await asyncio.to_thread(CliRunner().invoke, commands, arguments, said)
    return told.exit_code, told.output if told.exception is None or told.exit_code != 1 else str(told.exception)


class TestKey:
    async def test_is_added_listed_and_revoked(self, firm: Door) -> None:
        code, key = await run(key_commands, "add", f"{FIRM}/mai", "--permissions", "public", "--days", "3")
        assert code == 0 and await firm.status(key.strip()) == 200
        who = await firm.principal(key.strip())
        assert who.scopes == {"public"} and not who.is_admin
        code, listed = await run(key_commands, "list", FIRM, "--json")
        [one] = [json.loads(line) for line in listed.splitlines() if line[:1] == "{"]
        assert (
            code == 0 and one["user"] == "mai" and key.strip().startswith(one["prefix"]) and key.strip() not in listed
        )
        assert (await run(key_commands, "revoke", one["key_id"], "--tenant", FIRM))[0] == 0
        assert firm.house.rooms.authenticator.api_keys is not None
        firm.house.rooms.authenticator.api_keys.forget(one["key_id"])
        code, said = await run(key_commands, "add", f"{FIRM}/mai", "--permissions", "private")
        assert code == 1 and "private" in said
        assert "There is no such key" in (await run(key_commands, "revoke", str(uuid4()), "--tenant", FIRM))[1]
        assert "KEY_ID" in (await run(key_commands, "revoke", key.strip(), "--tenant", FIRM))[1]


class TestUserErase:
    async def test_erases_what_somebody_asked(self, firm: Door) -> None:
        async with firm.signed_in(f"{FIRM}/mai") as http:
            assert (await http.post("/chat", json={"query": "xin chào"})).status_code == 200
            code, said = await run(user_commands, "erase", f"{FIRM}/mai", "--json")
            told = json.loads(said.splitlines()[-1])
            assert code == 0 and told["conversations"] >= 1 and told["remaining"] == 0
            assert (await http.get("/sessions")).json()["sessions"] == []
            acts = (await http.get("/audit", params={"action": "data_erased"})).json()["entries"]
            assert [one["target"] for one in acts] == [str(user_id_of(FIRM_ID, "mai"))]
        assert (await run(user_commands, "erase", f"{FIRM}/mai"))[0] == 0
        assert "There is no user" in (await run(user_commands, "erase", f"{FIRM}/nobody"))[1]


def keep_report(folder: Path, name: str, companies: list[str]) -> Path:
    """An evaluation that asked about these companies."""
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}"
    kept = KeptRun(
        run_id=run_id, made_at=datetime.now(UTC), version="1", mind="rules", datasets=(), questions=1, leak_count=0,
        rates={}, calibration_error=None, median_seconds=1, p95_seconds=1, tokens_per_question=0, gates=(), holds=True,
        tenants=tuple(companies),
    )  # fmt: skip
    (folder / run_id).mkdir(parents=True)
    (folder / run_id / "figures.json").write_text(kept.model_dump_json())
    (folder / run_id / "report.json").write_text("what was asked")
    return folder / run_id


class TestTenantRemove:
    async def test_leaves_nothing_in_the_database_and_the_data_directory(
        self, firm: Door, tmp_path: Path, client_of: Any
    ) -> None:
        key = (await firm.made(f"{FIRM}/mai"))["key"]
        spool = tmp_path / "spool"
        spool.mkdir()
        file = SpoolFile(spool / "a.sqlite", SpoolLimits())
        file.put(FIRM_ID, uuid4(), [Entry("event", "canary-of-the-leaver")])
        file.put(tenant_id_of("acme"), uuid4(), [Entry("event", "canary-of-the-stayer")])
        mine = keep_report(tmp_path / "evaluations", "aaaaaa", ["acme", FIRM])
        others = keep_report(tmp_path / "evaluations", "bbbbbb", ["acme"])
        assert (await run(tenant_commands, "remove", FIRM, said="another\n"))[0] == 1
        assert await firm.status(key) == 200 and mine.exists()
        code, said = await run(tenant_commands, "remove", FIRM, said=f"{FIRM}\n")
        assert code == 0 and "is removed" in said
        assert others.exists() and not mine.exists() and len(file.runs()) == 1
        file._rows.close()
        everything = b"".join(path.read_bytes() for path in spool.iterdir())
        assert b"canary-of-the-stayer" in everything and b"canary-of-the-leaver" not in everything
        async with firm.operator.operator_scope() as tx:
            assert FIRM not in [one.name for one in await tenants.tenants(tx)]
        firm.house.rooms.authenticator.known.clear()
        firm.house.rooms.authenticator.api_keys._known.clear()  # type: ignore[union-attr]
        assert await firm.status(key) == 401
        assert (await client_of("acme/lan").get("/agents")).status_code == 200
        assert "There is no tenant" in (await run(tenant_commands, "remove", FIRM, "--yes"))[1]
        assert list((tmp_path / "evaluations").iterdir()) == [others]
