"""Which migrations may run beside the service: those that only add, and none that cannot be told."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.operations import upgrading
from app.operations.backup import LastBackup
from app.operations.upgrading import Step, Upgrade, newer, only_adds
from app.storage import migrate
from tests.cases import each_case

ADDS = (
    "-- x\ncreate table a (b int); create index on a (b); alter table a enable row level security; grant x to y;",
    "alter table old add column new text;",
    "alter table old add column new text not null default 'x', add column other boolean not null default false",
    "create function f() returns int language sql as $$ delete from x; drop table y $$;",
    "create policy p on old to conclave_app using (true); comment on table old is 'drop; it'",
    "create table a (b int); revoke all on a from public; create policy q on a to b using (true);",
)
CHANGES = (
    "drop table a", "update a set b = 1", "alter table old alter column b type bigint", "do $$ begin end $$",
    "create index on old (b)", "alter table old add column id uuid not null default gen_random_uuid()",
    "alter table old add column a text not null", "alter table old add column a text, drop column b",
    "create policy p on old as restrictive to x using (false)", "create or replace function f() returns int as ''",
    "revoke all on old from conclave_app", "alter table old rename to new", "select something()",
    "create trigger t before insert on old for each row execute function f()", "delete from a", "vacuum a",
    "create table a (b int); insert into old select * from a", "/* create table a (); */ truncate a",
)  # fmt: skip


class TestOnlyAdds:
    @each_case("sql", ADDS)
    def test_what_adds(self, sql: str) -> None:
        assert only_adds(sql)

    @each_case("sql", CHANGES)
    def test_everything_else_stops(self, sql: str) -> None:
        assert not only_adds(sql)
        assert not only_adds(f"create table new_one (a int); {sql}")

    def test_own_migrations_are_told_apart(self) -> None:
        steps = {one.revision: one for one in map(upgrading._step, newer(""))}
        assert [*steps] == [*migrate.revisions()] and not steps["0001"].only_adds
        assert not steps["0017"].only_adds and "tasks" in steps["0017"].tables  # it rewrites them once
        assert all(one.title for one in steps.values())

    def test_code_of_its_own_in_a_migration_stops_unless_it_says_so(self, tmp_path: Path) -> None:
        source = migrate.revisions()["0021"].read_text("utf-8")
        harmless = source.replace("0021_answer_modes.sql", "0099_a.sql")
        path = tmp_path / "0099_a.py"
        (tmp_path / "sql").mkdir()
        (tmp_path / "sql" / "0099_a.sql").write_text("create table a (b int);")
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(migrate, "MIGRATIONS", tmp_path)
            for body, adds in (
                (harmless, True),
                (harmless.replace('    _run("0099_a.sql")', '    _run("0099_a.sql")\n    op.execute("x")'), False),
                (harmless.replace('    _run("0099_a.sql")', '    _run("0099_a.sql")\n    _clean()'), False),
            ):
                path.write_text(body)
                assert upgrading._step(path).only_adds is adds
            path.write_text(body.replace('quote."""', f'quote.\n\n{upgrading.RUNS_BESIDE}\n"""'))
            assert upgrading._step(path).only_adds


class TestProblems:
    NOW = datetime(2026, 11, 28, tzinfo=UTC)

    def upgrade(self, *, adds: bool = True, free: int | None = 10, hours: int | None = 1) -> Upgrade:
        made = None if hours is None else self.NOW - timedelta(hours=hours)
        return Upgrade(
            revision="0001", steps=(Step(revision="0002", title="x", only_adds=adds, tables=()),), bytes_rewritten=9,
            bytes_free=free, last_backup=made and LastBackup(file="x", made_at=made, revision="0001"),
        )  # fmt: skip

    def test_none_where_all_is_well(self) -> None:
        assert not self.upgrade().problems(self.NOW) and not self.upgrade(free=None).problems(self.NOW)

    @each_case("change, said", [
        ({"adds": False}, "Stop the service"), ({"free": 9}, "Too little room"), ({"hours": 24}, "No backup"),
        ({"hours": None}, "No backup"),
    ])  # fmt: skip
    def test_each_is_told(self, change: dict[str, int | None], said: str) -> None:
        [told] = self.upgrade(**change).problems(self.NOW)  # type: ignore[arg-type]
        assert told.startswith(said)

    def test_a_database_that_is_current_needs_no_backup(self) -> None:
        nothing = self.upgrade(hours=None).model_copy(update={"steps": ()})
        assert not nothing.problems(self.NOW)
