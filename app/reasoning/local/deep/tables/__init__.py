"""Questions to attached files: what the file is, its rows, a program over them; text is solved like any passage."""

from app.reasoning.local.deep.tables.acting import table_action

__all__ = ["table_action"]
