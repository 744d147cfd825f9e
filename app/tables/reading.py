"""Read which rows of a table a question is about: values, numbers with signs, times, comparisons, empty cells."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from app.domain.knowledge import Language
from app.tables.query import Filter, Unclear
from app.tables.sheet import Column, Sheet, plain
from app.tables.spans import MONTHS_OF, NEAR, Bound, Spans, Times, tells, time_values
from app.tables.words import Lexicon, Mention, is_flag, keys, language_data, one_owner

_YES_NO = ("did", "is", "was", "ha", "has", "have", "are", "were", "doe", "does", "do", "can")


class Reader(Spans):
    """The conditions of one question."""

    def __init__(self, sheet: Sheet, question: str, today: date, language: Language, names: Sequence[str]):
        super().__init__(question, today, language)
        self.sheet, self.lexicon = sheet, Lexicon(sheet, names)
        first = self.lexicon.read(self.said)
        known = [one for one in first if one.kind in ("value", "column") and len(one.places) > 1]
        fixed = {at for one in known for at in one.places}
        self.times = self.times_in(fixed)
        taken = {at for one in self.times for at in range(one.start, one.end)}
        fixed |= {at for one in first if one.kind == "value" and one.name != "part" for at in one.places} - taken
        self.bounds = self.bounds_in(fixed | taken, first)
        taken |= {at for bound in self.bounds for at in range(bound.start, bound.end)}
        self.mentions = self.lexicon.read(self.said, taken)
        self.explained = taken | {at for one in self.mentions for at in one.places} | self._purpose()
        self.used: set[Mention] = set()
        self.sides: list[Filter] = []
        """Two times, as conditions of their own."""
        # A “không” or “chưa” at the end asks for yes or no, and is no condition then.
        last = [one for one in self.cues("not") if one.end == len(self.said) and one.start]
        self.used.update(last)
        asks = self.cues("howmuch", "count", "which", "who", "when", "where", "sum", "average", "list")
        self.is_yes_no = not asks and bool(last or self.key(0) in _YES_NO)

    def _purpose(self) -> set[int]:
        """The places behind “để …”, “so that …”, where no condition stands there."""
        for at, token in enumerate(self.said):
            is_purpose = token.written.lower() == "để" or (token.key, self.key(at + 1)) == keys("so that")
            if is_purpose and at > 2 and not any(one.kind == "value" and one.start > at for one in self.mentions):
                return set(range(at, len(self.said)))
        return set()

    def cues(self, *names: str) -> list[Mention]:
        """The mentions of some cues, in their order."""
        return [one for one in self.mentions if one.kind == "cue" and one.name in names]

    def free(self) -> list[Mention]:
        """The mentions of columns that no condition has taken."""
        return [one for one in self.mentions if one.kind in ("column", "concept") and one not in self.used]

    def is_asked(self, one: Mention) -> bool:
        """Whether a column is what is asked for: “which department”, “phòng nào”, “theo phòng”."""
        behind = [c for c in self.cues("which") if 0 <= c.start - one.end <= 1]
        before = [c for c in self.cues("which", "group", "list") if 0 <= one.start - c.end <= 1]
        return bool(behind or [c for c in before if c.name != "which" or self.key(c.start) in ("which", "what")])

    def filters(self) -> list[Filter]:
        """Every condition the question states. Raises `Unclear`, also for a word that has no reading."""
        found = [self._by_time(self.times)] if self.times else []
        found += [self._by_bound(bound) for bound in self.bounds if bound.sign not in ("limit", "one")]
        found += self._by_values()
        found += self._by_emptiness()
        found += self._by_flags()
        lost = [token.written for at, token in enumerate(self.said) if at not in self.explained]
        lost += [self._text(one) for one in self.cues("not") if one not in self.used]
        if lost:
            knows = any(one.kind == "value" or one.columns for one in self.mentions)
            raise Unclear("words", *dict.fromkeys(lost), is_meant=knows)
        return found

    def _text(self, one: Mention) -> str:
        return " ".join(self.said[at].written for at in one.places)

    def _is_negated(self, start: int) -> bool:
        """Whether a “not” stands before a place, with nothing but small words or a column between them."""
        for one in reversed([one for one in self.mentions if one.end <= start]):
            if one.kind == "cue" and one.name in ("not", "empty") and start - one.end <= NEAR:
                self.used.add(one)
                return True
            if one.kind not in ("harmless", "column", "concept") or start - one.start > NEAR:
                return False
        return False

    def _by_time(self, asked: Sequence[Times]) -> Filter:
        column = self._time_column(asked)
        found = [Filter(column, *time_values(column, one), said=self.written(one)) for one in [[one] for one in asked]]
        self.sides = found if len(found) == 2 else []
        return Filter(column, *time_values(column, asked), said=self.written(asked))

    def _time_column(self, asked: Sequence[Times]) -> Column:
        fitting = [one for one in self.sheet.columns if one.kind in MONTHS_OF and tells(one, asked)]
        exact = [one for one in fitting if one.kind == asked[0].grain]
        named = [m for m in self.free() for c in m.columns if c in fitting and c.kind == "day"]
        if named and len(fitting) > 1:
            near = min(named, key=lambda one: abs(one.start - asked[0].start))
            self.used.add(near)
            fitting = [c for c in near.columns if c in fitting]
        elif exact:
            fitting = exact
        else:
            self.used.update(one for one in named if len(one.columns) == 1)
        if len(fitting) > 1 and fitting[0].kind == "day":
            raise Unclear("columns", *(one.label for one in fitting))
        if not fitting:
            raise Unclear("period", self.written(asked))
        return fitting[0]

    def _by_bound(self, bound: Bound) -> Filter:
        numeric = [one for one in self.mentions if one.numeric]
        inside = [one for one in numeric if bound.start <= one.start < bound.end]
        before = [one for one in numeric if 0 <= bound.start - one.end <= NEAR + 2][-1:]
        near = inside or before or [one for one in numeric if 0 <= one.start - bound.end <= 1][:1]
        columns = list(near[0].numeric) if near else self._only_numeric(numeric)
        if len(columns) != 1:
            raise Unclear("columns" if columns else "column", *(column.label for column in columns))
        self.used.update(near)
        return Filter(columns[0], bound.sign, tuple(format(value, "f") for value in bound.values))

    def _only_numeric(self, mentions: Sequence[Mention]) -> list[Column]:
        """The one column a number can be of where none is named beside it."""
        every = [column for column in self.sheet.columns if column.kind == "number"]
        amounts = [column for column in self.lexicon.columns_for("money") if column.kind == "number"]
        chosen = list({column for one in mentions for column in one.numeric}) or (every if len(every) == 1 else amounts)
        return chosen if len(chosen) == 1 else []

    def _by_values(self) -> Iterator[Filter]:
        chosen: dict[tuple[int, bool], Filter] = {}
        for one in [one for one in self.mentions if one.kind == "value" and not self._is_counter(one)]:
            column = self._column_of_value(one)
            joins = any(other.end == one.start and other.name in ("and", "or") for other in self.mentions)
            is_out = self._is_negated(one.start) or (joins and (column.at, True) in chosen)
            filter_ = chosen.setdefault((column.at, is_out), Filter(column, "not in" if is_out else "in"))
            values = dict.fromkeys((*filter_.values, *(value for value in one.values if value in column.distinct)))
            chosen[column.at, is_out] = replace(filter_, values=tuple(values))
            beside = [other for other in self.free() if column in other.columns and not self.is_asked(other)]
            beside = [other for other in beside if other.columns == (column,) or _touch(one, other)]
            self.used.update((one, *beside))
        yield from chosen.values()

    def _is_counter(self, one: Mention) -> bool:
        """Whether a value is a unit that things are counted in: “bao nhiêu cái”."""
        units = set(self.lexicon.columns_for("unit"))
        named = [m for m in self.free() if m.end == one.start and units.intersection(one.columns, m.columns)]
        return units.issuperset(one.columns) and not named

    def _column_of_value(self, one: Mention) -> Column:
        if len(one.columns) == 1:
            return one.columns[0]
        beside = [m for m in self.free() if _touch(one, m) or one.start - m.end == 2]
        named = {column for m in beside for column in m.columns if column in one.columns}
        owner = one_owner(named or one.columns) if len(named) < 2 else None
        if owner is None:
            raise Unclear("value", self._text(one), *(column.label for column in one.columns))
        return owner

    def _by_emptiness(self) -> Iterator[Filter]:
        for one in self.free():
            near = [c for c in self.cues("empty") if c.start - one.end in range(NEAR) or one.start - c.end in range(2)]
            columns = [c for c in one.columns if None in c.values]
            if len(columns) == 1 and (near or (not is_flag(columns[0]) and self._is_negated(one.start))):
                self.used.update((one, *near))
                yield Filter(columns[0], "none" if columns[0].kind == "number" else "empty")

    def _by_flags(self) -> Iterator[Filter]:
        found: set[Column] = set()
        for one in self.free():
            if len(one.columns) == 1 and is_flag(one.columns[0]) and not self.is_asked(one):
                self.used.add(one)
                wanted = language_data()["flags"]["no" if self._is_negated(one.start) else "yes"]
                if one.columns[0] not in found:
                    yield Filter(one.columns[0], "in", tuple(v for v in one.columns[0].distinct if plain(v) in wanted))
                found.add(one.columns[0])


def _touch(value: Mention, column: Mention) -> bool:
    """Whether a column stands beside a value."""
    return 0 <= value.start - column.end <= 1 or 0 <= column.start - value.end <= 1
