"""Read a question to a table without a model: all of it is understood, or it is declined."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from app.domain.knowledge import Language
from app.tables.query import Filter, How, TableQuery, Unclear
from app.tables.reading import Reader, Unread
from app.tables.sheet import Column, Sheet
from app.tables.words import Mention, language_data

_MOST, _LEAST = ("max", "max_price", "max_time"), ("min", "min_price", "min_time")
_SUPERLATIVES = (*_MOST, *_LEAST)
_GRAINS = {"thang": "month", "month": "month", "monthly": "month", "quy": "quarter", "quarter": "quarter",
           "nam": "year", "year": "year"}  # fmt: skip
_NEAR = 3
_BEHIND = ("nao", "gi")
"""Question words that stand behind what they ask for."""
_COUNTED = {"quantity", "stock", "imported", "exported"}


def read_question(
    sheet: Sheet, question: str, today: date, language: Language, names: Sequence[str] = ()
) -> TableQuery | Unclear:
    """What a question asks of a table, or why that cannot be told. Never raises for odd input.

    Args:
        sheet: The table.
        question: As it was asked.
        today: The asker's day.
        language: The asker's; it decides how ``1.500`` is read.
        names: Of the file and its sheets.
    """
    try:
        return _Shape(Reader(sheet, question, today, language, names)).query()
    except Unread as unread:
        return unread.unclear


class _Shape:
    """What is computed from the rows: the one of a few shapes that the words allow."""

    def __init__(self, reader: Reader):
        self.reader, self.sheet = reader, reader.sheet
        self.group, self.grain = self._group()
        self.filters = reader.filters()
        reader.check_words()
        free = reader.free()
        self.numbers = [one for one in free if reader.numeric(one)]
        self.measures = _single(self.numbers, reader)
        self.labels = [one for one in free if any(column.is_text for column in one.columns)]
        self.days = [column for one in free for column in one.columns if column.kind == "day"]

    def query(self) -> TableQuery:
        """The query. Raises `Unread`."""
        reader = self.reader
        base = TableQuery("rows", (), tuple(self.filters), self.group, self.grain, label=self._label())
        if not self._asks_anything():
            raise Unread("shape", is_meant=False)
        if reader.cues("share"):
            return self._share(base)
        if reader.cues("difference") or (reader.cues("better") and self._pair()):
            return self._difference(base)
        if superlatives := reader.cues(*_SUPERLATIVES):
            return self._extreme(base, superlatives)
        return self._plain(base)

    def _asks_anything(self) -> bool:
        reader = self.reader
        asks = reader.cues("sum", "average", "median", "count", "howmuch", "share", "difference", "which", "who", "when",
                           "where", "list", "distinct", "rows", *_SUPERLATIVES)  # fmt: skip
        return bool(asks or (self.filters and (self.measures or self.labels or self.days)) or self.group)

    # -- columns

    def _group(self) -> tuple[Column | None, str]:
        """The column behind “theo”, “by”, “per”, or the grain of time."""
        reader = self.reader
        for cue in reader.cues("group"):
            for one in reader.mentions:
                grain = next((_GRAINS[t.key] for t in reader.said[cue.end : cue.end + 1] if t.key in _GRAINS), "")
                if grain and (column := self._time_column(grain)):
                    reader.used.update(m for m in reader.mentions if m.start == cue.end)
                    return column, grain if column.kind == "day" else ""
                if 0 <= one.start - cue.end <= 1 and (column := self._groupable(one)):
                    reader.used.add(one)
                    return column, ""
        return None, ""

    def _groupable(self, one: Mention) -> Column | None:
        columns = [c for c in one.columns if c.kind != "number"] if one.kind in ("column", "concept") else []
        repeated = [c for c in columns if not c.is_unique] or columns
        if len(repeated) > 1:
            raise Unread("columns", *(c.label for c in repeated))
        return repeated[0] if repeated else None

    def _time_column(self, grain: str) -> Column | None:
        exact = [c for c in self.sheet.columns if c.kind == grain]
        days = [c for c in self.sheet.columns if c.kind == "day"]
        return exact[0] if exact else days[0] if len(days) == 1 else None

    def _label(self) -> Column | None:
        """The column that names what is asked for, else the first that names rows."""
        asked = [one for one in self.labels if self._is_asked(one)] or self.labels
        for one in asked:
            texts = [column for column in one.columns if column.is_text]
            named = [column for column in texts if "code" not in self.reader.lexicon.concepts[column.at]]
            if texts:
                return (named or texts)[0]
        if self.reader.cues("who"):
            people = [c for c in self.reader.lexicon.columns_for("person") if c.is_text]
            if people:
                return people[0]
        return None

    def _is_asked(self, one: Mention) -> bool:
        cues = self.reader.cues("which", "list", "count", "howmuch", "distinct", "rows")
        behind = [c for c in cues if self.reader.said[c.start].key in _BEHIND and 0 <= c.start - one.end <= 1]
        return bool(behind) or any(0 <= one.start - c.end <= 2 for c in cues if self.reader.said[c.start].key not in _BEHIND)

    def _row_name(self) -> Column | None:
        """What names a row when nobody says: a text of its own in every row, a name before a code."""
        texts = [c for c in self.sheet.columns if c.is_text]
        unique = [c for c in texts if c.is_unique]
        named = [c for c in unique if "code" not in self.reader.lexicon.concepts[c.at]]
        return next(iter([*named, *unique, *texts]), None)

    def _measure(self, *, needed: bool = True) -> tuple[Column, ...]:
        """The column that is computed with. Raises `Unread` where several fit, and where none does but one must."""
        named = list(dict.fromkeys(c for one in self.measures for c in self.reader.numeric(one)))
        if product := self._product(named):
            return product
        if len(named) > 1:
            raise Unread("columns", *(c.label for c in named))
        numeric = [c for c in self.sheet.columns if c.kind == "number"]
        if not named and len(numeric) == 1:
            named = numeric
        if not named and needed:
            raise Unread("column")
        return tuple(named)

    def _product(self, named: Sequence[Column]) -> tuple[Column, ...]:
        """Quantity times price: where both are named, or what is asked is worth and no column tells it."""
        concepts = self.reader.lexicon.concepts
        numeric = [c for c in self.sheet.columns if c.kind == "number"]
        prices = [c for c in numeric if "price" in concepts[c.at]]
        counted = [c for c in numeric if _COUNTED & concepts[c.at] and c not in prices]
        said = {token.key for token in self.reader.said}
        own = {c for one in self.measures if one.kind == "column" for c in one.columns}
        if len(named) == 2 and len(prices) == 1 and prices[0] in named:
            other = next(c for c in named if c is not prices[0])
            is_worth = prices[0] not in own or {"time", "nhan", "x", "multiplied"} & said
            return (other, prices[0]) if other in counted and is_worth else ()
        is_worth = bool(prices) and list(named) == prices[:1] and prices[0] not in own and self.reader.cues("sum", "howmuch")
        if not is_worth or not counted or any("money" in concepts[c.at] and c not in prices for c in numeric):
            return ()
        if len(counted) > 1:
            raise Unread("columns", *(c.label for c in counted))
        return (counted[0], prices[0])

    # -- shapes

    def _how(self) -> How:
        reader = self.reader
        found: list[How] = [how for how in ("average", "median") if reader.cues(how)]  # type: ignore[misc]
        if len(found) > 1 or (found and reader.cues("sum") and not self._is_word_of_column("sum")):
            raise Unread("several")
        return found[0] if found else "sum"

    def _is_word_of_column(self, name: str) -> bool:
        return bool(self.measures) or bool(name)

    def _counts(self) -> bool:
        """Whether rows are counted: “how many” with no column of numbers behind it."""
        reader = self.reader
        for cue in reader.cues("count", "howmuch"):
            behind = [one for one in self.numbers if 0 <= one.start - cue.end <= _NEAR]
            noun = [one for one in reader.mentions if one.start == cue.end and (one.kind == "noun" or one in self.labels)]
            value = [one for one in reader.mentions if one.kind == "value" and one.start == cue.end]
            if cue.name == "count" and not behind or ((noun or value) and not behind and not self.measures):
                return True
        return False

    def _plain(self, base: TableQuery) -> TableQuery:
        reader = self.reader
        how = self._how()
        if reader.cues("distinct") and base.label:
            return replace(base, how="distinct")
        if how != "sum":
            return replace(base, how=how, measure=self._measure())
        if self._counts():
            is_named = base.label is not None and not base.label.is_unique and self.group is None and not self.filters
            return replace(base, how="distinct" if is_named else "count")
        if reader.cues("sum") or self.group is not None:
            measure = self._measure(needed=not reader.cues("count"))
            return replace(base, how="sum" if measure else "count", measure=measure)
        return self._rows(base)

    def _rows(self, base: TableQuery) -> TableQuery:
        """The rows themselves; with one column of numbers asked for, their sum as well."""
        reader = self.reader
        if not self.filters:
            labels = base.label and reader.cues("which", "list", "who")
            if labels and not self.measures:
                return replace(base, group=base.label, how="count")
            raise Unread("condition", is_meant=bool(self.measures))
        shown = [c for one in reader.free() for c in one.columns if one.kind != "value"]
        asks = reader.cues("howmuch", "which", "who", "when", "where", "list", "rows")
        if not asks and not shown:
            raise Unread("column")
        asked = [one for one in self.labels if self._is_asked(one)]
        is_amount = reader.cues("howmuch", "which") and self.measures and not asked
        measure = self._measure(needed=False) if is_amount or (self.measures and not asks) else ()
        if reader.cues("howmuch") and not shown and not measure:
            measure = self._measure()
        return replace(base, measure=measure, shown=tuple(dict.fromkeys(shown)), label=base.label or self._row_name())

    def _extreme(self, base: TableQuery, cues: Sequence[Mention]) -> TableQuery:
        """The row or group at an end; of both ends the distance."""
        reader = self.reader
        names = {cue.name for cue in cues}
        if names & set(_MOST) and names & set(_LEAST):
            raise Unread("several")
        order = "most" if names & set(_MOST) else "least"
        if "bottom" in {reader.said[cue.start].key for cue in cues}:
            order = "least"
        base = replace(base, order=order, limit=reader.limit, place=2 if reader.cues("second") else 1)
        measure = self._extreme_measure(names)
        label = base.label
        how: How = self._how()
        if label is None or label.is_unique or (self.group is None and not self._is_grouped(measure, how)):
            if not measure:
                raise Unread("column")
            return replace(base, measure=measure, label=label or self._row_name(), shown=tuple(self.days))
        group = self.group or label
        return replace(base, how=how if measure else "count", measure=measure, group=group)

    def _extreme_measure(self, names: set[str]) -> tuple[Column, ...]:
        if names & {"max_time", "min_time"}:
            days = self.days or [c for c in self.sheet.columns if c.kind in ("day", "year")]
            if len(set(days)) != 1:
                raise Unread("columns" if days else "column", *(c.label for c in days))
            return (days[0],)
        if names & {"max_price", "min_price"} and not self.measures:
            prices = self.reader.lexicon.columns_for("price") or self.reader.lexicon.columns_for("money")
            prices = tuple(c for c in prices if c.kind == "number")
            if len(prices) != 1:
                raise Unread("columns" if prices else "column", *(c.label for c in prices))
            return prices
        return () if self.reader.cues("count") and not self.measures else self._most_of()

    def _most_of(self) -> tuple[Column, ...]:
        """The measure of “most …”; none where rows are what there is most of: “most orders”."""
        if self.measures:
            return self._measure()
        nouns = [one for one in self.reader.mentions if one.kind == "noun" or one in self.labels]
        ends = [cue for cue in self.reader.cues(*_SUPERLATIVES) if any(0 <= n.start - cue.end <= 1 for n in nouns)]
        return () if ends else self._measure(needed=False)

    def _is_grouped(self, measure: Sequence[Column], how: str) -> bool:
        """Whether a repeated name stands for all its rows together: of sums and counts, not of scores and prices."""
        if how != "sum" or not measure or self.reader.cues("sum"):
            return True
        averaged = set(language_data()["averaged"])
        concepts = self.reader.lexicon.concepts[measure[0].at]
        return measure[0].kind == "number" and not (concepts & averaged and not concepts & set(language_data()["additive"]))

    def _share(self, base: TableQuery) -> TableQuery:
        """What part of the whole some rows are; conditions behind “of” and times belong to the whole."""
        measure = self._measure(needed=False) if self.measures or self.reader.cues("sum", "howmuch") else ()
        measure = measure if self.measures else ()
        part = [one for one in self.filters if one.column.kind not in ("day", "month", "quarter", "year")]
        if len(part) > 1:
            flags = [one for one in part if one is self.filters[-1]]
            part = flags if len(flags) == 1 else part
        if len(part) != 1:
            raise Unread("share")
        whole = tuple(one for one in self.filters if one is not part[0])
        return replace(base, how="share", measure=measure, filters=whole, sides=(part[0],), group=None)

    def _pair(self) -> tuple[Filter, ...]:
        two = [one for one in self.filters if one.sign == "in" and len(one.values) == 2 and one.column.is_text]
        return tuple(replace(two[0], values=(value,)) for value in two[0].values) if len(two) == 1 else ()

    def _difference(self, base: TableQuery) -> TableQuery:
        pair = self._pair()
        how = self._how()
        if not pair:
            named = list(dict.fromkeys(c for one in self.measures for c in self.reader.numeric(one)))
            if len(named) != 2:
                raise Unread("difference")
            return replace(base, how="difference", measure=tuple(named))
        measure = () if self._counts() else self._measure(needed=False)
        rest = tuple(one for one in self.filters if one.column is not pair[0].column)
        concepts = {name for c in measure for name in self.reader.lexicon.concepts[c.at]}
        if measure and how == "sum" and concepts & set(language_data()["averaged"]) and not self.reader.cues("sum"):
            how = "average"
        if how in ("average", "median"):
            return replace(base, how=how, measure=measure or self._measure(), group=pair[0].column, sides=pair)
        return replace(base, how="difference", measure=measure, filters=rest, sides=pair)


def _single(found: list[Mention], reader: Reader) -> list[Mention]:
    """Mentions of columns of numbers, a name of its own before another word for it."""
    own = [one for one in found if one.kind == "column"]
    named = {column for one in own for column in reader.numeric(one)}
    others = [one for one in found if one.kind != "column" and not named.intersection(one.columns)]
    return own or others
