"""Administrators see what models were asked by their tenant, and list its tasks newest first."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """No row changes."""
    _run("0013_administration.sql")


def downgrade() -> None:
    """No row changes."""
    _run("0013_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
