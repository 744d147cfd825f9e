"""What the words of a question may be: columns, values, signs, times and the words of `words.yaml`.

Every place of a question gets the longest reading there is. A word that gets none is told, never passed over.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from app.tables.phrases import Token, is_near, keys, language_data, names_of, phrases_of, tokens
from app.tables.sheet import Column, Sheet, plain

_MOST_WORDS = 10
"""Of one phrase, name or value."""
_ROWS_TO_NAME = 4
"""Fewer rows may all differ by chance."""
_MOST_TYPO_TARGETS = 3_000
_SHORT = 3
"""Characters of a value that must be written with its capitals: ``IT`` is not ``it``."""


class Mention(NamedTuple):
    """Some words of the question with one reading."""

    start: int
    end: int
    kind: str
    """``value``, ``column``, ``concept``, ``cue``, ``noun`` or ``harmless``."""
    name: str = ""
    """Of a cue or a concept."""
    columns: tuple[Column, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """How many words it takes."""
        return self.end - self.start


def concepts_of(column: Column) -> frozenset[str]:
    """The kinds of things a column's name speaks of: those of its longest phrases. What stands behind “/” is a unit."""
    label = tokens(column.label.partition("/")[0] if len(column.label.partition("/")[0]) > 2 else column.label)
    spans = [
        (a, b) for a in range(len(label)) for b in range(a + 1, len(label) + 1) if names_of("concepts", label[a:b])
    ]
    longest = [(a, b) for a, b in spans if not any((c, d) != (a, b) and c <= a and b <= d for c, d in spans)]
    return frozenset(name for a, b in longest for name in names_of("concepts", label[a:b]))


def is_flag(column: Column) -> bool:
    """Whether the cells of a column say yes or no."""
    flags = language_data()["flags"]
    found = {plain(value) for value in column.distinct}
    return bool(found) and found <= {*flags["yes"], *flags["no"]}


class Lexicon:
    """Everything words of a question may mean in one sheet."""

    def __init__(self, sheet: Sheet, names: Iterable[str] = ()):
        """`names`: of the file and its sheets; their words say nothing about rows."""
        self.sheet = sheet
        self.concepts = {column.at: concepts_of(column) for column in sheet.columns}
        self._values: dict[tuple[str, ...], list[tuple[Column, str]]] = {}
        for column in sheet.columns:
            # “có” and “không” are words of every question; what a column of them says is asked by its name.
            for value in () if is_flag(column) else column.distinct:
                if 0 < len(words := keys(value)) <= _MOST_WORDS:
                    self._values.setdefault(words, []).append((column, value))
        self._labels: dict[tuple[str, ...], list[Column]] = {}
        for column in sheet.columns:
            for name in {keys(column.name), keys(column.label)}:
                self._labels.setdefault(name, []).append(column)
        self._parts: dict[tuple[str, ...], list[Column]] = {}
        for column in sheet.columns:
            self._parts.setdefault(keys(column.label.partition("/")[0]), []).append(column)
        self._names = frozenset(word for name in names for word in keys(name) if len(word) > 1)

    def read(self, said: Sequence[Token], taken: Iterable[int] = ()) -> list[Mention]:
        """The reading of every place, the longest first; places in `taken` are left out."""
        free = set(range(len(said))) - set(taken)
        found: list[Mention] = []
        for one in sorted(self._readings(said), key=lambda one: (-one.words, _RANK[one.kind])):
            if free.issuperset(range(one.start, one.end)):
                found.append(one)
                free -= set(range(one.start, one.end))
        soft = {at for one in found if one.kind in ("harmless", "noun") for at in range(one.start, one.end)}
        likely = [one.start for one in found if one.kind in ("harmless", "noun") and self._may_be_name(said, one)]
        for at in (*likely, *sorted(free)):
            if at not in free and at not in likely:
                continue
            part = self._part_of_value(said, at, free | soft)
            spelt = None if at in likely or (part and part.words > 1) else self._misspelt(said, at, free | soft)
            more = spelt if spelt and (part is None or spelt.words > part.words) else part
            if more is not None:
                found = [other for other in found if other.end <= more.start or other.start >= more.end] + [more]
                free -= set(range(more.start, more.end))
        return sorted(found, key=lambda one: one.start)

    def columns_for(self, concept: str) -> tuple[Column, ...]:
        """The columns of a kind of thing."""
        return tuple(column for column in self.sheet.columns if concept in self.concepts[column.at])

    def _readings(self, said: Sequence[Token]) -> Iterator[Mention]:
        everything = tuple(token.key for token in said)
        for start in range(len(said)):
            for end in range(start + 1, min(start + _MOST_WORDS, len(said)) + 1):
                yield from self._of(start, end, everything[start:end], said[start:end])

    def _of(self, start: int, end: int, words: tuple[str, ...], said: Sequence[Token]) -> Iterator[Mention]:
        if same := [(column, value) for column, value in self._values.get(words, ()) if _is_written_so(value, said)]:
            yield _value_mention(start, end, same)
        if labelled := self._labels.get(words):
            yield Mention(start, end, "column", "", tuple(labelled))
        for name in names_of("cues", said):
            yield Mention(start, end, "cue", name)
        kinds = names_of("concepts", said)
        is_small = all(names_of("harmless", said[at : at + 1]) for at in range(len(words)))
        if columns := self._spoken_of(words, kinds, is_small=is_small):
            yield Mention(start, end, "concept", kinds[0] if kinds else "", columns)
        if names_of("row_nouns", said):
            yield Mention(start, end, "noun")
        if names_of("harmless", said) or (len(words) == 1 and words[0] in self._names):
            yield Mention(start, end, "harmless")

    def _spoken_of(self, words: tuple[str, ...], kinds: Sequence[str], *, is_small: bool) -> tuple[Column, ...]:
        """The columns some words speak of: by a part of their name that is a kind of thing, by the kind, by a part."""
        meant = [column.at for kind in kinds for column in self.columns_for(kind)]
        parts = [column.at for label, columns in self._parts.items() if _within(words, label) for column in columns]
        both = [at for at in meant if at in parts]
        if len(set(parts)) > len(set(both)) > 0 and all(self.sheet.columns[at].kind == "number" for at in parts):
            both = parts
        vague = len({self.sheet.columns[at].kind == "number" for at in parts}) > 1
        chosen = both or meant or ([] if is_small else parts)
        if vague and not meant:
            chosen = [at for at in chosen if self.sheet.columns[at].kind != "number"]
        return tuple(self.sheet.columns[at] for at in dict.fromkeys(chosen))

    @staticmethod
    def _may_be_name(said: Sequence[Token], one: Mention) -> bool:
        """Whether a small word is written like a name: with a capital, not at the beginning."""
        return (
            one.words == 1
            and one.start > 0
            and said[one.start].written[0].isupper()
            and not said[one.start].written.isupper()
        )

    def _part_of_value(self, said: Sequence[Token], at: int, free: set[int]) -> Mention | None:
        """A word that stands in values, with the words beside it that stand in the same values in this order."""
        key = said[at].key
        held = [(words, owner) for words, owners in self._values.items() if key in words for owner in owners]
        written = said[at].written
        capitals = any(token.written[0].isupper() for token in said[1:])
        if capitals and written.islower() and not any(written in value for _, (_, value) in held):
            return None
        owners = {column for _, (column, _) in held}
        if len(key) < 2 or key[0].isdigit() or (owner := one_owner(owners)) is None:
            return None
        held = [one for one in held if one[1][0] is owner]
        start, end = at, at + 1
        while start - 1 in free and (kept := [one for one in held if _in_order(said[start - 1 : end], one[0])]):
            start, held = start - 1, kept
        while end in free and (kept := [one for one in held if _in_order(said[start : end + 1], one[0])]):
            end, held = end + 1, kept
        return Mention(start, end, "value", "part", (held[0][1][0],), tuple(value for _, (_, value) in held))

    def _misspelt(self, said: Sequence[Token], at: int, free: set[int]) -> Mention | None:
        """The one name, value or word that is a letter or two from what is written around a place."""
        for size in range(4, 0, -1):
            for start in range(max(at - size + 1, 0), min(at + 1, len(said) - size + 1)):
                if not free.issuperset(range(start, start + size)):
                    continue
                spelt = " ".join(token.key for token in said[start : start + size])
                near = list(self._near(spelt, size, start)) if len(spelt) >= 4 else []
                if len({(one.columns, one.values, one.name) for one in near}) == 1:
                    return near[0]
        return None

    def _near(self, spelt: str, size: int, start: int) -> Iterator[Mention]:
        for words, owners in list(self._values.items())[:_MOST_TYPO_TARGETS]:
            if len(words) == size and is_near(spelt, " ".join(words)):
                yield _value_mention(start, start + size, owners)
        for words, columns in self._labels.items():
            if len(words) == size and is_near(spelt, " ".join(words)):
                yield Mention(start, start + size, "column", "", tuple(columns))
        for words, listed in phrases_of("cues").items():
            if len(words) == size and len(spelt) > 5 and is_near(spelt, " ".join(words)):
                yield Mention(start, start + size, "cue", listed[0][0])


def one_owner(columns: Iterable[Column]) -> Column | None:
    """Whose value is meant: the only column that has it, or the only one that names rows by it."""
    every = list(columns)
    naming = [column for column in every if column.is_unique and len(column.values) >= _ROWS_TO_NAME]
    return every[0] if len(every) == 1 else naming[0] if len(naming) == 1 else None


def _value_mention(start: int, end: int, owners: Sequence[tuple[Column, str]]) -> Mention:
    columns, values = dict.fromkeys(column for column, _ in owners), dict.fromkeys(value for _, value in owners)
    return Mention(start, end, "value", "", tuple(columns), tuple(values))


_RANK = {"value": 0, "column": 1, "cue": 2, "concept": 3, "noun": 4, "harmless": 5}


def _is_written_so(value: str, said: Sequence[Token]) -> bool:
    """Whether a value may be meant: marks and, of short ones, capitals must not speak against it."""
    own = tokens(value)
    if len(value) <= _SHORT and value.isupper() and not any(char.isdigit() for char in value):
        return " ".join(token.written for token in said) == value
    pairs = zip((token.written.lower() for token in own), (token.written.lower() for token in said), strict=True)
    return all(a == b or a.isascii() or b.isascii() for a, b in pairs)


def _within(words: tuple[str, ...], label: tuple[str, ...]) -> bool:
    size = len(words)
    return any(label[at : at + size] == words for at in range(len(label) - size + 1))


def _in_order(said: Sequence[Token], words: Sequence[str]) -> bool:
    left = iter(words)
    return all(token.key in left for token in said)
