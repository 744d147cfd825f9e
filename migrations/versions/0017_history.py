"""Conversations can be renamed, pinned, archived and found by their words; those of programs are told apart."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Rewrites `tasks` once: what was said before is found too."""
    _run("0017_history.sql")


def downgrade() -> None:
    """Titles stay as they were given; what was pinned or archived is listed with the rest."""
    _run("0017_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
