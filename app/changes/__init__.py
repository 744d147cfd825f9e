"""What became different between two days: which documents took the place of others, and which statements changed.

By subject: `successions` (documents and their versions, and what stood where on a day), `naming` (which documents are
about a subject), `statements` (a text as single statements), `differences` (two texts laid side by side), `telling`
(which differences are worth telling).
"""

from app.changes.differences import Comparison, Difference, compared
from app.changes.naming import Bearing, Concepts, about
from app.changes.statements import Statement, statements_of
from app.changes.successions import DocumentVersion, Standing, Succession, successions
from app.changes.telling import GENERAL, Selection, focus_of, leading, selected

__all__ = [
    "GENERAL", "Bearing", "Comparison", "Concepts", "Difference", "DocumentVersion", "Selection", "Standing",
    "Statement", "Succession", "about", "compared", "focus_of", "leading", "selected", "statements_of", "successions",
]  # fmt: skip
