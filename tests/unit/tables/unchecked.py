"""Statements run without the check, to see what the process itself holds."""

import json

import duckdb

from app.tables.engine import fill, open_database, run
from app.tables.jobs import Rows

OPEN = b"open "
"""Before a path: a database without any guard of its own reads it."""
SAMPLE = b"SELECT sum(n), list(n) FROM data"
_own = open_database()
_bare = duckdb.connect(":memory:", config={"threads": 1, "async_threads": 0})


def execute(content: bytes) -> bytes:
    try:
        if content.startswith(OPEN):
            return json.dumps(
                _bare.execute("SELECT * FROM read_csv($1)", [content[len(OPEN) :].decode()]).fetchall()
            ).encode()
        fill(_own, Rows((("n", "DECIMAL(38,10)"),), (("1",), ("2",))))
        return json.dumps(run(_own, content.decode())._asdict()).encode()
    except duckdb.Error as error:
        return json.dumps({"error": str(error)}).encode()
