"""The restore drill: a company at work is backed up, brought back elsewhere, and answers as before."""

import asyncio
import fcntl
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from typer.testing import CliRunner

from app.cli.audit import audit_commands
from app.cli.backup import backup, restore, upgrade
from app.errors import AppError
from app.main import Services, create_app
from app.operations import sealed
from app.operations.contents import check_backup
from app.operations.programs import Programs
from app.operations.restore import restore_external
from app.settings import Settings
from app.storage import migrate
from app.storage.embedded import EmbeddedServer, binary
from app.storage.spool import Entry, SpoolFile, SpoolLimits
from tests.api.serving import serve
from tests.api.test_files import COSTS
from tests.cases import each_case
from tests.databases import create_database
from tests.factories import demo_token, stable_id
from tests.warm import planted, warm

PASSPHRASE = "a passphrase of the drill"
QUESTION = {"query": "Đi trễ bao nhiêu phút thì bị trừ lương?"}


async def run(command: Any, *arguments: str, said: str = "") -> tuple[int, str]:
    """The exit code and what is printed, or why it failed."""
    typer_app = command
    if not hasattr(command, "registered_commands"):
        import typer

        typer_app = typer.Typer()
        typer_app.command()(command)
    told = await asyncio.to_thread(CliRunner().invoke, typer_app, arguments, said)
    return told.exit_code, f"{told.output}{told.exception if told.exit_code == 1 and told.exception else ''}"


def kept(folder: Path) -> dict[str, bytes]:
    """What lies in a data directory, but for what a running server writes."""
    places = [path for path in folder.rglob("*") if path.is_file() and "postgres" not in path.parts]
    return {str(one): one.read_bytes() for one in places if one.suffix != ".lock" and "postgres" not in one.name}


@asynccontextmanager
async def at_work(folder: Path, seed: Path) -> AsyncIterator[tuple[Services, str]]:
    services = await Services.open(Settings(_env_file=None, data_dir=folder, seed_dir=seed, enable_caching=False))
    try:
        async with serve(create_app(services=services)) as address:
            yield services, address
    finally:
        await services.aclose()


def signed_in(address: str, token: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30)


def evidence(answer: httpx.Response) -> list[tuple[Any, ...]]:
    assert answer.status_code == 200, answer.text
    return [tuple(one[key] for key in ("index", "url", "quote") if key in one) for one in answer.json()["evidence"]]


class Drill:
    """What is known about the installation that was backed up."""

    def __init__(self, folder: Path, file: Path):
        self.folder, self.file = folder, file
        self.token = self.key = self.session = self.attachment = ""
        self.found: list[tuple[Any, ...]] = []
        self.told: dict[str, Any] = {}


@pytest.fixture(scope="module")
async def drill(small_seed: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Drill]:
    base = tmp_path_factory.mktemp("drill")
    made = Drill(await planted(base / "data", small_seed), base / "one.backup")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CONCLAVE_DATA_DIR", str(made.folder))
        patched.setenv("CONCLAVE_SEED_DIR", str(small_seed))
        patched.setenv("CONCLAVE_BACKUP_PASSPHRASE", PASSPHRASE)
        patched.chdir(base)
        patched.setattr(sealed, "COST", 1 << 10)
        (made.folder / "spool").mkdir()
        waiting = SpoolFile(made.folder / "spool" / "left.sqlite", SpoolLimits())
        waiting.put(stable_id("nobody"), stable_id("task"), [Entry("event", "waits")])
        waiting.close()
        (made.folder / "evaluations").mkdir()
        (made.folder / "evaluations" / "link").symlink_to("/etc/passwd")
        async with at_work(made.folder, small_seed) as (services, address):
            made.token = demo_token(services.settings, "acme/lan")
            async with signed_in(address, made.token) as http:
                answer = await http.post("/chat", json=QUESTION)
                made.found, made.session = evidence(answer), answer.json()["session_id"]
                attached = await http.post("/files", files={"file": ("chi_phi.csv", COSTS.encode())})
                made.attachment = attached.json()["file_id"]
                async with signed_in(address, demo_token(services.settings, "acme/admin")) as admin:
                    told = await admin.post("/keys", json={"name": "drill"})
                    made.key = told.json()["key"]
                asking = asyncio.create_task(_keep_asking(http))
                code, said = await run(backup, str(made.file), "--json")
                asking.cancel()
                assert code == 0, said
                made.told = json.loads(said.splitlines()[-1])
        yield made


async def _keep_asking(http: httpx.AsyncClient) -> None:
    while True:
        await http.post("/chat", json={"query": "bãi xe ở đâu?"})


class TestDrill:
    async def test_the_restored_service_answers_as_before(
        self, drill: Drill, small_seed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = warm(tmp_path / "back")
        monkeypatch.setenv("CONCLAVE_DATA_DIR", str(folder))
        code, said = await run(restore, str(drill.file))
        assert code == 0 and "acme" in said, said
        assert (folder / "jwt-secret").read_bytes() == (drill.folder / "jwt-secret").read_bytes()
        assert (folder / "jwt-secret").stat().st_mode & 0o777 == 0o600
        assert not (folder / "evaluations").exists(), "a link was followed"
        assert [one.name for one in (folder / "spool").glob("*.sqlite")] == ["left.sqlite"]
        assert not {one.name for one in folder.iterdir()} & {"restoring", "database.dump", "marks"}
        async with at_work(folder, small_seed) as (_, address), signed_in(address, drill.token) as http:
            assert evidence(await http.post("/chat", json=QUESTION)) == drill.found and drill.found
            assert drill.session in {one["session_id"] for one in (await http.get("/sessions")).json()["sessions"]}
            assert (await http.get(f"/files/{drill.attachment}")).json()["name"] == "chi_phi.csv"
            async with signed_in(address, drill.key) as program:
                assert (await program.get("/agents")).status_code == 200
            code, said = await run(audit_commands, "verify", "--json")
            assert code == 0 and said.count('"holds": true') >= 2, said
        code, said = await run(restore, str(drill.file))
        assert code == 1 and "is not empty" in said

    async def test_says_what_it_holds_and_is_encrypted(self, drill: Drill) -> None:
        assert drill.told["companies"] == ["acme", "globex"] and drill.told["rows"] > 100 and drill.told["files"] >= 3
        assert drill.file.stat().st_mode & 0o777 == 0o600 and [*drill.file.parent.glob("*.part")] == []
        body = drill.file.read_bytes()
        assert b"acme" not in body and b"PGDMP" not in body
        code, said = await run(restore, str(drill.file), "--check", "--json")
        assert code == 0 and json.loads(said.splitlines()[-1])["restored"] is False

    async def test_damage_is_refused_before_anything_is_written(
        self, drill: Drill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CONCLAVE_DATA_DIR", str(tmp_path / "back"))
        body, bad = drill.file.read_bytes(), tmp_path / "bad"
        flipped = bytearray(body)
        flipped[len(body) // 2] ^= 1
        for changed in (bytes(flipped), body[:-1], body[: len(body) // 2], body + b"x", b""):
            bad.write_bytes(changed)
            code, said = await run(restore, str(bad))
            assert code == 1 and "backup" in said.lower(), said
        monkeypatch.setenv("CONCLAVE_BACKUP_PASSPHRASE", "not the passphrase")
        assert "passphrase is not" in (await run(restore, str(drill.file)))[1]
        assert [one.name for one in tmp_path.iterdir()] == ["bad"]

    async def test_replaces_what_is_there_only_when_told_so_and_keeps_it(
        self, drill: Drill, small_seed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = await planted(tmp_path / "other", small_seed)
        monkeypatch.setenv("CONCLAVE_DATA_DIR", str(folder))
        (folder / "jwt-secret").write_text("old")
        before = kept(folder)
        with (folder / ".postgres.users").open("wb") as user:  # as every process that uses the database does
            fcntl.flock(user, fcntl.LOCK_SH)
            assert "stop it first" in (await run(restore, str(drill.file), "--replace", "--yes"))[1]
        assert "other names" in (await run(restore, str(drill.file), "--replace", said="acme\n"))[1]

        async def broken(*_: object) -> None:
            raise OSError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr("app.operations.restore._fill", broken)
            assert "disk is full" in (await run(restore, str(drill.file), "--replace", "--yes"))[1]
        assert kept(folder) == before and (folder / "postgres" / "PG_VERSION").exists()
        code, said = await run(restore, str(drill.file), "--replace", said="acme, globex\n")
        assert code == 0 and "replaced-" in said, said
        [old] = folder.glob("replaced-*")
        assert (old / "jwt-secret").read_text() == "old" and (old / "postgres" / "PG_VERSION").exists()


class TestExternalDatabase:
    async def test_of_an_older_version_comes_forward_into_an_empty_database_and_no_other(
        self, embedded_server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def point_to(name: str, superuser: str = "postgres") -> None:
            monkeypatch.setenv("CONCLAVE_DATABASE_URL", embedded_server.url("conclave_app", name))
            monkeypatch.setenv("CONCLAVE_DATABASE_OWNER_URL", embedded_server.url("conclave_owner", name))
            monkeypatch.setenv("CONCLAVE_BACKUP_DATABASE_URL", embedded_server.url(superuser, name))

        monkeypatch.setenv("CONCLAVE_DATA_DIR", str(tmp_path))
        monkeypatch.setenv("PATH", str(binary("pg_dump").parent))
        monkeypatch.chdir(tmp_path)
        file, steps = tmp_path / "one.backup", [one for one in migrate.revisions() if one > "0020"]
        create_database(embedded_server, "backup_old")
        await asyncio.to_thread(migrate.upgrade, embedded_server.url("conclave_owner", "backup_old"), "0020")
        point_to("backup_old")
        code, said = await run(upgrade, "--check")
        assert code == 1 and "No backup" in said and steps[0] in said
        point_to("backup_old", "conclave_owner")
        code, said = await run(backup, str(file), "--unencrypted")
        assert code == 1 and "sees the rows of no company" in said and not file.exists()
        point_to("backup_old")
        assert (await run(backup, str(file), "--unencrypted"))[0] == 0
        code, said = await run(backup, str(file), "--unencrypted")
        assert code == 1 and "is there already" in said
        found = json.loads((await run(upgrade, "--check", "--json"))[1].splitlines()[0])
        assert [one["revision"] for one in found["steps"]] == steps and "backup" not in " ".join(found["problems"])
        assert await migrate.current(embedded_server.url("postgres", "backup_old")) == "0020", (
            "it was to change nothing"
        )

        code, said = await run(restore, str(file))
        assert code == 1 and "not empty" in said
        create_database(embedded_server, "backup_unsafe")
        point_to("backup_unsafe")
        monkeypatch.setenv("CONCLAVE_DATABASE_URL", embedded_server.url("conclave_owner", "backup_unsafe"))
        code, said = await run(restore, str(file))
        assert code == 1 and "row-level security would not hold" in said
        create_database(embedded_server, "backup_wrong")
        urls = [embedded_server.url(role, "backup_wrong") for role in ("postgres", "conclave_owner", "conclave_app")]
        manifest = check_backup(file, None, lambda *_: None)
        other = manifest.model_copy(update={"counts": {**manifest.counts, "public.tenants": 7}})
        with pytest.raises(AppError, match=r"public\.tenants has another number of rows"):
            await restore_external(file, None, other, tmp_path, (urls[0], urls[1], urls[2]), Programs(None))
        create_database(embedded_server, "backup_new")
        point_to("backup_new")
        code, said = await run(backup, str(tmp_path / "two"), "--unencrypted")
        assert code == 1 and "never migrated" in said
        code, said = await run(restore, str(file))
        assert code == 0, said
        assert await migrate.is_current(embedded_server.url("conclave_app", "backup_new"))
        assert await rights(embedded_server, "backup_new") == await rights(embedded_server, "conclave_template")
        assert (await run(upgrade, "--check"))[0] == 0

    @each_case("command", [(backup, "one", "--unencrypted"), (upgrade, "--check")])
    async def test_that_is_not_there_is_not_made(
        self, command: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CONCLAVE_DATA_DIR", str(tmp_path / "none"))
        code, said = await run(*command)
        assert code == 1 and "no database" in said and not (tmp_path / "none").exists()

    async def test_without_its_programs_says_what_to_install(
        self, embedded_server: EmbeddedServer, database_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable, role in (("DATABASE_URL", "conclave_app"), ("BACKUP_DATABASE_URL", "postgres")):
            monkeypatch.setenv(f"CONCLAVE_{variable}", embedded_server.url(role, database_name))
        monkeypatch.setenv("CONCLAVE_DATA_DIR", str(tmp_path))
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CONCLAVE_BACKUP_PASSPHRASE", raising=False)
        code, said = await run(backup, str(tmp_path / "one"), "--unencrypted")
        assert code == 1 and "pg_dump is not on the PATH: install" in said
        (tmp_path / "pg_dump").write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6'\n")
        (tmp_path / "pg_dump").chmod(0o755)
        code, said = await run(backup, str(tmp_path / "one"), "--unencrypted")
        assert code == 1 and "too old" in said and not (tmp_path / "one").exists()
        code, said = await run(backup, str(tmp_path / "one"))
        assert code == 1 and "Give a passphrase" in said
        monkeypatch.setenv("PATH", str(binary("pg_dump").parent))
        code, said = await run(backup, str(tmp_path / "nowhere" / "one"), "--unencrypted")
        assert code == 1 and "nowhere" in said and "No such file" in said


async def rights(server: EmbeddedServer, name: str) -> list[tuple[Any, ...]]:
    """Owners, grants, policies and forced row security of every table and function."""
    driver = await asyncpg.connect(server.url("postgres", name))
    try:
        rows = await driver.fetch("""
            select c.relname::text, c.relowner::regrole::text, relrowsecurity, relforcerowsecurity,
                (select array_agg(x::text order by x::text) from unnest(relacl) x),
                (select array_agg(row(polname, polcmd, polpermissive, polroles::regrole[],
                    pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))::text order by polname)
                    from pg_policy where polrelid = c.oid)
            from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'S')
            union all
            select p.oid::regprocedure::text, proowner::regrole::text, prosecdef, proleakproof,
                (select array_agg(x::text order by x::text) from unnest(proacl) x), proconfig
            from pg_proc p where pronamespace::regnamespace::text in ('public', 'word_lookup') order by 1""")
        return [tuple(row) for row in rows]
    finally:
        await driver.close()
