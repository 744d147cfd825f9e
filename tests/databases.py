"""Further databases on a test's server."""

from app.storage import embedded
from app.storage.embedded import EmbeddedServer


def create_database(server: EmbeddedServer, name: str, template: str = "template1") -> None:
    """Make one with the same roles, empty or a copy of `template`."""
    assert embedded._provision(server.socket_dir, server._account, name, template), "PostgreSQL does not answer"
