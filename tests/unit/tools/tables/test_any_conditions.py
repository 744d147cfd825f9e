"""Random tables and conditions: the answer equals the one computed here from the rows themselves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.attachments import AttachedTable, Cell
from app.domain.knowledge import Language
from app.text.language import fold
from app.tools.tables.question import Unclear
from app.tools.tables.wording import unclear
from tests.unit.tools.tables.test_conditions import ORDERS, PLACES, QUARTERS, TRIPS, answer, read

STATES = ("Đã duyệt", "Quá hạn", "Tạm hoãn")
Row = tuple[int, int, str, str, int, Decimal]
ROWS = st.lists(
    st.tuples(
        st.sampled_from([2024, 2025]), st.integers(1, 12), st.sampled_from(PLACES), st.sampled_from(STATES),
        st.integers(0, 99), st.decimals(-(10**7), 10**7, places=2),
    ),
    min_size=1,
    max_size=25,
)  # fmt: skip
HEADER = ("Năm", "Tháng", "Quý", "Thành phố", "Trạng thái", "Số lượng", "Chi phí")
YEARS = (2024, 2025)
ANCHORS: tuple[Row, ...] = tuple(
    (YEARS[at % 2], 3 * at % 12 + 1, PLACES[at], STATES[at % 3], at, Decimal("0.5")) for at in range(len(PLACES))
)
"""Every value stands in the table, and one cell tells how its numbers are written."""
COMPUTED = {"tổng chi phí": "sum", "chi phí trung bình": "average", "chi phí lớn nhất": "max", "đếm số dòng": "count"}
JUNK = ("=SUM(A1:A9)", "=1+1", "@cmd", "", "chưa rõ", "#REF!", "1.2.3,4,5", "--")


def shown(value: Decimal) -> str:
    return f"{value:,f}".translate(str.maketrans(",.", ".,"))


def table_of(rows: Sequence[Row], order: Sequence[int]) -> AttachedTable:
    cells: list[tuple[Cell, ...]] = [
        (year, month, (month + 2) // 3, place, state, number, shown(cost))
        for year, month, place, state, number, cost in rows
    ]
    ordered = tuple(tuple(row[at] for at in order) for row in cells)
    return AttachedTable(name="", header=tuple(HEADER[at] for at in order), rows=ordered)


@dataclass(frozen=True)
class Condition:
    """Words, and the rows they leave."""

    said: str
    keeps: Callable[[Row], bool]


def quarter(number: int) -> Condition:
    return Condition(f"quý {number}", lambda row: (row[1] + 2) // 3 == number)


def months(first: int, more: int) -> Condition:
    last = min(first + more, 12)
    said = f"tháng {first}" if first == last else f"từ tháng {first} đến tháng {last}"
    return Condition(said, lambda row: first <= row[1] <= last)


def place(form: str, name: str) -> Condition:
    is_out = form.startswith(("trừ", "không"))
    return Condition(form.format(name), lambda row: (row[2] == name) != is_out)


def state(form: str, name: str) -> Condition:
    return Condition(form.format(name), lambda row: row[3] == name)


def bound(form: str, number: int) -> Condition:
    def keeps(row: Row) -> bool:
        how = {">": row[4] > number, "≥": row[4] >= number, "=": row[4] == number, "≤": row[4] <= number}
        return how[BOUNDS[form]]

    return Condition(f"có số lượng {form.format(number)}", keeps)


BOUNDS = {"trên {}": ">", "ít nhất {}": "≥", "bằng {}": "=", "từ {} trở xuống": "≤", "tối đa {}": "≤", "> {}": ">"}
TIMES = st.none() | st.builds(quarter, st.integers(1, 4)) | st.builds(months, st.integers(1, 12), st.integers(0, 11))
PLACED = st.builds(
    place, st.sampled_from(["{}", "tại {}", "thành phố {}", "trừ {}", "không ở {}"]), st.sampled_from(PLACES)
)
STATED = st.builds(
    state, st.sampled_from(["trạng thái {}", "trạng thái là {}", "trạng thái = {}"]), st.sampled_from(STATES)
)
BOUND = st.builds(bound, st.sampled_from(sorted(BOUNDS)), st.integers(0, 99))


def expected(kind: str, values: Sequence[Decimal]) -> Fraction | None:
    exact = [Fraction(value) for value in values]
    if kind == "count":
        return Fraction(len(exact))
    if not exact:
        return None
    total = sum(exact, Fraction(0))
    return {"sum": total, "average": total / len(exact), "max": max(exact)}[kind]


class TestAgainstOwnComputation:
    @settings(max_examples=150)
    @given(
        ROWS, st.permutations(range(len(HEADER))), st.sampled_from(sorted(COMPUTED)), TIMES, st.sampled_from(YEARS),
        st.none() | PLACED, st.none() | STATED, st.none() | BOUND, st.booleans(),
    )  # fmt: skip
    def test_any_conditions_in_any_table(
        self, rows: list[Row], order: list[int], asked: str, time: Condition | None, year: int,
        where: Condition | None, status: Condition | None, number: Condition | None, is_bare: bool,
    ) -> None:  # fmt: skip
        stated = [time, Condition(f"năm {year}", lambda row: row[0] == year), where, status, number]
        conditions = [one for one in stated if one is not None]
        every = [*ANCHORS, *rows]
        kept = [row for row in every if all(one.keeps(row) for one in conditions)]
        question = " ".join([asked, *(one.said for one in conditions)])
        found = answer(table_of(every, order), fold(question) if is_bare else question)
        wanted = expected(COMPUTED[asked], [row[5] for row in kept])
        assert found.used == len(kept), question
        if wanted is None or found.value is None:
            assert found.value is None and wanted is None, question
        else:
            assert abs(Fraction(found.value) - wanted) <= Fraction(1, 10**11), question

    @given(st.sampled_from(PLACES), st.integers(1, 4), st.lists(st.sampled_from([*JUNK, "7", "8,5"]), max_size=12))
    def test_cells_that_are_no_numbers_change_nothing(self, name: str, number: int, cells: list[str]) -> None:
        rows = [(number, name, cell) for cell in ("1", "2", *cells, *"3" * len(cells))]
        table = AttachedTable(name="", header=("Quý", "Nơi", "Chi phí"), rows=tuple(rows))
        found = answer(table, f"tổng chi phí {name} quý {number}")
        good = [Decimal(cell.replace(",", ".")) for _, _, cell in rows if cell not in JUNK]
        assert (found.value, found.used) == (sum(good), len(good))
        assert found.matched == len(rows)

    @given(st.text(max_size=60), st.sampled_from(["vi", "en"]))
    def test_never_fails(self, question: str, language: Language) -> None:
        for table in (QUARTERS, ORDERS, TRIPS):
            if isinstance(found := read(table, question, language), Unclear):
                assert unclear(found, language)
