"""The statement that is run: what is checked before, what the database refuses, what the process does not survive."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest

from app.confinement.processes import Isolated, IsolationEnd, IsolationFailed, ProcessLimits
from app.tables.engine import StatementRefused, checked_select, execute, fill, open_database, run
from app.tables.jobs import Rows, answered, job
from tests.cases import each_case
from tests.unit.tables import unchecked

pytestmark = pytest.mark.slow

ROWS = Rows(
    (("Mục", "VARCHAR"), ("Số tiền", "DECIMAL(38,10)"), ("Ngày", "DATE")),
    (("a", "1.5", "2026-01-02"), ("b", "2", "2026-02-03"), ("c", None, None)),
)
LIMITS = ProcessLimits(wall_seconds=2.0, cpu_seconds=2, memory_bytes=384 * 1024 * 1024, output_bytes=1_000_000)


@pytest.fixture(scope="module")
async def isolated() -> AsyncIterator[Isolated]:
    """Runs statements that nobody has checked."""
    runner = Isolated("tests.unit.tables.unchecked:execute", LIMITS)
    yield runner
    await runner.aclose()


class TestCheckedSelect:
    @each_case(
        "sql",
        [
            'SELECT sum("Số tiền") FROM data',
            "SELECT * FROM data ORDER BY 2 DESC LIMIT 3",
            'SELECT "Mục", count(*) AS n FROM data WHERE "Ngày" >= DATE \'2026-01-01\' GROUP BY 1 HAVING n > 0',
            "SELECT count(*) FILTER (WHERE \"Mục\" ILIKE '%a%') FROM data WHERE \"Mục\" IN ('c')",
            'SELECT max(n) FROM (SELECT sum("Số tiền") AS n FROM data GROUP BY "Mục") AS s',
            'SELECT CASE WHEN "Số tiền" IS NULL THEN 0 ELSE round("Số tiền", 1) END FROM data',
        ],
    )
    def test_plain_questions_pass(self, sql: str) -> None:
        assert not answered(execute(job(ROWS, sql))).error

    @each_case(
        "sql",
        [
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM '/etc/passwd'",
            "SELECT * FROM glob('/*')",
            "COPY data TO '/tmp/out.csv'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "ATTACH '/tmp/x.db'",
            "PRAGMA database_list",
            "SET threads = 4",
            "DROP TABLE data",
            "INSERT INTO data VALUES (1)",
            "CREATE TABLE x (a INT)",
            "DESCRIBE data",
            "SELECT getenv('HOME')",
            "SELECT current_setting('threads')",
            "SELECT * FROM duckdb_settings()",
            "SELECT * FROM information_schema.tables",
            "SELECT * FROM data AS a, data AS b",
            "SELECT 1; SELECT 2",
            "SELECT * FROM data JOIN data AS b ON 1 = 1",
            "SELECT * FROM data UNION ALL SELECT * FROM data",
            "VALUES (1)",
            "WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r",
            "SELECT (SELECT 1)",
            "SELECT row_number() OVER () FROM data",
            "SELECT repeat('x', 1000000000)",
            "SELECT * FROM range(1000000000)",
            "SELECT secret FROM data",
            "",
            "hello",
            "SELECT list_transform([1], x -> x)",
            'SELECT main.sum("Số tiền") FROM data',
            "EXPLAIN SELECT 1",
            "SELECT 1 " + "+ 1" * 2000,
        ],
    )
    def test_everything_else_is_refused(self, sql: str) -> None:
        with pytest.raises(StatementRefused):
            checked_select(open_database(), sql, [name for name, _ in ROWS.columns])

    def test_numbers_are_exact_and_days_iso(self) -> None:
        found = answered(execute(job(ROWS, 'SELECT sum("Số tiền"), min("Ngày"), count(*) FROM data')))
        assert found.rows == (("3.5", "2026-01-02", "3"),)

    def test_values_are_parameters(self) -> None:
        sql = 'SELECT count(*) FROM data WHERE "Mục" = CAST($1 AS VARCHAR)'
        assert answered(execute(job(ROWS, sql, ["a' OR 1=1 --"]))).rows == (("0",),)

    def test_long_results_are_cut(self) -> None:
        many = Rows((("n", "DECIMAL(38,10)"),), [(str(at),) for at in range(700)])
        found = answered(execute(job(many, "SELECT n FROM data")))
        assert (len(found.rows), found.is_cut) == (500, True)

    def test_names_of_columns_cannot_break_out(self) -> None:
        odd = Rows((('a") FROM x; --', "VARCHAR"),), (("v",),))
        assert answered(execute(job(odd, "SELECT * FROM data"))).rows == (("1", "v"),)


class TestDatabase:
    """The second guard: statements that nobody checked."""

    @each_case(
        "sql",
        [
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM read_text('/etc/passwd')",
            "SELECT * FROM glob('/*')",
            "COPY (SELECT 1) TO '{out}'",
            "EXPORT DATABASE '{out}'",
            "ATTACH '{out}'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SELECT * FROM read_csv('https://example.com/a.csv')",
            "SELECT getenv('HOME')",
            "SET memory_limit = '9GB'",
            "SET enable_external_access = true",
            "PRAGMA threads=4",
            "RESET lock_configuration",
        ],
    )
    def test_reaches_nothing_and_keeps_its_settings(self, sql: str, tmp_path: Path) -> None:
        out = tmp_path / "out"
        with pytest.raises(duckdb.Error):
            open_database().execute(sql.format(out=out))
        assert not out.exists()

    def test_python_variables_are_no_tables(self) -> None:
        secret = [(1,)]
        with pytest.raises(duckdb.Error):
            open_database().execute("SELECT * FROM secret")
        assert secret

    def test_memory_is_bounded(self) -> None:
        with pytest.raises(duckdb.OutOfMemoryException):
            open_database().execute("SELECT list(a) FROM range(100000000) AS r(a)").fetchall()

    def test_a_cell_of_another_type_is_empty(self) -> None:
        connection = open_database()
        fill(connection, Rows((("n", "DECIMAL(38,10)"),), (("not a number",), ("2",))))
        assert run(connection, "SELECT sum(n), count(n) FROM data").rows == (("2", "1"),)


class TestProcess:
    """The third guard: the process the statements run in."""

    async def test_computes(self, isolated: Isolated) -> None:
        assert json.loads(await isolated(b"SELECT sum(n) FROM data"))["rows"] == [["3"]]

    @each_case(
        "sql",
        [
            "SELECT count(*) FROM range(1000000) AS a, range(1000000) AS b",
            "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r",
        ],
    )
    async def test_is_killed_at_its_limit_of_time(self, isolated: Isolated, sql: str) -> None:
        with pytest.raises(IsolationFailed) as failed:
            await isolated(sql.encode())
        assert failed.value.end is IsolationEnd.TIME_LIMIT

    async def test_a_question_too_large_for_its_memory_fails_alone(self, isolated: Isolated) -> None:
        assert b"Memory" in await isolated(b"SELECT list(a) FROM range(100000000) AS r(a)")
        assert json.loads(await isolated(b"SELECT count(*) FROM data"))["rows"] == [["2"]]

    async def test_a_database_that_could_open_files_cannot_here(self, isolated: Isolated, tmp_path: Path) -> None:
        path = tmp_path / "secret.csv"
        path.write_text("a\n1\n", "utf-8")
        assert b"error" in await isolated(unchecked.OPEN + str(path).encode())
