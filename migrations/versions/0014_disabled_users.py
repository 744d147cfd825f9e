"""People can be shut out, and addresses of documents are such as people may open."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nobody is shut out yet; an address nobody may open becomes that of the document itself."""
    _run("0014_disabled_users.sql")


def downgrade() -> None:
    """Whoever was shut out comes in again."""
    _run("0014_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
