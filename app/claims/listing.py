"""Lists in a text: bullets under one another, or members in a row (“Platform, Payments and Search”)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.text.language import content_words, fold

_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(?P<text>.+)$")
_END = re.compile(r"[.;:\n]+")
_LETTERS = 500
"""A longer stretch without any stop is no sentence, and would be tried in too many ways."""
_ROW = re.compile(r"(?P<head>[^,]+(?:,\s[^,]+)+?),?\s(?:and|or|và|hoặc)\s(?P<last>[^,]+)")
_LEAST = 2


class Listed(NamedTuple):
    """A list."""

    text: str
    members: frozenset[str]
    """Folded content words of each member, joined."""
    written: dict[str, str]
    """Each member as it stands in the text."""

    def without(self, other: "Listed") -> frozenset[str]:
        """Members the other list has not, also not in more or fewer words."""
        there = [frozenset(member.split()) for member in other.members]
        return frozenset(
            member for member in self.members if not any(_covers(frozenset(member.split()), one) for one in there)
        )


def listed_in(text: str) -> Iterator[Listed]:
    """The bullets of a text as one list, then the rows of its sentences."""
    items = [mark["text"].strip() if (mark := _ITEM.match(line)) else "" for line in text.split("\n")]
    if sum(map(bool, items)) >= _LEAST - 1 and "\n" in text:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        first = next(at for at, line in enumerate(lines) if _ITEM.match(line))
        before = [lines[first - 1]] if first and not lines[first - 1].endswith((":", ".")) else []
        yield from _listed(text, [*before, *filter(None, items)])
    for sentence in _END.split(text):
        row = _ROW.search(sentence) if len(sentence) <= _LETTERS else None
        if row:
            yield from _listed(text, _members(row["head"], row["last"]))


def _members(head: str, last: str) -> list[str]:
    """Of the first and last member only the word nearest to the others: the sentence goes on there."""
    first, *rest = re.split(r",\s", head)
    return [" ".join(first.split()[-1:]), *rest, " ".join(last.split()[:1])]


def _listed(text: str, members: list[str]) -> Iterator[Listed]:
    written = {" ".join(fold(word) for word in content_words(member)): member for member in members}
    written.pop("", None)
    if len(written) >= _LEAST:
        yield Listed(text, frozenset(written), written)


def _covers(one: frozenset[str], other: frozenset[str]) -> bool:
    return one <= other or other <= one
