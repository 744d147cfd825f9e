"""Questions to a table: read by a small grammar or as a checked SELECT, computed by DuckDB in a confined process."""

from app.tables.engine import Answered, answered, job
from app.tables.query import Filter, TableQuery, Unclear, statement
from app.tables.question import read_question
from app.tables.sheet import Column, Sheet, plain

__all__ = [
    "Answered",
    "Column",
    "Filter",
    "Sheet",
    "TableQuery",
    "Unclear",
    "answered",
    "job",
    "plain",
    "read_question",
    "statement",
]
