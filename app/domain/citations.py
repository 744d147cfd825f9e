"""Citations in an answer: ``[2]``, ``[1, 3]`` and ``【2】`` name evidence by its number, counted from 1."""

import re

CITATION = re.compile(r"\s*(?:\[\^?(?P<one>\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\](?!\()|【(?P<two>\d{1,4})[^】\n]{0,20}】)")
"""A citation and the space before it."""


def without_citations(text: str) -> str:
    """A document's words without what would be read as citations of ours."""
    return CITATION.sub("", text)
