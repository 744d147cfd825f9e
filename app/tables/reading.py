"""Read which rows of a table a question is about: values, numbers with signs, times, comparisons, empty cells."""

from collections.abc import Sequence
from datetime import date

from app.domain.knowledge import Language
from app.tables.query import Filter, Unread
from app.tables.sheet import Column, Sheet, plain
from app.tables.spans import GAP_END, MONTHS_OF, NEAR, Bound, Spans, Times, tells, time_values
from app.tables.words import Lexicon, Mention, is_flag, keys, language_data, names_of, one_owner

_GAP_WORDS = 5
_YES_NO = ("did", "is", "was", "ha", "has", "have", "are", "were", "doe", "does", "do", "can")


class Reader(Spans):
    """The conditions of one question."""

    def __init__(self, sheet: Sheet, question: str, today: date, language: Language, names: Sequence[str]):
        super().__init__(question, today, language)
        self.sheet = sheet
        self.lexicon = Lexicon(sheet, names)
        first = self.lexicon.read(self.said)
        known = [one for one in first if one.kind in ("value", "column") and one.end - one.start > 1]
        fixed = {at for one in (*known, *self._named(names)) for at in _places(one)}
        self.times = self.times_in(fixed)
        taken = {at for one in self.times for at in range(one.start, one.end)}
        fixed |= {at for one in first if one.kind == "value" and one.name != "part" for at in _places(one)} - taken
        self.bounds = self.bounds_in(fixed | taken, first)
        taken |= {at for bound in self.bounds for at in range(bound.start, bound.end)}
        gaps = self._gaps(taken)
        taken |= {at for one in gaps for at in _places(one)}
        self.mentions = sorted([*self.lexicon.read(self.said, taken), *gaps], key=lambda one: one.start)
        self.explained = taken | {at for one in self.mentions for at in _places(one)} | self._purpose()
        self.used: set[Mention] = set()
        self.is_yes_no = self._is_yes_no()
        self.sides: list[Filter] = []
        """Two times, as conditions of their own."""

    def _named(self, names: Sequence[str]) -> list[Mention]:
        """The places where the file or a sheet is called by name."""
        found: list[Mention] = []
        for name in names:
            words = keys(name)
            starts = range(len(self.said) - len(words) + 1) if words else ()
            said = [tuple(token.key for token in self.said[at : at + len(words)]) for at in starts]
            found += [Mention(at, at + len(words), "harmless") for at, one in enumerate(said) if one == words]
        return found

    def _gaps(self, taken: set[int]) -> list[Mention]:
        """“nhiều tiền nhất”: the two halves of one word, with what stands between them."""
        found: list[Mention] = []
        for at, token in enumerate(self.said):
            ends = [to for to in range(at + 2, at + _GAP_WORDS + 1) if self.key(to) == GAP_END]
            names = names_of("cues", [token, self.said[ends[0]]]) if ends else ()
            if names and ends and at not in taken and not any(one.end == ends[0] + 1 for one in found):
                found += [Mention(at, at + 1, "cue", names[0]), Mention(ends[0], ends[0] + 1, "harmless")]
        return found

    def _is_yes_no(self) -> bool:
        """Whether a yes or a no is asked for; a “không” or “chưa” at the end is no condition then."""
        last = [one for one in self.cues("not") if one.end == len(self.said) and one.start]
        self.used.update(last)
        asks = self.cues("howmuch", "count", "which", "who", "when", "where", "sum", "average", "list")
        return not asks and bool(last or (self.said and self.said[0].key in _YES_NO))

    def _purpose(self) -> set[int]:
        """The places behind “để …”, “so that …”, where no condition stands there."""
        for at, token in enumerate(self.said):
            is_purpose = token.written.lower() == "để" or keys("so that") == tuple(
                t.key for t in self.said[at : at + 2]
            )
            tail = set(range(at, len(self.said)))
            if is_purpose and at > 2 and not any(one.kind == "value" and one.start > at for one in self.mentions):
                return tail
        return set()

    def numeric(self, one: Mention) -> tuple[Column, ...]:
        """The columns of numbers a mention may mean."""
        return tuple(column for column in one.columns if column.kind == "number") if _names_columns(one) else ()

    def cues(self, *names: str) -> list[Mention]:
        """The mentions of some cues, in their order."""
        return [one for one in self.mentions if one.kind == "cue" and one.name in names]

    def free(self) -> list[Mention]:
        """The mentions of columns that no condition has taken."""
        return [one for one in self.mentions if _names_columns(one) and one not in self.used]

    def best_named(self, columns: Sequence[Column]) -> list[Column]:
        """Of several columns the one whose whole name is said, with other words between or in another order."""
        said = {token.key for token in self.said}
        whole = [column for column in columns if len(keys(column.label)) > 1 and said.issuperset(keys(column.label))]
        return whole if len(columns) > 1 and len(whole) == 1 else list(columns)

    def _is_negated(self, start: int) -> bool:
        """Whether a “not” stands before a place, with nothing but small words or a column between them."""
        for one in reversed([one for one in self.mentions if one.end <= start]):
            if one.kind == "cue" and one.name in ("not", "empty") and start - one.end <= NEAR:
                self.used.add(one)
                return True
            if one.kind not in ("harmless", "column", "concept") or start - one.start > NEAR:
                return False
        return False

    def filters(self) -> list[Filter]:
        """Every condition the question states, in the order of its words."""
        found = [self._by_time(list(self.times))] if self.times else []
        found += [self._by_bound(bound) for bound in self.bounds if bound.sign not in ("limit", "one")]
        found += self._by_values()
        found += self._by_columns()
        found += self._by_emptiness()
        return found + self._by_flags()

    def _by_time(self, asked: list[Times]) -> Filter:
        column = self._time_column(asked)
        if len(asked) == 2:
            self.sides = [Filter(column, *time_values(column, [one]), said=self.written([one])) for one in asked]
        return Filter(column, *time_values(column, asked), said=self.written(asked))

    def _time_column(self, asked: Sequence[Times]) -> Column:
        fitting = [one for one in self.sheet.columns if one.kind in tuple(MONTHS_OF) and tells(one, asked)]
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
            raise Unread("columns", *(one.label for one in fitting))
        if not fitting:
            raise Unread("period", self.written(asked))
        return fitting[0]

    def _by_bound(self, bound: Bound) -> Filter:
        behind = [one for one in self.mentions if self.numeric(one) and 0 <= one.start - bound.end <= 1]
        before = [one for one in self.mentions if self.numeric(one) and 0 <= bound.start - one.end <= NEAR + 2]
        inside = [one for one in self.mentions if self.numeric(one) and bound.start <= one.start < bound.end]
        near = inside or before[-1:] or behind[:1]
        columns = tuple(self.best_named(self.numeric(near[0]))) if near else self._only_numeric()
        if len(columns) != 1:
            raise Unread("columns", *(column.label for column in columns)) if columns else Unread("column")
        self.used.update(near)
        return Filter(columns[0], bound.sign, tuple(format(value, "f") for value in bound.values))

    def _only_numeric(self) -> tuple[Column, ...]:
        named = {column for one in self.mentions for column in self.numeric(one)}
        every = tuple(column for column in self.sheet.columns if column.kind == "number")
        amounts = tuple(column for column in self.lexicon.columns_for("money") if column.kind == "number")
        chosen = tuple(named) if named else every if len(every) == 1 else amounts
        return chosen if len(chosen) == 1 else ()

    def _by_values(self) -> list[Filter]:
        chosen: dict[tuple[int, bool], list[str]] = {}
        for one in [one for one in self.mentions if one.kind == "value" and not self._is_counter(one)]:
            column = self._column_of_value(one)
            is_out = self._is_negated(one.start) or bool(chosen and self._joins_negated(one, chosen, column))
            held = set(column.distinct)
            chosen.setdefault((column.at, is_out), []).extend(value for value in one.values if value in held)
            self.used.add(one)
            for other in self.free():
                is_beside = 0 <= one.start - other.end <= 1 or 0 <= other.start - one.end <= 1
                if column in other.columns and (is_beside or other.columns == (column,)) and not self._is_asked(other):
                    self.used.add(other)
        return [
            Filter(self.sheet.columns[at], "not in" if is_out else "in", tuple(dict.fromkeys(values)))
            for (at, is_out), values in chosen.items()
        ]

    def _is_counter(self, one: Mention) -> bool:
        """Whether a value is a unit that things are counted in: “bao nhiêu cái”."""
        units = [column for column in one.columns if "unit" in self.lexicon.concepts[column.at]]
        named = [m for m in self.free() if m.end == one.start and set(units).intersection(m.columns)]
        return len(units) == len(one.columns) and not named

    def _joins_negated(self, one: Mention, chosen: dict[tuple[int, bool], list[str]], column: Column) -> bool:
        before = [other for other in self.mentions if other.end == one.start]
        return (column.at, True) in chosen and bool(before) and before[0].name in ("and", "or")

    def _is_asked(self, one: Mention) -> bool:
        """Whether a column is what is asked for: “which department”, “phòng nào”, “theo phòng”."""
        behind = [c for c in self.cues("which") if 0 <= c.start - one.end <= 1]
        before = [c for c in self.cues("which", "group", "list") if 0 <= one.start - c.end <= 1]
        return bool(behind or [c for c in before if c.name != "which" or self.said[c.start].key in ("which", "what")])

    def _column_of_value(self, one: Mention) -> Column:
        if len(one.columns) == 1:
            return one.columns[0]
        beside = [m for m in self.free() if 0 <= one.start - m.end <= 2 or 0 <= m.start - one.end <= 1]
        named = {column for m in beside for column in m.columns if column in one.columns}
        owner = one_owner(one.columns)
        if not named and owner is not None:
            return owner
        if len(named) != 1:
            raise Unread("value", " ".join(token.written for token in self.said[one.start : one.end]),
                          *(column.label for column in one.columns))  # fmt: skip
        return named.pop()

    def _by_columns(self) -> list[Filter]:
        """“spent more than their budget”: two columns of the same row compared."""
        for at in range(len(self.said)):
            for size in (3, 2, 1):
                signs = names_of("signs", self.said[at : at + size])
                sign = next((one for one in signs if one in ("<", ">")), "")
                right = [m for m in self.free() if self.numeric(m) and at + size <= m.start <= at + size + 2]
                left = [m for m in self.free() if self.numeric(m) and m.end <= at]
                if sign and right and (found := self._compared(left, right[0], sign)):
                    self.explained.update(range(at, at + size))
                    return [found]
        return []

    def _compared(self, left: Sequence[Mention], right: Mention, sign: str) -> Filter | None:
        two = self.numeric(right)
        other = [one for one in self.sheet.columns if one.kind == "number" and one not in two]
        one = self.numeric(left[-1]) if left else tuple(other) if len(other) == 1 else ()
        if len(one) != 1 or len(two) != 1 or one == two:
            return None
        self.used.update((*left[-1:], right))
        return Filter(one[0], sign, other=two[0])

    def _by_emptiness(self) -> list[Filter]:
        found: list[Filter] = []
        for one in self.free():
            near = [c for c in self.cues("empty") if c.start - one.end in range(NEAR) or one.start - c.end in range(2)]
            columns = [c for c in one.columns if any(value is None for value in c.values)]
            not_said = len(columns) == 1 and not near and not is_flag(columns[0]) and self._is_negated(one.start)
            if len(columns) == 1 and (near or not_said):
                self.used.update((one, *near))
                found.append(Filter(columns[0], "none" if columns[0].kind == "number" else "empty"))
        return found

    def _by_flags(self) -> list[Filter]:
        found: list[Filter] = []
        for one in self.free():
            if len(one.columns) == 1 and is_flag(one.columns[0]) and not self._is_asked(one):
                self.used.add(one)
                wanted = "no" if self._is_negated(one.start) else "yes"
                values = [v for v in one.columns[0].distinct if plain(v) in language_data()["flags"][wanted]]
                if all(other.column is not one.columns[0] for other in found):
                    found.append(Filter(one.columns[0], "in", tuple(values)))
        return found

    def check_words(self) -> None:
        """Raise `Unread` where a word has no reading, or a “not” nothing to stand before."""
        lost = [token.written for at, token in enumerate(self.said) if at not in self.explained]
        negations = [one for one in self.cues("not") if one not in self.used]
        lost += [" ".join(token.written for token in self.said[one.start : one.end]) for one in negations]
        if lost:
            knows = any(one.kind == "value" or one.columns for one in self.mentions)
            raise Unread("words", *dict.fromkeys(lost), is_meant=knows)


def _places(one: Mention) -> range:
    return range(one.start, one.end)


def _names_columns(one: Mention) -> bool:
    return one.kind in ("column", "concept")
