"""People sign in at the provider of their company."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nobody has signed in there yet."""
    _run("0022_sign_ins.sql")


def downgrade() -> None:
    """Everybody who signed in at a provider is signed out."""
    _run("0022_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
