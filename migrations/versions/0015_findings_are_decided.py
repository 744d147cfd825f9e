"""Findings about documents can be worked: assigned, decided and dismissed; a person's verdict stays."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """What was found before is open, and known by its documents and sentences from now on."""
    _run("0015_findings_are_decided.sql")


def downgrade() -> None:
    """Verdicts are lost; findings whose passages are gone are removed."""
    _run("0015_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
