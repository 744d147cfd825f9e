"""What a question wants to know, as far as it tells which values are compared; and words that tell cases apart."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from app.claims.marks import unit_named
from app.claims.record import CUES
from app.text.language import fold, normalise, words

_CASES = tuple(
    tuple(re.compile(rf"\b(?:{alternative})\b", re.IGNORECASE) for alternative in group) for group in CUES["cases"]
)


_EXTRA = re.compile(
    r"\b(?:additional|extra|another)\s\S+|\b\S+\s(?:more|additional|extra)\s(?!than\b)\w+|\bthêm\s\d+"
    r"|\b(?:also|as well|cũng|ngoài ra)\b",
    re.IGNORECASE,
)
"""What comes on top says nothing of what it is added to."""


def is_other_case(one: str, other: str) -> bool:
    """Whether two texts name different alternatives of one matter and none in common, or one what is added."""
    one, other = normalise(one), normalise(other)
    if bool(_EXTRA.search(one)) != bool(_EXTRA.search(other)):
        return True
    for group in _CASES:
        mine = {at for at, case in enumerate(group) if case.search(one)}
        theirs = {at for at, case in enumerate(group) if case.search(other)}
        if mine and theirs and not mine & theirs:
            return True
    return False


Want = Literal["amount", "time", "person", "place", "thing", "list", "yes_no"]
_READ = tuple((want, re.compile("|".join(patterns))) for want, patterns in CUES["wants"].items())


class Asked(NamedTuple):
    """A question, read."""

    wants: frozenset[Want]
    """Empty for a question that says nothing of it: then everything is compared."""
    units: frozenset[str]
    """Kinds of marks it names: ``room`` in “in which room …”."""
    words: frozenset[str]
    """Folded."""


@lru_cache(maxsize=512)
def read_asked(question: str) -> Asked:
    """Read a question of either language, with or without diacritics."""
    folded = fold(normalise(question)).lower().strip(" ?.!")
    spoken = [fold(word) for word in words(question)]
    wants = frozenset(want for want, pattern in _READ if pattern.search(folded))
    pairs = [" ".join(pair) for pair in pairwise(spoken)]
    units = frozenset(unit for word in (*spoken, *pairs) if (unit := unit_named(word)))
    return Asked(wants, units, frozenset(spoken))
