"""A legal hold is the operator's, and stays as long as it holds."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nobody but the operator changes one from now on."""
    _run("0020_legal_hold.sql")


def downgrade() -> None:
    """Administrators may change one again."""
    _run("0020_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
