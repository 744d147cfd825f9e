"""Read a question to a table without a model: all of it is understood, or it is declined."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from app.domain.knowledge import Language
from app.tables.columns import LEAST, MOST, SUPERLATIVES, Columns
from app.tables.query import Filter, How, TableQuery, Unclear, Unread
from app.tables.reading import Reader
from app.tables.sheet import Column, Sheet
from app.tables.spans import NEAR
from app.tables.words import Mention, is_flag, keys, language_data

_ASKING = (
    "sum", "average", "median", "count", "howmuch", "share", "difference", "which", "who", "when", "where", "list",
    "distinct", "rows",
)  # fmt: skip
_MANY = ("most", "fewest", "least", "nhieu", "it", "dong", "the")
"""Superlatives of what is counted."""


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


class _Shape(Columns):
    """What is computed from the rows: the one of a few shapes that the words allow."""

    def query(self) -> TableQuery:
        """The query. Raises `Unread`."""
        reader = self.reader
        base = TableQuery("rows", (), tuple(self.filters), self.group, self.grain, label=self.label_of_rows())
        if not self._asks_anything():
            raise Unread("shape", is_meant=False)
        if reader.cues("share"):
            return self._share(base)
        if reader.cues("difference") or (reader.cues("better") and self._pair()):
            return self._difference(base)
        if superlatives := reader.cues(*SUPERLATIVES):
            return self._extreme(base, superlatives)
        return self._plain(base)

    def _asks_anything(self) -> bool:
        """Whether there is a question at all: a word that asks, or a condition with a column."""
        reader = self.reader
        asks = reader.cues(*_ASKING, *SUPERLATIVES)
        pinned = any(one.column.is_unique and one.sign == "in" for one in self.filters)
        return bool(
            asks
            or pinned
            or (reader.is_yes_no and self.filters)
            or (self.filters and (self.measures or self.labels or self.days))
            or self.group
        )

    def _how(self) -> How:
        """The one operation that is named; sums where none is. Raises `Unread` for two."""
        found = [name for name in ("average", "median", "sum") if self.reader.cues(name)]
        if len(found) > 1:
            raise Unread("several")
        return "average" if "average" in found else "median" if "median" in found else "sum"

    def _counts(self) -> bool:
        """Whether rows are counted: “how many” with no column of numbers behind it."""
        reader = self.reader
        events = {token for noun in language_data()["event_nouns"] for token in keys(noun)}
        for cue in reader.cues("count", "howmuch"):
            if reader.said[cue.start].key == "number" and any(
                m.end == cue.start and m.columns for m in reader.mentions
            ):
                continue
            behind = [one for one in self.numbers if 0 <= one.start - cue.end <= NEAR]
            noun = [
                one for one in reader.mentions if one.start == cue.end and (one.kind == "noun" or one in self.labels)
            ]
            value = [one for one in reader.mentions if one.kind == "value" and one.start == cue.end]
            named = {key for one in self.numbers for column in one.columns for key in keys(column.label)}
            if (
                noun
                and noun[0].kind == "noun"
                and {t.key for t in reader.said[cue.end : noun[0].end]} & (events - named)
            ):
                return True
            if (cue.name == "count" and not behind) or ((noun or value) and not behind and not self.measures):
                return True
        return False

    def _plain(self, base: TableQuery) -> TableQuery:
        reader = self.reader
        how = self._how()
        if reader.cues("distinct") and base.label:
            return replace(base, how="distinct")
        if how != "sum":
            return replace(base, how=how, measure=self.measure())
        if reader.cues("count", "howmuch") and (counted := self.quantity()):
            return replace(base, measure=counted, how="sum")
        if self._counts():
            is_named = base.label is not None and not base.label.is_unique and self.group is None and not self.filters
            return replace(base, how="distinct" if is_named else "count")
        if reader.cues("sum") or self.group is not None:
            is_counted = reader.cues("count") or (
                self.group is not None and not self.measures and not reader.cues("sum")
            )
            measure = () if is_counted and not self.measures else self.measure(needed=not is_counted)
            return replace(base, how="sum" if measure else "count", measure=measure)
        return self._rows(base)

    def _rows(self, base: TableQuery) -> TableQuery:
        """The rows themselves; with one column of numbers asked for, their sum as well."""
        reader = self.reader
        if reader.is_yes_no:
            pinned = tuple(one for one in self.filters if one.column.is_unique) or tuple(
                one for one in self.filters if not is_flag(one.column)
            )
            if not pinned:
                raise Unread("condition")
            return replace(base, filters=pinned, shown=tuple(one.column for one in self.filters), label=self.row_name())
        if not self.filters:
            labels = base.label and reader.cues("which", "list", "who")
            if labels and not self.measures:
                return replace(base, group=base.label, how="count")
            raise Unread("condition", is_meant=bool(self.measures))
        shown = [c for one in reader.free() for c in one.columns if one.kind != "value"]
        asks = reader.cues("howmuch", "which", "who", "when", "where", "list", "rows")
        is_pinned = any(one.column.is_unique and one.sign == "in" for one in self.filters)
        names_rows = base.label or reader.cues("list", "who", "when", "where", "rows", "howmuch")
        if not shown and not (names_rows if asks else is_pinned):
            raise Unread("column")
        asked = [one for one in self.labels if self.is_asked(one)]
        is_amount = reader.cues("howmuch", "which") and self.measures and not asked
        measure = self.measure(needed=False) if is_amount or (self.measures and not asks) else ()
        if reader.cues("howmuch") and not shown and not measure:
            measure = self.measure()
        return replace(base, measure=measure, shown=tuple(dict.fromkeys(shown)), label=base.label or self.row_name())

    def _extreme(self, base: TableQuery, cues: Sequence[Mention]) -> TableQuery:
        """The row or group at an end; of both ends the distance."""
        reader = self.reader
        names = {cue.name for cue in cues}
        if names & set(MOST) and names & set(LEAST):
            raise Unread("several")
        base = replace(base, order="most" if names & set(MOST) else "least")
        base = replace(base, limit=reader.limit, place=2 if reader.cues("second") else 1)
        measure = self._extreme_measure(names)
        label = base.label
        how: How = self._how()
        if self.group is None and (label is None or label.is_unique or not self._is_grouped(measure, how)):
            if not measure:
                raise Unread("column")
            return replace(base, measure=measure, label=label or self.row_name(), shown=tuple(self.days))
        group = self.group or label
        return replace(base, how=how if measure else "count", measure=measure, group=group)

    def _extreme_measure(self, names: set[str]) -> tuple[Column, ...]:
        if names & {"max_time", "min_time"}:
            days = self.days or [c for c in self.sheet.columns if c.kind in ("day", "year")]
            if len(set(days)) != 1:
                raise Unread("columns" if days else "column", *(c.label for c in days))
            return (days[0],)
        counted = self.quantity() if names & {"max", "min"} else ()
        return counted or (() if self.reader.cues("count") and not self.measures else self._most_of())

    def _most_of(self) -> tuple[Column, ...]:
        """The measure of “most …”; none where rows are what there is most of: “most orders”."""
        if self.measures:
            return self.measure()
        nouns = [one for one in self.reader.mentions if one.kind == "noun" or one in self.labels]
        cues = [cue for cue in self.reader.cues(*SUPERLATIVES) if self.reader.said[cue.start].key in _MANY]
        ends = [cue for cue in cues if any(0 <= n.start - cue.end <= 1 for n in nouns)]
        if cues and not ends:
            raise Unread("column")
        return () if ends else self.measure(needed=False)

    def _is_grouped(self, measure: Sequence[Column], how: str) -> bool:
        """Whether a repeated name stands for all its rows together: of sums and counts, not of scores and prices."""
        if how != "sum" or not measure or self.reader.cues("sum"):
            return True
        return measure[0].kind == "number" and not self.is_averaged(measure)

    def _share(self, base: TableQuery) -> TableQuery:
        """What part of the whole some rows are; conditions behind “of” and times belong to the whole."""
        measure = self.measure(needed=False) if self.measures or self.reader.cues("sum", "howmuch") else ()
        measure = measure if self.measures else ()
        part = [one for one in self.filters if one.column.kind not in ("day", "month", "quarter", "year")]
        if len(part) != 1:
            raise Unread("share")
        whole = tuple(one for one in self.filters if one is not part[0])
        return replace(base, how="share", measure=measure, filters=whole, sides=(part[0],), group=None)

    def _pair(self) -> tuple[Filter, ...]:
        if len(sides := self.reader.sides) == 2:
            return tuple(sides)
        two = [one for one in self.filters if one.sign == "in" and len(one.values) == 2 and one.column.is_text]
        return tuple(replace(two[0], values=(value,)) for value in two[0].values) if len(two) == 1 else ()

    def _difference(self, base: TableQuery) -> TableQuery:
        pair = self._pair()
        how = self._how()
        if not pair:
            raise Unread("difference")
        measure = () if self._counts() else self.measure(needed=False)
        rest = tuple(one for one in self.filters if one.column is not pair[0].column)
        if how == "sum" and self.is_averaged(measure) and not self.reader.cues("sum"):
            how = "average"
        if how in ("average", "median"):
            if pair[0].said:
                raise Unread("difference")
            return replace(base, how=how, measure=measure or self.measure(), group=pair[0].column, sides=pair)
        return replace(base, how="difference", measure=measure, filters=rest, sides=pair)
