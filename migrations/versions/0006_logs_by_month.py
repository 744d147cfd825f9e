"""Log lines by month: old months are dropped whole, lines that come twice are stored once, kinds are counted."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Moves every line, about a minute for each two million."""
    _run("0006_logs_by_month.sql")


def downgrade() -> None:
    """Moves every line back."""
    _run("0006_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
