"""Questions to a table: read by a small grammar or as a checked SELECT, computed by DuckDB in a confined process."""

from app.tables.jobs import TABLE, Answered, answered, job, quoted
from app.tables.query import Filter, TableQuery, Unclear, statement
from app.tables.question import read_question
from app.tables.sheet import Column, Sheet, plain

__all__ = [
    "TABLE",
    "Answered",
    "Column",
    "Filter",
    "Sheet",
    "TableQuery",
    "Unclear",
    "answered",
    "job",
    "plain",
    "quoted",
    "read_question",
    "statement",
]
