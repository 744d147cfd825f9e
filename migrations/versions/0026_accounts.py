"""People of a company without an identity provider have accounts: passwords, links to set them, codes."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Nobody has an account yet."""
    _run("0026_accounts.sql")


def downgrade() -> None:
    """Forget passwords and links; whoever signed in with one stays in until the sign-in ends."""
    _run("0026_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
