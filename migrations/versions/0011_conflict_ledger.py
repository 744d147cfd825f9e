"""Lists of the conflict ledger; administrators see figures of the tenant's conflicts."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """What was weighed before this stays out of the ledger."""
    _run("0011_conflict_ledger.sql")


def downgrade() -> None:
    """The ledger stays as it is."""
    _run("0011_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
