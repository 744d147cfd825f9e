"""Steps of remote agents, and finding runs that nobody works on."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Runs and steps that are there go on as they are."""
    _run("0010_remote_agents.sql")


def downgrade() -> None:
    """Steps that are handed out at this moment are lost; their runs are taken up again."""
    _run("0010_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
