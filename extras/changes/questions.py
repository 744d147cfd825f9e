"""What a question for changes asks of the tool, where no model reads it."""

from app.reasoning import Arguments
from extras.changes.asked import changes_asked


def changes_arguments(query: str) -> Arguments:
    """``subject``, and ``since``, ``against`` or ``during`` with the time (see `ChangesAsked.time`); ``words`` is how
    the question says it. A query that asks for no changes is a subject."""
    asked = changes_asked(query)
    if asked is None:
        return Arguments(values={"subject": query})
    values = {"subject": asked.subject}
    if asked.relation:
        values |= {asked.relation: asked.time, "words": asked.words}
    return Arguments(values=values, grounds=(asked.words,) if asked.words else ())
