"""Read a question to a table without a model: all of it is understood, or it is declined."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from app.domain.knowledge import Language
from app.tables.query import Filter, How, TableQuery, Unclear
from app.tables.reading import Reader, Unread
from app.tables.sheet import Column, Sheet
from app.tables.words import Mention, is_flag, keys, language_data

_MOST, _LEAST = ("max", "max_price", "max_time"), ("min", "min_price", "min_time")
_SUPERLATIVES = (*_MOST, *_LEAST)
_GRAINS = {"thang": "month", "month": "month", "monthly": "month", "quy": "quarter", "quarter": "quarter",
           "nam": "year", "year": "year"}  # fmt: skip
_NEAR = 3
_BEHIND = ("nao", "gi")
"""Question words that stand behind what they ask for."""
_MANY = ("most", "fewest", "least", "nhieu", "it", "dong", "the")
"""Superlatives of what is counted."""
_SIZES = frozenset(
    ("biggest", "largest", "greatest", "highest", "smallest", "lowest", "max", "maximum", "min", "minimum", "peak", "top",
     "bottom", "most", "least", "the", "lon", "nho", "cao", "thap", "nhieu", "it", "be", "nhiu")
)  # fmt: skip
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
        self.labels = [one for one in free if any(column.kind not in ("number", "day") for column in one.columns)]
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
        pinned = any(one.column.is_unique and one.sign == "in" for one in self.filters)
        return bool(
            asks
            or pinned
            or (reader.is_yes_no and self.filters)
            or (self.filters and (self.measures or self.labels or self.days))
            or self.group
        )

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
        return self._asked_grain() if reader.cues(*_SUPERLATIVES) else (None, "")

    def _asked_grain(self) -> tuple[Column | None, str]:
        """“tháng nào”, “which month” where the table has days: they are put together by it."""
        said = self.reader.said
        for at, token in enumerate(said):
            around = {one.key for one in (*said[max(at - 1, 0) : at], *said[at + 1 : at + 2])}
            grain = _GRAINS.get(token.key, "")
            column = self._time_column(grain) if grain and around & {"nao", "which", "what"} else None
            if column is not None and column.kind == "day":
                self.reader.used.update(m for m in self.reader.mentions if m.start == at and column in m.columns)
                self.reader.explained.add(at)
                return column, grain
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
            texts = [column for column in one.columns if column.kind not in ("number", "day")]
            named = [column for column in texts if "code" not in self.reader.lexicon.concepts[column.at]]
            if texts:
                return (named or texts)[0]
        if self.reader.cues("who"):
            concepts = self.reader.lexicon.concepts
            people = [c for c in self.reader.lexicon.columns_for("person") if c.is_text]
            if people:
                return min(people, key=lambda column: "code" in concepts[column.at])
        return None

    def _is_asked(self, one: Mention) -> bool:
        cues = self.reader.cues("which", "list", "count", "howmuch", "distinct", "rows")
        behind = [c for c in cues if self.reader.said[c.start].key in _BEHIND and 0 <= c.start - one.end <= 1]
        return bool(behind) or any(
            0 <= one.start - c.end <= 2 for c in cues if self.reader.said[c.start].key not in _BEHIND
        )

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
        named = self._specific(self.reader.best_named(named))
        if len(named) > 1 and (chosen := self._quantity() or self._paid(named)):
            return chosen
        if len(named) > 1:
            raise Unread("columns", *(c.label for c in named))
        numeric = [c for c in self.sheet.columns if c.kind == "number"]
        if not named and len(numeric) == 1 and self._is_of_size() and not self._speaks_of_money_alone(numeric[0]):
            named = numeric
        named = named or (self._amount() if self._is_of_size() else [])
        if not named and needed:
            raise Unread("column")
        return tuple(named)

    def _specific(self, named: list[Column]) -> list[Column]:
        """Without columns that are only meant by a word for any money, where another names an amount: “spend on fuel”."""
        exact = [c for one in self.measures if one.name not in ("money", "spent") for c in one.columns if c in named]
        return exact if exact and all(map(self.reader.lexicon.is_money, exact)) else named

    def _paid(self, named: Sequence[Column]) -> tuple[Column, ...]:
        """The one column of amounts, where the question speaks of money and calls no column by its name."""
        reader = self.reader
        money = {"money", "spent", "price", "wage"}
        says = any(one.kind == "money" or (one.kind == "concept" and one.name in money) for one in reader.mentions)
        paid = [c for c in named if reader.lexicon.is_money(c) and not self._is_averaged([c])]
        is_own = any(one.kind == "column" for one in self.numbers)
        return tuple(paid) if says and len(paid) == 1 and not is_own else ()

    def _speaks_of_money_alone(self, column: Column) -> bool:
        return any(one.kind == "money" for one in self.reader.mentions) and not self.reader.lexicon.is_money(column)

    def _is_of_size(self) -> bool:
        """Whether a superlative may be about any amount: “biggest”, not “longest”."""
        return all(self.reader.said[cue.start].key in _SIZES for cue in self.reader.cues("max", "min"))

    def _amount(self) -> list[Column]:
        """The one amount a row has: what “the biggest invoice” is about."""
        amounts = [c for c in self.reader.lexicon.columns_for("money") if c.kind == "number"]
        rest = [c for c in amounts if not self.reader.lexicon.concepts[c.at] & {"tax", "discount", "budget"}]
        return rest if len(rest) == 1 else []

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
        speaks = any(one.name == "money" for one in self.numbers)
        is_worth = speaks and bool(prices) and list(named) == prices[:1] and prices[0] not in own
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
        events = {token for noun in language_data()["event_nouns"] for token in keys(noun)}
        for cue in reader.cues("count", "howmuch"):
            if reader.said[cue.start].key == "number" and any(m.end == cue.start and m.columns for m in reader.mentions):
                continue
            behind = [one for one in self.numbers if 0 <= one.start - cue.end <= _NEAR]
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
            if cue.name == "count" and not behind or ((noun or value) and not behind and not self.measures):
                return True
        return False

    def _quantity(self) -> tuple[Column, ...]:
        """The column that says how many, where “how many” or “most” stands before a value: “how many chairs”."""
        reader = self.reader
        cues = reader.cues("count", "howmuch", *_SUPERLATIVES)
        values = [one for one in reader.mentions if one.kind == "value" and any(c.end == one.start for c in cues)]
        sold = [one for one in self.numbers if len(one.columns) > 1]
        counted = tuple(c for c in reader.lexicon.columns_for("quantity") if c.kind == "number")
        is_asked = values or (sold and any(c.name == "count" or c.name in _SUPERLATIVES for c in cues))
        return (
            counted if len(counted) == 1 and is_asked and not any(one.kind == "column" for one in self.numbers) else ()
        )

    def _plain(self, base: TableQuery) -> TableQuery:
        reader = self.reader
        how = self._how()
        if reader.cues("distinct") and base.label:
            return replace(base, how="distinct")
        if how != "sum":
            return replace(base, how=how, measure=self._measure())
        if reader.cues("count", "howmuch") and (counted := self._quantity()):
            return replace(base, measure=counted, how="sum")
        if self._counts():
            is_named = base.label is not None and not base.label.is_unique and self.group is None and not self.filters
            return replace(base, how="distinct" if is_named else "count")
        if reader.cues("sum") or self.group is not None:
            is_counted = reader.cues("count") or (self.group is not None and not self.measures and not reader.cues("sum"))
            measure = () if is_counted and not self.measures else self._measure(needed=not is_counted)
            return replace(base, how="sum" if measure else "count", measure=measure)
        return self._rows(base)

    def _rows(self, base: TableQuery) -> TableQuery:
        """The rows themselves; with one column of numbers asked for, their sum as well."""
        reader = self.reader
        if reader.is_yes_no:
            pinned = tuple(one for one in self.filters if one.column.is_unique) or tuple(
                one for one in self.filters if not is_flag(one.column)
            )
            return replace(
                base, filters=pinned, shown=tuple(one.column for one in self.filters), label=self._row_name()
            )
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
        if self.group is None and (label is None or label.is_unique or not self._is_grouped(measure, how)):
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
        counted = self._quantity() if names & {"max", "min"} else ()
        return counted or (() if self.reader.cues("count") and not self.measures else self._most_of())

    def _most_of(self) -> tuple[Column, ...]:
        """The measure of “most …”; none where rows are what there is most of: “most orders”."""
        if self.measures:
            return self._measure()
        nouns = [one for one in self.reader.mentions if one.kind == "noun" or one in self.labels]
        cues = [cue for cue in self.reader.cues(*_SUPERLATIVES) if self.reader.said[cue.start].key in _MANY]
        ends = [cue for cue in cues if any(0 <= n.start - cue.end <= 1 for n in nouns)]
        if cues and not ends and not any(one.kind == "money" for one in self.reader.mentions):
            raise Unread("column")
        return () if ends else self._measure(needed=False)

    def _is_grouped(self, measure: Sequence[Column], how: str) -> bool:
        """Whether a repeated name stands for all its rows together: of sums and counts, not of scores and prices."""
        if how != "sum" or not measure or self.reader.cues("sum"):
            return True
        return measure[0].kind == "number" and not self._is_averaged(measure)

    def _is_averaged(self, measure: Sequence[Column]) -> bool:
        """Whether values of a column say nothing when they are added: scores, prices of one."""
        concepts = {name for column in measure for name in self.reader.lexicon.concepts[column.at]}
        return bool(concepts & set(language_data()["averaged"])) and not concepts & set(language_data()["additive"])

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
        if len(sides := self.reader.sides) == 2:
            return tuple(sides)
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
        if how == "sum" and self._is_averaged(measure) and not self.reader.cues("sum"):
            how = "average"
        if how in ("average", "median"):
            if pair[0].said:
                raise Unread("difference")
            return replace(base, how=how, measure=measure or self._measure(), group=pair[0].column, sides=pair)
        return replace(base, how="difference", measure=measure, filters=rest, sides=pair)


def _single(found: list[Mention], reader: Reader) -> list[Mention]:
    """Mentions of columns of numbers, a name of its own before another word for it."""
    own = [one for one in found if one.kind == "column"]
    named = {column for one in own for column in reader.numeric(one)}
    others = [one for one in found if one.kind != "column" and not named.intersection(one.columns)]
    return own or others
