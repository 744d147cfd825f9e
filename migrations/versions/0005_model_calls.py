"""Model calls: what each cost, and totals a day for quotas."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nothing was asked of models before this."""
    _run("0005_model_calls.sql")


def downgrade() -> None:
    """Forgets what was spent."""
    _run("0005_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
