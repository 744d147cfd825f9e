"""Documents arrive as files: originals, the stages of a version, versions that stand for their own days, erasure."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Versions that are there count as published."""
    _run("0002_documents_arrive.sql")


def downgrade() -> None:
    """Removes the original files and what only the newer service knows of versions."""
    _run("0002_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
