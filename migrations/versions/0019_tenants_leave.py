"""A tenant can be removed with every row there is of it."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nothing is removed yet."""
    _run("0019_tenants_leave.sql")


def downgrade() -> None:
    """What was removed stays so."""
    _run("0019_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
