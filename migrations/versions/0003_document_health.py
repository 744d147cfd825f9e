"""Document health: what neighbouring passages contradict or repeat, and which documents were compared."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Documents that are there count as not compared yet."""
    _run("0003_document_health.sql")


def downgrade() -> None:
    """Removes the findings; comparing again makes them anew."""
    _run("0003_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
