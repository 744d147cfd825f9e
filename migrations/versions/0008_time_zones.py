"""The time zone of a tenant."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Tenants that are there live in Vietnam until somebody says otherwise."""
    _run("0008_time_zones.sql")


def downgrade() -> None:
    """Forgets the zones."""
    _run("0008_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
