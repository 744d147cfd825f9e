"""What became different between two days: which documents took the place of others, and which statements changed.

By subject: `successions` (documents and their versions, and what stood where on a day), `differences` (texts as single
statements, two laid side by side), `telling` (which documents are about a subject, which differences are told).
"""

from app.changes.differences import Comparison, Difference, Statement, compared, statements_of
from app.changes.successions import DocumentVersion, Standing, Succession, successions
from app.changes.telling import GENERAL, Bearing, Concepts, Selection, about, focus_of, leading, selected

__all__ = [
    "GENERAL", "Bearing", "Comparison", "Concepts", "Difference", "DocumentVersion", "Selection", "Standing",
    "Statement", "Succession", "about", "compared", "focus_of", "leading", "selected", "statements_of", "successions",
]  # fmt: skip
