"""The audit becomes a chain in which a changed, missing or added row is found; questions and rights stand in it."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """What was written before is chained in its order."""
    _run("0018_audit_chain.sql")


def downgrade() -> None:
    """Numbers and hashes are lost, and who is under legal hold."""
    _run("0018_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
