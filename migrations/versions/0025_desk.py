"""Owners of a department have a desk: what waits for them, and what became of it."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """The desk is empty; corrections that were written before are not shown on it, as their writers were told so."""
    _run("0025_desk.sql")


def downgrade() -> None:
    """Forget what was assigned, dismissed and done, and who told owners of what."""
    _run("0025_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
