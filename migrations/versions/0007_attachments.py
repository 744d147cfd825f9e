"""Files attached to questions."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nothing was attached before this."""
    _run("0007_attachments.sql")


def downgrade() -> None:
    """Removes every attached file."""
    _run("0007_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
