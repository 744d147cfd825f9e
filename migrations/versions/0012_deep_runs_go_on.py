"""States of deep runs, and runs that wait for a person."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nothing waits for anybody yet."""
    _run("0012_deep_runs_go_on.sql")


def downgrade() -> None:
    """Runs that wait for a person are taken up again, from the start."""
    _run("0012_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
