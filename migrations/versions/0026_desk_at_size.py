"""The desk is read at size."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """What stands on a desk is the same."""
    _run("0026_desk_at_size.sql")


def downgrade() -> None:
    """Slow again."""
    _run("0026_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
