"""Programs may come in with keys: of their users, narrowed, shown once."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nobody has a key yet."""
    _run("0016_keys.sql")


def downgrade() -> None:
    """Every key is gone."""
    _run("0016_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
