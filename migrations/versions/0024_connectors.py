"""Documents come from other systems, with the rights they have there."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0024"
down_revision = "0022"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nobody has a connector yet."""
    _run("0024_connectors.sql")


def downgrade() -> None:
    """The documents stay; where they came from is forgotten."""
    _run("0024_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
