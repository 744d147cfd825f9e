"""What an upgrade of the database would do, told before anything is done.

A migration may run while the service does where every statement only adds. Whatever else stands in it, or cannot be
told, needs the service stopped. A migration that is known better says so itself, with a line of its docstring.
"""

import ast
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.domain.record import Record
from app.operations.backup import LAST, LastBackup
from app.storage import migrate
from app.storage.database import open_driver

RUNS_BESIDE = "May run while the service runs."
"""The line of a migration's docstring that says so."""
_FRESH = timedelta(days=1)
_QUOTED = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'", re.DOTALL)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_NEW_TABLE = re.compile(r"create table (\w+)")
_ADDS = re.compile(
    r"create table \w+|create (?:unique )?index (?:\w+ )?on (?P<indexed>\w+)|create function|create view|create type"
    r"|create sequence|comment on|grant|select let_leave|create policy \w+ on (?P<policed>\w+)"
    r"|(?:alter table|create trigger \w+ .*? on|revoke all on) (?P<changed>\w+)"
)
_COLUMN = r"add column \w+ [\w\[\]]+(?: not null default '?\w*'?| default '?\w*'?)?"
_COLUMNS = re.compile(rf"alter table \w+ {_COLUMN}(?:, {_COLUMN})*$")
_WORKS_ON = re.compile(
    r"\b(?:alter table|update|insert into|delete from|on|drop table)\s+(?:only\s+|if exists\s+)?(?:public\.)?(\w+)"
)


class Step(Record):
    """A migration that would run."""

    revision: str
    title: str
    only_adds: bool
    """Whether it may run while the service does."""
    tables: tuple[str, ...]
    """Tables it may rewrite, where it does not only add."""


class Upgrade(Record):
    """What stands between a database and this version."""

    revision: str
    """Of the database; empty = it was never migrated."""
    steps: tuple[Step, ...]
    bytes_rewritten: int
    """Of tables that may be rewritten, with their indexes: so much more room is needed for a while."""
    bytes_free: int | None
    """None = the database lies on another machine."""
    last_backup: LastBackup | None

    @property
    def has_room(self) -> bool:
        """Whether the tables that may be rewritten fit a second time."""
        return self.bytes_free is None or self.bytes_free > self.bytes_rewritten

    def is_backed_up(self, now: datetime) -> bool:
        """Whether a backup of the last day is known."""
        return self.last_backup is not None and now - self.last_backup.made_at < _FRESH

    def problems(self, now: datetime) -> list[str]:
        """Sentences on what stands in the way of upgrading while the service runs; none = go on."""
        stopping = [one.revision for one in self.steps if not one.only_adds]
        told = [f"Stop the service first: {', '.join(stopping)} may not run beside it."] if stopping else []
        if not self.has_room:
            told.append(f"Too little room: {self.bytes_rewritten} bytes may be rewritten, {self.bytes_free} are free.")
        if self.steps and not self.is_backed_up(now):
            told.append("No backup of the last day is known: take one with `conclave backup FILE`.")
        return told


async def look_ahead(url: str, data_dir: Path, bytes_free: int | None) -> Upgrade:
    """What an upgrade of this database would do; any role may ask. Changes nothing."""
    revision = await migrate.current(url)
    steps = tuple(_step(path) for path in newer(revision or ""))
    tables = sorted({name for one in steps for name in one.tables})
    driver: Any = await open_driver(url)
    try:
        size = await driver.fetchval(
            "select coalesce(sum(pg_total_relation_size(tree.relid)), 0)::int8 from unnest($1::text[]) name,"
            " pg_partition_tree(to_regclass(quote_ident(name))) tree",
            tables,
        )
    finally:
        await driver.close()
    return Upgrade(
        revision=revision or "", steps=steps, bytes_rewritten=size, bytes_free=bytes_free, last_backup=known(data_dir)
    )


def newer(revision: str) -> list[Path]:
    """The migrations of this version that come after a revision, in their order."""
    return [path for number, path in migrate.revisions().items() if number > revision]


def known(data_dir: Path) -> LastBackup | None:
    """The newest backup taken from here, if its file is still there or lies where nobody here can look."""
    try:
        return LastBackup.model_validate_json((data_dir / LAST).read_bytes())
    except (OSError, ValueError):
        return None


def remember(data_dir: Path, file: Path, made_at: datetime, revision: str) -> None:
    """Write down that a backup was taken."""
    told = LastBackup(file=str(file.absolute()), made_at=made_at.astimezone(UTC), revision=revision)
    draft = data_dir / f"{LAST}.new"
    draft.write_text(told.model_dump_json())
    draft.rename(data_dir / LAST)


def only_adds(sql: str) -> bool:
    """Whether every statement of a migration adds something and changes nothing that is there; False where unsure."""
    text = _plain(sql)
    made = {*_NEW_TABLE.findall(text)}
    return all(_is_harmless(one.strip(), made) for one in text.split(";") if one.strip())


def _is_harmless(statement: str, made: set[str]) -> bool:
    found = _ADDS.match(statement)
    if found is None:
        return False
    touched = {name for name in found.groupdict().values() if name} - made
    if statement.startswith("create policy"):
        return " as restrictive" not in statement  # others only show more rows
    return not touched or _COLUMNS.match(statement) is not None


def _plain(sql: str) -> str:
    """Statements in small letters, without comments, bodies and texts."""
    return re.sub(r"\s+", " ", _QUOTED.sub("''", _COMMENT.sub("", sql))).lower()


def _step(path: Path) -> Step:
    tree = ast.parse(path.read_text("utf-8"))
    docstring, script = ast.get_docstring(tree) or "", _only_script(tree)
    every = sorted((migrate.MIGRATIONS / "sql").glob(f"{path.name.partition('_')[0]}_*.sql"))
    sql = "\n".join(one.read_text("utf-8") for one in every if not one.name.endswith("_down.sql"))
    adds = RUNS_BESIDE in docstring or (
        script is not None and only_adds((migrate.MIGRATIONS / "sql" / script).read_text("utf-8"))
    )
    tables = () if adds else tuple(sorted({*_WORKS_ON.findall(_COMMENT.sub("", sql).lower())}))
    title = docstring.partition("\n")[0]
    return Step(revision=path.name.partition("_")[0], title=title, only_adds=adds, tables=tables)


def _only_script(tree: ast.Module) -> str | None:
    """The SQL file a migration runs, where it runs that one and does nothing else."""
    for one in tree.body:
        if isinstance(one, ast.FunctionDef) and one.name == "upgrade" and len(one.body) == 2:  # its docstring is one
            match one.body[1]:
                case ast.Expr(ast.Call(ast.Name("_run"), [ast.Constant(str(name))], [])):
                    return name
    return None
