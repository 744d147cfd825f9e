"""Read which rows of a table a question is about: values, numbers with signs, times, comparisons, empty cells."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from app.domain.knowledge import Language
from app.tables.query import Filter, Unclear
from app.tables.sheet import Column, Sheet, plain
from app.tables.words import Lexicon, Mention, Token, is_flag, keys, language_data, names_of, tokens
from app.text.dates import dates_in
from app.text.language import normalise
from app.text.numbers import numbers_in

_NEAR = 3
"""Words that may stand between two that belong together."""
_GRAINS = {"thang": "month", "month": "month", "monthly": "month", "quy": "quarter", "quarter": "quarter",
           "quarterly": "quarter", "nam": "year", "year": "year", "yearly": "year"}  # fmt: skip
_TIME_KINDS = ("day", "month", "quarter", "year")
_MONTHS_OF = {"day": 1, "month": 1, "quarter": 3, "year": 12}
_YES_NO = ("did", "is", "was", "ha", "has", "have", "are", "were", "doe", "does", "do", "can")
_EQUAL = ("bang", "=", "exactly", "equal", "dung", "to", "only", "just", "chi", "co")
_MAIN_DAYS = {"date", "issued", "ordered", "bought"}
"""What a day of a row is where it has several and nobody says which."""
_GAP_END, _GAP_WORDS = "nhat", 5
_JOINED = {"va": "and", "and": "and", "den": "to", "toi": "to", "to": "to", "until": "to", "through": "to"}


class Times(NamedTuple):
    """A stretch of time that is asked for."""

    start: int
    end: int
    first: date
    last: date
    grain: str
    is_dated: bool
    sign: str = "between"
    said: str = ""


class Bound(NamedTuple):
    """Numbers with a sign."""

    start: int
    end: int
    sign: str
    values: tuple[Decimal, ...]


class Unread(Exception):
    def __init__(self, reason: str, *names: str, is_meant: bool = True):
        super().__init__(reason)
        self.unclear = Unclear(reason, names, is_meant)


class Reader:
    def __init__(self, sheet: Sheet, question: str, today: date, language: Language, names: Sequence[str]):
        self.sheet, self.question, self.language, self.today = sheet, question, language, today
        self.said = tokens(question)
        self.lexicon = Lexicon(sheet, names)
        first = self.lexicon.read(self.said)
        known = [one for one in first if one.kind in ("value", "column") and one.words > 1]
        fixed = {at for one in (*known, *self._named(names)) for at in _places(one)}
        self.times = self._times(fixed)
        taken = {at for one in self.times for at in range(one.start, one.end)}
        self.limit = 0
        fixed |= {at for one in first if one.kind == "value" and one.name != "part" for at in _places(one)} - taken
        self.bounds = self._bounds(fixed | taken, first)
        taken |= {at for bound in self.bounds for at in range(bound.start, bound.end)}
        gaps = self._gaps(taken)
        taken |= {at for one in gaps for at in _places(one)}
        self.mentions = sorted([*self.lexicon.read(self.said, taken), *gaps])
        self.explained = taken | {at for one in self.mentions for at in _places(one)} | self._purpose()
        self.used: set[Mention] = set()
        self.is_yes_no = self._is_yes_no()
        self.sides: list[Filter] = []
        """Two times, as conditions of their own."""

    # -- what stands where

    def _times(self, fixed: set[int]) -> list[Times]:
        found: list[Times] = []
        text = " ".join(self.question.split())
        for one in dates_in(_spelt(self.question), self.today, "year"):
            places = [at for at, token in enumerate(self.said) if one.start <= token.at < one.end]
            is_other = _is_other_word([self.said[at] for at in places])
            if places and not fixed.intersection(places) and one.grain != "hours" and not is_other:
                found.append(Times(places[0], places[-1] + 1, one.first, one.last, one.grain, one.is_dated))
        found = [more for one in found for more in self._continued(one, found)]
        return self._signed_times(sorted(set(found))) if text else []

    def _continued(self, one: Times, found: Sequence[Times]) -> list[Times]:
        """“tháng 1, 2 và 5”, “tháng 2 đến 4”: numbers behind a month or quarter are further ones."""
        all_of, at = [one], one.end
        while one.grain in ("month", "quarter") and not one.is_dated and at < len(self.said):
            step = 1 if self.said[at].key in _JOINED else 0
            token = self.said[at + step] if at + step < len(self.said) else None
            most = 12 // _MONTHS_OF[one.grain]
            if token is None or not token.key.isdigit() or not 1 <= int(token.key) <= most:
                break
            size = _MONTHS_OF[one.grain]
            first = date(one.first.year, int(token.key) * size - size + 1, 1)
            all_of.append(Times(at + step, at + step + 1, first, _end_of(first, size), one.grain, one.is_dated))
            at += step + 1
        return all_of

    def _signed_times(self, found: list[Times]) -> list[Times]:
        """Two times of one range put together, and open ones with their sign."""
        signed: list[Times] = []
        for one in found:
            before = self.said[one.start - 1].key if one.start else ""
            last = signed[-1] if signed else None
            is_range = (
                last is not None
                and last.sign in ("between", ">=")
                and one.start - last.end == 1
                and (_JOINED.get(before) == "to" or self._key(last.start - 1) in ("between", "giua"))
                or (last is not None and one.start == last.end and "-" in self._gap(last, one))
            )
            if last is not None and is_range:
                opened = last.sign == "between" and self._key(last.start - 1) in ("tu", "from", "between", "giua")
                start = last.start - opened
                first = last.first.replace(year=one.first.year) if one.is_dated and not last.is_dated else last.first
                signed[-1] = Times(start, one.end, first, one.last, one.grain, one.is_dated)
                continue
            sign, size = self._sign_before(one.start, {">", ">=", "<", "<="})
            signed.append(one._replace(start=one.start - size, sign=sign or "between"))
        return signed

    def _named(self, names: Sequence[str]) -> list[Mention]:
        """The places where the file or a sheet is called by name."""
        found: list[Mention] = []
        for name in names:
            words = keys(name)
            for at in range(len(self.said) - len(words) + 1) if words else ():
                if tuple(token.key for token in self.said[at : at + len(words)]) == words:
                    found.append(Mention(at, at + len(words), "harmless"))
        return found

    def _gap(self, one: Times, two: Times) -> str:
        text = _spelt(self.question)
        return text[self.said[one.end - 1].at + len(self.said[one.end - 1].written) : self.said[two.start].at]

    def _key(self, at: int) -> str:
        return self.said[at].key if 0 <= at < len(self.said) else ""

    def _sign_before(self, start: int, wanted: set[str]) -> tuple[str, int]:
        for size in range(4, 0, -1):
            names = names_of("signs", self.said[max(start - size, 0) : start])
            if start >= size and (sign := next((name for name in names if name in wanted), "")):
                return sign, size
        return "", 0

    def _sign_behind(self, end: int) -> tuple[str, int]:
        for gap in range(3):
            for size in range(3, 0, -1):
                if names := names_of("signs_behind", self.said[end + gap : end + gap + size]):
                    return names[0], gap + size
        return "", 0

    def _bounds(self, taken: set[int], first: Sequence[Mention]) -> list[Bound]:
        found: list[Bound] = []
        numbers: list[tuple[int, int, Decimal, bool]] = []
        for one in numbers_in(_spelt(self.question), self.language):
            places = [at for at, token in enumerate(self.said) if one.start <= token.at < one.end]
            if places and not taken.intersection(places) and not one.is_share:
                numbers.append((places[0], places[-1] + 1, one.value, one.is_spelled))
        skip = False
        for at, (start, end, value, is_spelled) in enumerate(numbers):
            if skip:
                skip = False
                continue
            pair = numbers[at + 1] if at + 1 < len(numbers) else None
            if pair and (bound := self._between(start, end, value, pair)):
                found.append(bound)
                skip = True
            elif bound := self._bound(start, end, value, first):
                found.append(bound)
            elif self._is_limit(start, end, value):
                self.limit = int(value)
                found.append(Bound(start, end, "limit", (value,)))
            elif value == 1 and any(one.start == end and one.kind in ("noun", "value") for one in first):
                found.append(Bound(start, end, "one", (value,)))
            elif not is_spelled:
                raise Unread("number", self.said[start].written)
        return found

    def _between(self, start: int, end: int, value: Decimal, pair: tuple[int, int, Decimal, bool]) -> Bound | None:
        opened = self._key(start - 1) in ("tu", "from", "between", "giua", "khoang")
        gap = [token.key for token in self.said[end : pair[0]]]
        joined = [one for one in gap if one in _JOINED]
        if not opened or len(gap) > _NEAR or not joined:
            return None
        written = self.said[pair[0]].key
        if value < pair[2] and pair[1] - pair[0] > 1 and end - start == 1 and written.isdigit():
            value *= pair[2] / Decimal(written)
        return Bound(start - 1, pair[1], "between", (value, pair[2]))

    def _bound(self, start: int, end: int, value: Decimal, first: Sequence[Mention]) -> Bound | None:
        sign, size = self._sign_behind(end)
        opened = self._key(start - 1) in ("tu", "from")
        if sign:
            return Bound(start - opened, end + size, sign, (value,))
        sign, size = self._sign_before(start, {">", ">=", "<", "<="})
        if sign:
            return Bound(start - size, end, sign, (value,))
        sign, size = self._sign_before(start, {"="})
        counted = [one for one in first if one.start == end and one.kind in ("noun", "value")]
        beside = [one for one in first if one.end == start - size and self.numeric(one) and not counted]
        is_strong = size and self._key(start - 1) in _EQUAL
        return Bound(start - size, end, "=", (value,)) if beside or is_strong else None

    def _is_limit(self, start: int, end: int, value: Decimal) -> bool:
        around = [self.said[max(at, 0) : at + 1] for at in (start - 1, *range(end, end + _NEAR + 2))]
        ends = any({"max", "min"} & set(names_of("cues", one)) for one in around)
        before = self._key(start - 1) in ("top", "bottom", "first", "last")
        behind = _GAP_END in [token.key for one in around for token in one]
        return value == int(value) and 0 < value <= 100 and (ends or before or behind)

    def _gaps(self, taken: set[int]) -> list[Mention]:
        """“nhiều tiền nhất”: the two halves of one word, with what stands between them."""
        found: list[Mention] = []
        for at, token in enumerate(self.said):
            ends = [to for to in range(at + 2, at + _GAP_WORDS + 1) if self._key(to) == _GAP_END]
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

    # -- helpers over mentions

    def numeric(self, one: Mention) -> tuple[Column, ...]:
        return tuple(column for column in one.columns if column.kind == "number") if _names_columns(one) else ()

    def cues(self, *names: str) -> list[Mention]:
        return [one for one in self.mentions if one.kind == "cue" and one.name in names]

    def free(self) -> list[Mention]:
        return [one for one in self.mentions if _names_columns(one) and one not in self.used]

    def best_named(self, columns: Sequence[Column]) -> list[Column]:
        """Of several columns the one whose whole name is said, with other words between or in another order."""
        said = {token.key for token in self.said}
        whole = [column for column in columns if len(keys(column.label)) > 1 and said.issuperset(keys(column.label))]
        return whole if len(columns) > 1 and len(whole) == 1 else list(columns)

    def _is_negated(self, start: int) -> bool:
        """Whether a “not” stands before a place, with nothing but small words or a column between them."""
        for one in reversed([one for one in self.mentions if one.end <= start]):
            if one.kind == "cue" and one.name in ("not", "empty") and start - one.end <= _NEAR:
                self.used.add(one)
                return True
            if one.kind not in ("harmless", "column", "concept") or start - one.start > _NEAR:
                return False
        return False

    # -- conditions

    def filters(self) -> list[Filter]:
        """Every condition the question states, in the order of its words."""
        found = [self._by_time(group) for group in self._grouped_times()]
        found += [self._by_bound(bound) for bound in self.bounds if bound.sign not in ("limit", "one")]
        found += self._by_values()
        found += self._by_columns()
        found += self._by_emptiness()
        return [one for one in found if one is not None] + self._by_flags()

    def _grouped_times(self) -> list[list[Times]]:
        """Times that are listed beside each other are alternatives; a year beside a month belongs to it."""
        return [list(self.times)] if self.times else []

    def _by_time(self, asked: list[Times]) -> Filter:
        column = self._time_column(asked)
        if len(asked) == 2:
            self.sides = [Filter(column, *_time_values(column, [one]), said=self._written([one])) for one in asked]
        return Filter(column, *_time_values(column, asked), said=self._written(asked))

    def _written(self, asked: Sequence[Times]) -> str:
        text = _spelt(self.question)
        return ", ".join(
            text[self.said[one.start].at : self.said[one.end - 1].at + len(self.said[one.end - 1].written)]
            for one in asked
        )

    def _time_column(self, asked: Sequence[Times]) -> Column:
        fitting = [one for one in self.sheet.columns if one.kind in _TIME_KINDS and _tells(one, asked)]
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
        main = [c for c in fitting if self.lexicon.concepts[c.at] & _MAIN_DAYS]
        if len(fitting) > 1 and len(main) == 1:
            fitting = main
        if len(fitting) > 1 and fitting[0].kind == "day":
            raise Unread("columns", *(one.label for one in fitting))
        if not fitting:
            raise Unread("period", self._written(asked))
        return fitting[0]

    def _by_bound(self, bound: Bound) -> Filter:
        behind = [one for one in self.mentions if self.numeric(one) and 0 <= one.start - bound.end <= 1]
        before = [one for one in self.mentions if self.numeric(one) and 0 <= bound.start - one.end <= _NEAR + 2]
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
            near = [c for c in self.cues("empty") if c.start - one.end in range(_NEAR) or one.start - c.end in range(2)]
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


def _is_other_word(said: Sequence[Token]) -> bool:
    """Whether words look like “thứ tư” only without their marks: “thứ tự”, “thu từ”."""
    written = " ".join(token.written.lower() for token in said)
    return [token.key for token in said[:2]] == ["thu", "tu"] and not written.isascii() and not written.startswith("thứ tư")


def _spelt(question: str) -> str:
    return normalise(question)


def _places(one: Mention) -> range:
    return range(one.start, one.end)


def _names_columns(one: Mention) -> bool:
    return one.kind in ("column", "concept")


def _tells(column: Column, asked: Sequence[Times]) -> bool:
    """Whether the cells of a column are fine enough for the times that are asked for."""
    size = _MONTHS_OF[column.kind]
    if column.kind == "day":
        return True
    if column.sql_type != "DATE":
        return (
            column.kind == "year"
            and all(one.grain == "year" for one in asked)
            or column.kind != "year"
            and not any(one.grain == "year" or one.is_dated or one.grain in ("day", "week") for one in asked)
            and all(_months(one) % size == 0 for one in asked)
        )
    return all(one.grain not in ("day", "week") and _months(one) % size == 0 for one in asked)


def _months(one: Times) -> int:
    return (one.last.year - one.first.year) * 12 + one.last.month - one.first.month + 1


def _end_of(first: date, months: int) -> date:
    behind = first.month + months
    return date(first.year + (behind - 1) // 12, (behind - 1) % 12 + 1, 1) - timedelta(days=1)


def _time_values(column: Column, asked: Sequence[Times]) -> tuple[str, tuple[str, ...]]:
    """Sign and values of a condition on a column of times. Raises `Unread` where the year is not clear."""
    if column.sql_type != "DATE":
        return "in", tuple(
            str(one.first.year if column.kind == "year" else number)
            for one in asked
            for number in range((one.first.month + 2) // 3 if column.kind == "quarter" else one.first.month,
                                ((one.last.month + 2) // 3 if column.kind == "quarter" else one.last.month) + 1)
        )  # fmt: skip
    years = column.years
    if any(not one.is_dated for one in asked) and len(years) != 1:
        raise Unread("years", *map(str, years))
    spans = [(_in_year(one.first, one, years), _in_year(one.last, one, years)) for one in asked]
    sign = asked[0].sign
    if len(spans) == 1 and sign != "between":
        edge = spans[0][0] if sign in ("<", ">=") else spans[0][1]
        return sign, (edge.isoformat(),)
    if len(spans) == 1:
        return "between", (spans[0][0].isoformat(), spans[0][1].isoformat())
    days = {value for value in column.values if isinstance(value, date)}
    return "in", tuple(sorted(day.isoformat() for day in days if any(a <= day <= b for a, b in spans)))


def _in_year(day: date, one: Times, years: Sequence[int]) -> date:
    return (
        day
        if one.is_dated
        else _end_of(day.replace(year=years[0], day=1), 1)
        if (day + timedelta(1)).day == 1
        else (day.replace(year=years[0]))
    )
