"""Tokens of a text, estimated: vocabularies differ, and models tell their counts only after the work."""

import math

BYTES_PER_TOKEN = 3.0
"""UTF-8 bytes a token: low for English (about 4), about right for Vietnamese, so that a text rarely takes more."""


def estimated_tokens(text: str) -> int:
    """How many tokens a text has, rounded up."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)
