"""The foundation: all tables, their row policies, the three roles, and the job queue's own tables."""

from pathlib import Path

from alembic import op
from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment
from sqlalchemy.util import await_only

revision = "0001"
down_revision: str | None = None
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"
_ROLES = """
do $$
declare
    wanted text;
begin
    foreach wanted in array array['conclave_app', 'conclave_maintenance'] loop
        if not exists (select from pg_roles where rolname = wanted) then
            execute format('create role %I nologin', wanted);
            -- Whoever migrates also operates, unless an operator's role was made beforehand.
            if wanted = 'conclave_maintenance' then
                execute format('grant %I to current_user', wanted);
            end if;
        end if;
    end loop;
end $$;
create extension if not exists vector;
"""


def upgrade() -> None:
    """Roles that are missing are made without login: grant them to the login roles of your choice."""
    _run(_ROLES)
    _run(QueryBuilderEnvironment().build_install_query())
    _run((_SQL / "0001_tables.sql").read_text("utf-8"))
    _run((_SQL / "0001_policies.sql").read_text("utf-8"))


def downgrade() -> None:
    """Removes every table with its rows. The roles and the extension stay: other databases may use them."""
    _run((_SQL / "0001_down.sql").read_text("utf-8"))
    _run(QueryBuilderEnvironment().build_uninstall_query())


def _run(script: str) -> None:
    """A script of many statements goes to the driver as it is, in the migration's own transaction."""
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute(script))
