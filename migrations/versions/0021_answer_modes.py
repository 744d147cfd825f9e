"""Companies say whether a model may write for them, or only quote."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Models write, as before."""
    _run("0021_answer_modes.sql")


def downgrade() -> None:
    """What companies chose is lost."""
    _run("0021_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
