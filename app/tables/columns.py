"""Choose the columns a question asks for: what is computed with, what names the rows, what they are put together by."""

from collections.abc import Sequence

from app.tables.query import Unread
from app.tables.reading import Reader
from app.tables.sheet import Column
from app.tables.words import Mention, language_data

MOST, LEAST = ("max", "max_time"), ("min", "min_time")
SUPERLATIVES = (*MOST, *LEAST)
_GRAINS = {"thang": "month", "month": "month", "monthly": "month", "quy": "quarter", "quarter": "quarter",
           "nam": "year", "year": "year"}  # fmt: skip
_BEHIND = ("nao", "gi")
"""Question words that stand behind what they ask for."""
_SIZES = frozenset(
    ("biggest", "largest", "greatest", "highest", "smallest", "lowest", "max", "maximum", "min", "minimum", "peak",
     "top", "bottom", "most", "least", "the", "lon", "nho", "cao", "thap", "nhieu", "it", "be", "nhiu")
)  # fmt: skip


class Columns:
    """The columns one question speaks of, besides those of its conditions."""

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

    def _group(self) -> tuple[Column | None, str]:
        """The column behind “theo”, “by”, “per”, or the grain of time."""
        reader = self.reader
        for cue in reader.cues("group"):
            for one in reader.mentions:
                grain = next((_GRAINS[t.key] for t in reader.said[cue.end : cue.end + 1] if t.key in _GRAINS), "")
                if grain and (column := self._time_column(grain)):
                    reader.used.update(m for m in reader.mentions if m.start == cue.end)
                    reader.explained.add(cue.end)
                    return column, grain if column.kind == "day" else ""
                if 0 <= one.start - cue.end <= 1 and (column := self._groupable(one)):
                    reader.used.add(one)
                    return column, ""
        return self._asked_grain() if reader.cues(*SUPERLATIVES) else (None, "")

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

    def label_of_rows(self) -> Column | None:
        """The column that names what is asked for, else the first that names rows."""
        asked = [one for one in self.labels if self.is_asked(one)] or self.labels
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

    def is_asked(self, one: Mention) -> bool:
        """Whether a mention stands beside a question word."""
        cues = self.reader.cues("which", "list", "count", "howmuch", "distinct", "rows")
        behind = [c for c in cues if self.reader.said[c.start].key in _BEHIND and 0 <= c.start - one.end <= 1]
        return bool(behind) or any(
            0 <= one.start - c.end <= 2 for c in cues if self.reader.said[c.start].key not in _BEHIND
        )

    def row_name(self) -> Column | None:
        """What names a row when nobody says: a text of its own in every row, a name before a code."""
        texts = [c for c in self.sheet.columns if c.is_text]
        unique = [c for c in texts if c.is_unique]
        named = [c for c in unique if "code" not in self.reader.lexicon.concepts[c.at]]
        return next(iter([*named, *unique, *texts]), None)

    def measure(self, *, needed: bool = True) -> tuple[Column, ...]:
        """The column that is computed with. Raises `Unread` where several fit, and where none does but one must."""
        named = list(dict.fromkeys(c for one in self.measures for c in self.reader.numeric(one)))
        best = [c for c in self.reader.best_named(named) if all(c in one.columns for one in self.measures)]
        named = best if len(best) == 1 else named
        if len(named) > 1 and (chosen := self.quantity()):
            return chosen
        self._refuse_prices_of_one(named)
        if len(named) > 1:
            raise Unread("columns", *(c.label for c in named))
        numeric = [c for c in self.sheet.columns if c.kind == "number"]
        named = named or (numeric if len(numeric) == 1 and self._is_of_size() else [])
        if not named and needed:
            raise Unread("column")
        return tuple(named)

    def _is_of_size(self) -> bool:
        """Whether a superlative may be about any amount: “biggest”, not “longest”."""
        return all(self.reader.said[cue.start].key in _SIZES for cue in self.reader.cues("max", "min"))

    def _refuse_prices_of_one(self, named: Sequence[Column]) -> None:
        """Raise `Unread` where worth is asked for and the table has prices of one and how many there are."""
        concepts = self.reader.lexicon.concepts
        own = {c for one in self.measures if one.kind == "column" for c in one.columns}
        prices = [c for c in named if "price" in concepts[c.at] and c not in own]
        counted = [c for c in self.sheet.columns if c.kind == "number" and "quantity" in concepts[c.at]]
        if prices and counted and any(one.name == "money" for one in self.numbers):
            raise Unread("columns", *(c.label for c in (*prices, *counted)))

    def quantity(self) -> tuple[Column, ...]:
        """The column that says how many, where “how many” or “most” stands before a value: “how many chairs”."""
        reader = self.reader
        cues = reader.cues("count", "howmuch", *SUPERLATIVES)
        values = [one for one in reader.mentions if one.kind == "value" and any(c.end == one.start for c in cues)]
        sold = [one for one in self.numbers if len(one.columns) > 1]
        counted = tuple(c for c in reader.lexicon.columns_for("quantity") if c.kind == "number")
        is_asked = values or (sold and any(c.name == "count" or c.name in SUPERLATIVES for c in cues))
        return (
            counted if len(counted) == 1 and is_asked and not any(one.kind == "column" for one in self.numbers) else ()
        )

    def is_averaged(self, measure: Sequence[Column]) -> bool:
        """Whether values of a column say nothing when they are added: scores, prices of one."""
        concepts = {name for column in measure for name in self.reader.lexicon.concepts[column.at]}
        return bool(concepts & set(language_data()["averaged"])) and not concepts & set(language_data()["additive"])


def _single(found: list[Mention], reader: Reader) -> list[Mention]:
    """Mentions of columns of numbers, a name of its own before another word for it."""
    own = [one for one in found if one.kind == "column"]
    named = {column for one in own for column in reader.numeric(one)}
    others = [one for one in found if one.kind != "column" and not named.intersection(one.columns)]
    return own or others
