"""Owners write answers to what nobody could answer."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nobody has written one yet."""
    _run("0027_desk_answers.sql")


def downgrade() -> None:
    """What was written and not brought in is lost."""
    _run("0027_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
