"""Read what the words of a question may be: columns and values of a table, and the words of `words.yaml`.

Every place of a question gets the longest reading there is. A word that gets none is named, never passed over.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from app.tables.sheet import Column, Sheet, plain
from app.text.language import fold, guess_language, normalise

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?![^\W_])|[^\W_]+|[%&#✓✔✗]|[<>]=?|[=≥≤]")
_MOST_WORDS = 10
"""Of one phrase, name or value."""
_ROWS_TO_NAME = 4
"""Fewer rows may all differ by chance."""
_MOST_TYPO_TARGETS = 3_000
_SHORT = 3
"""Characters of a value that must be written with its capitals: ``IT`` is not ``it``."""
_RANK = ("value", "column", "cue", "concept", "noun", "harmless")


class Token(NamedTuple):
    """A word of a text: as it is compared, as it is written, and where."""

    key: str
    written: str
    at: int
    is_bare: bool = False
    """Whether the whole text is written without marks."""


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
    def places(self) -> range:
        """The places of its words."""
        return range(self.start, self.end)

    @property
    def numeric(self) -> tuple[Column, ...]:
        """The columns of numbers it names."""
        return tuple(one for one in self.columns if one.kind == "number" and self.kind in ("column", "concept"))


def tokens(text: str) -> list[Token]:
    """The words of a text."""
    written = normalise(text)
    is_bare = written.isascii() and guess_language(written) == "vi"
    return [Token(_stem(fold(one[0]).lower()), one[0], one.start(), is_bare) for one in _TOKEN.finditer(written)]


def keys(text: str) -> tuple[str, ...]:
    """The words of a text as they are compared."""
    return tuple(token.key for token in tokens(text))


def _stem(word: str) -> str:
    """An English plural as its singular; other words as they are."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if (len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes"))) or (len(word) > 7 and word.endswith("ely")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@cache
def language_data() -> dict[str, Any]:
    """The content of `words.yaml`."""
    text = files("app.tables").joinpath("words.yaml").read_text("utf-8")
    read: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)
    return read


@cache
def _phrases(section: str) -> Mapping[tuple[str, ...], Sequence[tuple[str, tuple[str, ...]]]]:
    """The phrases of a section of `words.yaml`, each with the names it stands under and its own spelling."""
    found: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {}
    content = language_data()[section]
    for name, listed in content.items() if isinstance(content, dict) else [("", content)]:
        for words in map(tokens, listed):
            spelling = tuple(one.written.lower() for one in words)
            found.setdefault(tuple(one.key for one in words), []).append((name, spelling))
    return found


def names_of(section: str, said: Sequence[Token]) -> tuple[str, ...]:
    """The names under which some words stand in a section of `words.yaml`: those of the same marks, or without any."""
    listed = _phrases(section).get(tuple(token.key for token in said), ())
    return tuple(dict.fromkeys(name for name, own in listed if all(map(_is_same, own, said))))


def _is_same(own: str, token: Token) -> bool:
    asked = token.written.lower()
    return (own.isascii() or token.is_bare) if asked.isascii() else asked == own


def is_flag(column: Column) -> bool:
    """Whether the cells of a column say yes or no."""
    flags = language_data()["flags"]
    return bool(column.distinct) and {plain(value) for value in column.distinct} <= {*flags["yes"], *flags["no"]}


def one_owner(columns: Iterable[Column]) -> Column | None:
    """Whose value is meant: the only column that has it, or the only one that names rows by it."""
    every = list(columns)
    naming = [column for column in every if column.is_unique and len(column.values) >= _ROWS_TO_NAME]
    return every[0] if len(every) == 1 else naming[0] if len(naming) == 1 else None


class Lexicon:
    """Everything words of a question may mean in one sheet."""

    def __init__(self, sheet: Sheet, names: Iterable[str] = ()):
        """`names`: of the file and its sheets; their words say nothing about rows."""
        self.sheet = sheet
        self.concepts = {column.at: _concepts_of(column) for column in sheet.columns}
        self._values: dict[tuple[str, ...], list[tuple[Column, str]]] = {}
        self._labels: dict[tuple[str, ...], list[Column]] = {}
        for column in sheet.columns:
            # “có” and “không” are words of every question; what a column of them says is asked by its name.
            for value in () if is_flag(column) else column.distinct:
                if 0 < len(words := keys(value)) <= _MOST_WORDS:
                    self._values.setdefault(words, []).append((column, value))
            for name in {keys(column.name), keys(column.label)}:
                self._labels.setdefault(name, []).append(column)
        self._parts = [(keys(column.label.partition("/")[0]), column) for column in sheet.columns]
        self._names = frozenset(word for name in names for word in keys(name) if len(word) > 1)

    def columns_for(self, concept: str) -> tuple[Column, ...]:
        """The columns of a kind of thing."""
        return tuple(column for column in self.sheet.columns if concept in self.concepts[column.at])

    def read(self, said: Sequence[Token], taken: Iterable[int] = ()) -> list[Mention]:
        """The reading of every place, the longest first; places in `taken` are left out."""
        free = set(range(len(said))) - set(taken)
        found: list[Mention] = []
        for one in sorted(self._readings(said), key=lambda one: (one.start - one.end, _RANK.index(one.kind))):
            if free.issuperset(one.places):
                found.append(one)
                free -= set(one.places)
        small = [one for one in found if one.kind in ("harmless", "noun")]
        soft = {at for one in small for at in one.places}
        # A small word that is written like a name may be one.
        likely = [
            one.start for one in small if one.end - one.start == 1 and one.start and said[one.start].written.istitle()
        ]
        for at in (*likely, *sorted(free)):
            part = self._part_of_value(said, at, free | soft) if at in free or at in likely else None
            if at in free and (part is None or part.end - part.start == 1):
                part = self._misspelt(said, at, free | soft, part)
            if part is not None:
                found = [other for other in found if other.end <= part.start or other.start >= part.end] + [part]
                free -= set(part.places)
        return sorted(found, key=lambda one: one.start)

    def _readings(self, said: Sequence[Token]) -> Iterator[Mention]:
        for start in range(len(said)):
            for end in range(start + 1, min(start + _MOST_WORDS, len(said)) + 1):
                words = said[start:end]
                key = tuple(token.key for token in words)
                if same := [one for one in self._values.get(key, ()) if _is_written_so(one[1], words)]:
                    yield _value_mention(start, end, same)
                if labelled := self._labels.get(key):
                    yield Mention(start, end, "column", "", tuple(labelled))
                for name in names_of("cues", words):
                    yield Mention(start, end, "cue", name)
                kinds = names_of("concepts", words)
                if columns := self._spoken_of(key, words, kinds):
                    yield Mention(start, end, "concept", kinds[0] if kinds else "", columns)
                if names_of("row_nouns", words):
                    yield Mention(start, end, "noun")
                if names_of("harmless", words) or (len(key) == 1 and key[0] in self._names):
                    yield Mention(start, end, "harmless")

    def _spoken_of(self, key: tuple[str, ...], words: Sequence[Token], kinds: Sequence[str]) -> tuple[Column, ...]:
        """The columns some words speak of: by a part of their name that is a kind of thing, by the kind, by a part."""
        meant = [column for kind in kinds for column in self.columns_for(kind)]
        parts = [column for label, column in self._parts if _within(key, label)]
        both = [column for column in meant if column in parts]
        is_number = {column.kind == "number" for column in parts}
        if both and len(parts) > len(both) and is_number == {True}:
            both = parts
        if not meant and all(names_of("harmless", [word]) for word in words):
            parts = []
        if not meant and len(is_number) > 1:
            parts = [column for column in parts if column.kind != "number"]
        return tuple(dict.fromkeys(both or meant or parts))

    def _part_of_value(self, said: Sequence[Token], at: int, free: set[int]) -> Mention | None:
        """A word that stands in values, with the words beside it that stand in the same values in this order."""
        key, written = said[at].key, said[at].written
        held = [(words, owner) for words, owners in self._values.items() if key in words for owner in owners]
        has_capitals = any(token.written[0].isupper() for token in said[1:])
        if has_capitals and written.islower() and not any(written in value for _, (_, value) in held):
            return None
        owner = one_owner({column for _, (column, _) in held})
        if len(key) < 2 or key[0].isdigit() or owner is None:
            return None
        held = [one for one in held if one[1][0] is owner]
        start, end = at, at + 1
        while start - 1 in free and (kept := [one for one in held if _in_order(said[start - 1 : end], one[0])]):
            start, held = start - 1, kept
        while end in free and (kept := [one for one in held if _in_order(said[start : end + 1], one[0])]):
            end, held = end + 1, kept
        return Mention(start, end, "value", "part", (owner,), tuple(value for _, (_, value) in held))

    def _misspelt(self, said: Sequence[Token], at: int, free: set[int], part: Mention | None) -> Mention | None:
        """The one name, value or word that is a letter or two from what is written around a place, else `part`."""
        for size in range(4, 1 if part else 0, -1):
            for start in range(max(at - size + 1, 0), min(at + 1, len(said) - size + 1)):
                spelt = " ".join(token.key for token in said[start : start + size])
                if free.issuperset(range(start, start + size)) and len(spelt) >= 4:
                    near = list(self._near(spelt, size, start))
                    if len({(one.columns, one.values, one.name) for one in near}) == 1:
                        return near[0]
        return part

    def _near(self, spelt: str, size: int, start: int) -> Iterator[Mention]:
        end = start + size
        for words, owners in list(self._values.items())[:_MOST_TYPO_TARGETS]:
            if len(words) == size and _is_near(spelt, " ".join(words)):
                yield _value_mention(start, end, owners)
        for words, columns in self._labels.items():
            if len(words) == size and _is_near(spelt, " ".join(words)):
                yield Mention(start, end, "column", "", tuple(columns))
        for words, listed in _phrases("cues").items():
            if len(words) == size and len(spelt) > 5 and _is_near(spelt, " ".join(words)):
                yield Mention(start, end, "cue", listed[0][0])


def _concepts_of(column: Column) -> frozenset[str]:
    """The kinds of things a column's name speaks of: those of its longest phrases. What stands behind “/” is a unit."""
    name = column.label.partition("/")[0]
    label = tokens(name if len(name) > 2 else column.label)
    spans = {(a, b) for b in range(len(label) + 1) for a in range(b) if names_of("concepts", label[a:b])}
    longest = [(a, b) for a, b in spans if not any(c <= a and b <= d for c, d in spans - {(a, b)})]
    return frozenset(name for a, b in longest for name in names_of("concepts", label[a:b]))


def _value_mention(start: int, end: int, owners: Sequence[tuple[Column, str]]) -> Mention:
    columns, values = dict.fromkeys(column for column, _ in owners), dict.fromkeys(value for _, value in owners)
    return Mention(start, end, "value", "", tuple(columns), tuple(values))


def _is_written_so(value: str, said: Sequence[Token]) -> bool:
    """Whether a value may be meant: marks and, of short ones, capitals must not speak against it."""
    if len(value) <= _SHORT and value.isupper() and not any(char.isdigit() for char in value):
        return " ".join(token.written for token in said) == value
    pairs = zip((token.written.lower() for token in tokens(value)), (t.written.lower() for t in said), strict=True)
    return all(a == b or a.isascii() or b.isascii() for a, b in pairs)


def _is_near(a: str, b: str) -> bool:
    """Whether two spellings are one letter apart; two for long ones. Letters that changed places count once."""
    if a == b or a[0] != b[0] or any(char.isdigit() for char in a + b):
        return a == b
    most = 1 if min(len(a), len(b)) < 9 else 2
    return abs(len(a) - len(b)) <= most and not _shortened(a, most).isdisjoint(_shortened(b, most))


@lru_cache(maxsize=10_000)
def _shortened(word: str, times: int) -> frozenset[str]:
    """A word with up to so many letters left out."""
    found = {word}
    for _ in range(times):
        found |= {one[:at] + one[at + 1 :] for one in found for at in range(len(one))}
    return frozenset(found)


def _within(words: tuple[str, ...], label: tuple[str, ...]) -> bool:
    return any(label[at : at + len(words)] == words for at in range(len(label) - len(words) + 1))


def _in_order(said: Sequence[Token], words: Sequence[str]) -> bool:
    left = iter(words)
    return all(token.key in left for token in said)
