from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.local.pieces import bare_heading, headings_of, units_of

PASSAGE = """Thời hạn báo trước

Nhân viên được nghỉ 14 ngày. Nếu cần nghỉ thêm, xem Điều 7.

Các bước thực hiện:
1. Vào cổng nghỉ phép.
2. Chọn ngày nghỉ.

Mức áp dụng như sau:
| Số ngày | Báo trước |
|---|---|
| 3 đến 5 ngày | 7 ngày làm việc |
| Trên 5 ngày | 15 ngày làm việc |

- Nộp đơn trước 17:00;
- Gửi cho ThS. Lan ở TP.HCM.

`tiền phép = lương cơ bản / 26 ngày × số ngày nghỉ`"""


class TestUnits:
    def test_every_unit_is_an_exact_span_of_the_passage(self) -> None:
        assert all(PASSAGE[unit.start : unit.end] == unit.text for unit in units_of(PASSAGE))

    def test_a_short_line_of_its_own_is_the_heading_of_what_follows(self) -> None:
        assert headings_of(PASSAGE) == ("Thời hạn báo trước",)
        assert units_of(PASSAGE)[0].text == "Nhân viên được nghỉ 14 ngày."

    def test_steps_know_the_sentence_that_introduces_them(self) -> None:
        steps = [unit for unit in units_of(PASSAGE) if unit.kind == "step"]
        assert [step.text for step in steps] == ["Vào cổng nghỉ phép.", "Chọn ngày nghỉ."]
        assert {step.lead for step in steps} == {"Các bước thực hiện:"}

    def test_rows_know_their_columns_and_the_rule_line_is_no_row(self) -> None:
        rows = [unit for unit in units_of(PASSAGE) if unit.kind == "row"]
        assert [row.cells for row in rows] == [("3 đến 5 ngày", "7 ngày làm việc"), ("Trên 5 ngày", "15 ngày làm việc")]
        assert {row.header for row in rows} == {("Số ngày", "Báo trước")}

    def test_abbreviations_do_not_end_a_sentence(self) -> None:
        assert "Gửi cho ThS. Lan ở TP.HCM." in [unit.text for unit in units_of(PASSAGE)]

    def test_a_formula_is_no_heading(self) -> None:
        assert units_of(PASSAGE)[-1].text.startswith("`tiền phép")

    def test_yes_stays_with_the_sentence_after_it(self) -> None:
        assert [unit.text for unit in units_of("Không. Đi muộn không bị trừ tiền. Xem thêm.")] == [
            "Không. Đi muộn không bị trừ tiền.",
            "Xem thêm.",
        ]

    def test_a_paragraph_that_opens_with_a_question_answers_it(self) -> None:
        [unit] = units_of("**Ai xem được đơn?** Quản lý trực tiếp.")
        assert (unit.heading, unit.text) == ("Ai xem được đơn?", "Quản lý trực tiếp.")

    @given(st.text(alphabet="ab1.?!:;|-# \n*`=×“”", max_size=200))
    def test_any_text_is_cut_into_exact_spans(self, text: str) -> None:
        for unit in units_of(text):
            assert text[unit.start : unit.end] == unit.text
            assert unit.text.strip() == unit.text != ""


class TestBareHeading:
    def test_numbers_in_front_are_dropped(self) -> None:
        assert bare_heading("Điều 5. Chuyển phép sang năm sau") == "Chuyển phép sang năm sau"
        assert bare_heading("2.1 How much notice is needed?") == "How much notice is needed?"
        assert bare_heading("Part B. Performance review") == "Performance review"
