"""What a session remembers of its turns."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Turns that are there stay without a memory."""
    _run("0009_conversation_memory.sql")


def downgrade() -> None:
    """Memories stay, but nobody knows of which turn they are."""
    _run("0009_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
