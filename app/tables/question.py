"""Read a question to a table without a model: all of it is understood, or it is declined."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property

from app.domain.knowledge import Language
from app.tables.query import Filter, How, TableQuery, Unclear
from app.tables.reading import Reader
from app.tables.sheet import Column, Sheet
from app.tables.spans import NEAR
from app.tables.words import Mention, is_flag, keys, language_data

_MOST, _LEAST = ("max", "max_time"), ("min", "min_time")
_ENDS = (*_MOST, *_LEAST)
_ASKING = ("sum", "average", "median", "count", "howmuch", "share", "difference", "which", "who", "when", "where",
           "list", "distinct", "rows")  # fmt: skip


def read_question(
    sheet: Sheet, question: str, today: date, language: Language, names: Sequence[str] = ()
) -> TableQuery | Unclear:
    """What a question asks of a table, or why that cannot be told. Never raises for odd input.

    `today` is the asker's; `language` decides how ``1.500`` is read; `names` are those of the file and its sheets.
    """
    try:
        return _Shape(Reader(sheet, question, today, language, names)).query()
    except Unclear as unclear:
        return unclear


class _Shape:
    """What is computed from the rows: the one of a few shapes that the words allow."""

    def __init__(self, reader: Reader):
        self.reader, self.sheet, self.cues, self.said = reader, reader.sheet, reader.cues, reader.said
        self.concepts = reader.lexicon.concepts
        self.group, self.grain = self._group()
        self.filters = reader.filters()
        free = reader.free()
        self.numbers = [one for one in free if one.numeric]
        # A name of its own before another word for it.
        own = [one for one in self.numbers if one.kind == "column"]
        self.measures = own or self.numbers
        self.labels = [one for one in free if any(column.kind not in ("number", "day") for column in one.columns)]
        self.days = [column for one in free for column in one.columns if column.kind == "day"]

    def query(self) -> TableQuery:
        """The query. Raises `Unclear`."""
        label = self._label_of_rows()
        base = TableQuery("rows", (), tuple(self.filters), self.group, self.grain, label=label)
        is_stated = self.filters and (self.measures or self.labels or self.days or self.reader.is_yes_no)
        if not (self.cues(*_ASKING, *_ENDS) or self._is_pinned or is_stated or self.group):
            raise Unclear("shape", is_meant=False)
        if self.cues("share"):
            return self._share(base)
        if self.cues("difference") or (self.cues("better") and self._pair()):
            return self._difference(base)
        return self._extreme(base) if self.cues(*_ENDS) else self._plain(base)

    # -- columns

    def _group(self) -> tuple[Column | None, str]:
        """The column behind “theo”, “by”, “per”, or the grain of time: “theo tháng”, “which month”."""
        for cue in self.cues("group"):
            if (found := self._of_time(cue.end)) is not None:
                return found
            for one in self.reader.mentions:
                if 0 <= one.start - cue.end <= 1 and (column := self._groupable(one)):
                    self.reader.used.add(one)
                    return column, ""
        for at in range(len(self.said)) if self.cues(*_ENDS) else ():
            around = {self.reader.key(at - 1), self.reader.key(at + 1)}
            found = self._of_time(at, needs_days=True) if around & {"nao", "which", "what"} else None
            if found is not None:
                return found
        return None, ""

    def _of_time(self, at: int, *, needs_days: bool = False) -> tuple[Column, str] | None:
        """The column of times for a word such as “month”, and what its days are put together by."""
        grain = language_data()["grains"].get(self.reader.key(at), "")
        days = [c for c in self.sheet.columns if c.kind == "day"]
        exact = [c for c in self.sheet.columns if grain and c.kind == grain]
        column = exact[0] if exact else days[0] if grain and len(days) == 1 else None
        if column is None or (needs_days and column.kind != "day"):
            return None
        self.reader.used.update(m for m in self.reader.mentions if m.start == at)
        self.reader.explained.add(at)
        return column, grain if column.kind == "day" else ""

    @staticmethod
    def _groupable(one: Mention) -> Column | None:
        columns = [c for c in one.columns if c.kind != "number"] if one.kind in ("column", "concept") else []
        repeated = [c for c in columns if not c.is_unique] or columns
        if len(repeated) > 1:
            raise Unclear("columns", *(c.label for c in repeated))
        return repeated[0] if repeated else None

    def _first_named(self, columns: Sequence[Column]) -> Column | None:
        """The first column; a name before a code."""
        return min(columns, key=lambda column: "code" in self.concepts[column.at], default=None)

    def _label_of_rows(self) -> Column | None:
        """The column that names what is asked for, else the first that names rows."""
        for one in [one for one in self.labels if self._is_asked(one)] or self.labels:
            if found := self._first_named([column for column in one.columns if column.kind not in ("number", "day")]):
                return found
        people = [c for c in self.reader.lexicon.columns_for("person") if c.is_text] if self.cues("who") else []
        return self._first_named(people)

    def _is_asked(self, one: Mention) -> bool:
        """Whether a mention stands beside a question word."""
        cues = self.cues("which", "list", "count", "howmuch", "distinct", "rows")
        is_behind = [self.said[c.start].key in language_data()["asks_behind"] for c in cues]
        gaps = [(c.start - one.end, 1) if at else (one.start - c.end, 2) for c, at in zip(cues, is_behind, strict=True)]
        return any(0 <= gap <= most for gap, most in gaps)

    def _row_name(self) -> Column | None:
        """What names a row when nobody says: a text of its own in every row, a name before a code."""
        texts = [c for c in self.sheet.columns if c.is_text]
        return self._first_named([c for c in texts if c.is_unique] or texts[:1])

    def _measure(self, *, needed: bool = True) -> tuple[Column, ...]:
        """The column that is computed with. Raises `Unclear` where several fit, and where none does but one must."""
        named = list(dict.fromkeys(c for one in self.measures for c in one.numeric))
        if len(named) > 1 and (chosen := self._quantity()):
            return chosen
        # Worth is asked for, and the table has prices of one and how many there are.
        own = {c for one in self.measures if one.kind == "column" for c in one.columns}
        prices = [c for c in named if "price" in self.concepts[c.at] and c not in own]
        counted = [c for c in self.sheet.columns if c.kind == "number" and "quantity" in self.concepts[c.at]]
        if prices and counted and any(one.name == "money" for one in self.numbers):
            raise Unclear("columns", *(c.label for c in (*prices, *counted)))
        if len(named) > 1:
            raise Unclear("columns", *(c.label for c in named))
        numeric = [c for c in self.sheet.columns if c.kind == "number"]
        is_of_size = all(self.said[cue.start].key in language_data()["sizes"] for cue in self.cues("max", "min"))
        named = named or (numeric if len(numeric) == 1 and is_of_size else [])
        if not named and needed:
            raise Unclear("column")
        return tuple(named)

    def _quantity(self) -> tuple[Column, ...]:
        """The column that says how many, where “how many” or “most” stands before a value: “how many chairs”."""
        cues = self.cues("count", "howmuch", *_ENDS)
        is_valued = any(one.kind == "value" and c.end == one.start for one in self.reader.mentions for c in cues)
        is_sold = any(len(one.columns) > 1 for one in self.numbers) and self.cues("count", *_ENDS)
        counted = tuple(c for c in self.reader.lexicon.columns_for("quantity") if c.kind == "number")
        is_named = any(one.kind == "column" for one in self.numbers)
        return counted if len(counted) == 1 and (is_valued or is_sold) and not is_named else ()

    def _is_averaged(self, measure: Sequence[Column]) -> bool:
        """Whether values of a column say nothing when they are added: scores, prices of one."""
        concepts = {name for column in measure for name in self.concepts[column.at]}
        return bool(concepts & {*language_data()["averaged"]}) and not concepts & {*language_data()["additive"]}

    # -- shapes

    @property
    def _is_pinned(self) -> bool:
        """Whether a condition names single rows."""
        return any(one.column.is_unique and one.sign == "in" for one in self.filters)

    @cached_property
    def _how(self) -> How:
        """The one operation that is named; sums where none is. Raises `Unclear` for two."""
        operations: tuple[How, ...] = ("average", "median", "sum")
        found = [name for name in operations if self.cues(name)]
        if len(found) > 1:
            raise Unclear("several")
        return found[0] if found else "sum"

    def _counts(self) -> bool:
        """Whether rows are counted: “how many” with no column of numbers behind it."""
        events = {token for noun in language_data()["event_nouns"] for token in keys(noun)}
        named = {key for one in self.numbers for column in one.columns for key in keys(column.label)}
        for cue in self.cues("count", "howmuch"):
            before = [one for one in self.reader.mentions if one.end == cue.start and one.columns]
            if before and self.said[cue.start].key == "number":
                continue
            behind = any(0 <= one.start - cue.end <= NEAR for one in self.numbers)
            nouns = [one for one in self.reader.mentions if one.start == cue.end and one.kind == "noun"]
            if any(self.said[at].key in events - named for one in nouns for at in one.places):
                return True
            beside = nouns or [one for one in self.reader.mentions if one.start == cue.end and one.kind == "value"]
            beside = beside or [one for one in self.labels if one.start == cue.end]
            if not behind and (cue.name == "count" or (beside and not self.measures)):
                return True
        return False

    def _plain(self, base: TableQuery) -> TableQuery:
        if self.cues("distinct") and base.label:
            return replace(base, how="distinct")
        if self._how != "sum":
            return replace(base, how=self._how, measure=self._measure())
        if self.cues("count", "howmuch") and (counted := self._quantity()):
            return replace(base, measure=counted, how="sum")
        if self._counts():
            is_named = base.label is not None and not base.label.is_unique and self.group is None and not self.filters
            return replace(base, how="distinct" if is_named else "count")
        if self.cues("sum") or self.group is not None:
            is_counted = not self.measures and (self.cues("count") or (self.group and not self.cues("sum")))
            measure = () if is_counted else self._measure()
            return replace(base, how="sum" if measure else "count", measure=measure)
        return self._rows(base)

    def _rows(self, base: TableQuery) -> TableQuery:
        """The rows themselves; with one column of numbers asked for, their sum as well."""
        if self.reader.is_yes_no:
            unique = tuple(one for one in self.filters if one.column.is_unique)
            pinned = unique or tuple(one for one in self.filters if not is_flag(one.column))
            if not pinned:
                raise Unclear("condition")
            shown = tuple(one.column for one in self.filters)
            return replace(base, filters=pinned, shown=shown, label=self._row_name())
        if not self.filters:
            if base.label and self.cues("which", "list", "who") and not self.measures:
                return replace(base, group=base.label, how="count")
            raise Unclear("condition", is_meant=bool(self.measures))
        shown = tuple(dict.fromkeys(c for one in self.reader.free() for c in one.columns))
        asks = self.cues("howmuch", "which", "who", "when", "where", "list", "rows")
        names_rows = base.label or self.cues("list", "who", "when", "where", "rows", "howmuch")
        if not shown and not (names_rows if asks else self._is_pinned):
            raise Unclear("column")
        is_amount = self.cues("howmuch", "which") and not any(map(self._is_asked, self.labels))
        measure = self._measure(needed=False) if self.measures and (is_amount or not asks) else ()
        if self.cues("howmuch") and not shown and not measure:
            measure = self._measure()
        return replace(base, measure=measure, shown=shown, label=base.label or self._row_name())

    def _extreme(self, base: TableQuery) -> TableQuery:
        """The row or group at an end."""
        is_most, is_least = bool(self.cues(*_MOST)), bool(self.cues(*_LEAST))
        if is_most and is_least:
            raise Unclear("several")
        place = 2 if self.cues("second") else 1
        base = replace(base, order="most" if is_most else "least", limit=self.reader.limit, place=place)
        measure, label = self._extreme_measure(), base.label
        # A repeated name stands for all its rows together: of sums and counts, not of scores and prices.
        is_added = measure and measure[0].kind == "number" and not self._is_averaged(measure)
        is_grouped = self._how != "sum" or not measure or self.cues("sum") or is_added
        if self.group is None and (label is None or label.is_unique or not is_grouped):
            if not measure:
                raise Unclear("column")
            return replace(base, measure=measure, label=label or self._row_name(), shown=tuple(self.days))
        return replace(base, how=self._how if measure else "count", measure=measure, group=self.group or label)

    def _extreme_measure(self) -> tuple[Column, ...]:
        """The measure of “most …”; none where rows are what there is most of: “most orders”."""
        if self.cues("max_time", "min_time"):
            days = self.days or [c for c in self.sheet.columns if c.kind in ("day", "year")]
            if len(set(days)) != 1:
                raise Unclear("columns" if days else "column", *(c.label for c in days))
            return (days[0],)
        if (counted := self._quantity()) or (self.cues("count") and not self.measures):
            return counted
        if self.measures:
            return self._measure()
        nouns = [one for one in self.reader.mentions if one.kind == "noun" or one in self.labels]
        cues = [cue for cue in self.cues(*_ENDS) if self.said[cue.start].key in language_data()["many"]]
        ends = any(0 <= noun.start - cue.end <= 1 for cue in cues for noun in nouns)
        if cues and not ends:
            raise Unclear("column")
        return () if ends else self._measure(needed=False)

    def _share(self, base: TableQuery) -> TableQuery:
        """What part of the whole some rows are; times belong to the whole."""
        part = [one for one in self.filters if one.column.kind not in ("day", "month", "quarter", "year")]
        if len(part) != 1:
            raise Unclear("share")
        whole = tuple(one for one in self.filters if one is not part[0])
        measure = self._measure(needed=False) if self.measures else ()
        return replace(base, how="share", measure=measure, filters=whole, sides=(part[0],), group=None)

    def _pair(self) -> tuple[Filter, ...]:
        if self.reader.sides:
            return tuple(self.reader.sides)
        two = [one for one in self.filters if one.sign == "in" and len(one.values) == 2 and one.column.is_text]
        return tuple(replace(two[0], values=(value,)) for value in two[0].values) if len(two) == 1 else ()

    def _difference(self, base: TableQuery) -> TableQuery:
        pair, how = self._pair(), self._how
        measure = () if self._counts() or not pair else self._measure(needed=False)
        if how == "sum" and self._is_averaged(measure) and not self.cues("sum"):
            how = "average"
        if not pair or (how != "sum" and pair[0].said):
            raise Unclear("difference")
        if how != "sum":
            return replace(base, how=how, measure=measure or self._measure(), group=pair[0].column, sides=pair)
        rest = tuple(one for one in self.filters if one.column is not pair[0].column)
        return replace(base, how="difference", measure=measure, filters=rest, sides=pair)
