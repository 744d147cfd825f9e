"""Search at size: word lists of each tenant's own, rights read once a statement, the space a tenant is searched in."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parents[1] / "sql"
_LOOKUP = "select to_regprocedure('word_lookup.of_tenant(uuid, tsvector)')"


def upgrade() -> None:
    """Builds two word indexes; indexes of single large tenants are made while the service runs, not here."""
    if op.get_bind().exec_driver_sql(_LOOKUP).scalar() is None:
        _run("0004_word_lookup.sql")
    _run("0004_search_at_size.sql")


def downgrade() -> None:
    """Vectors of spaces that are not searched stay; what was made for single large tenants goes."""
    _run("0004_down.sql")


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql("select 1")
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    await_only(driver.execute((_SQL / name).read_text("utf-8")))
