"""What of a streamed answer goes out: whole statements, valid citations, figures somebody stated."""

from hypothesis import given
from hypothesis import strategies as st

from app.reasoning import ComposeRequest
from app.reasoning.llm.grounds import AnswerGate
from tests import factories

LEAVE = factories.passage("Nhân viên có 12 ngày phép năm. Tối đa 5 ngày được chuyển sang quý 1.", document="leave")
PAY = factories.passage("Lương cơ bản là 15.000.000 đồng mỗi tháng, trả vào ngày 28.", document="pay")
FOUND = factories.finding(LEAVE, PAY)
REQUEST = ComposeRequest(
    query="Có 3 năm thâm niên thì được nghỉ mấy ngày?", language="vi", findings=(FOUND,), evidence=FOUND.evidence,
    computations=("15.000.000 / 26 × 3 = 1.730.769 đồng",),
)  # fmt: skip


def let_out(text: str, *cuts: int) -> str:
    gate, start, out = AnswerGate(REQUEST), 0, ""
    for cut in sorted({min(cut, len(text)) for cut in cuts}):
        out += gate.feed(text[start:cut])
        start = cut
    return out + gate.feed(text[start:]) + gate.finish()


class TestFigures:
    def test_statements_without_support_are_left_out(self) -> None:
        gate = AnswerGate(REQUEST)
        out = gate.feed("Bạn có 12 ngày phép. Sau đó thêm 9 ngày nữa. Lương trả ngày 28.") + gate.finish()
        assert "9" not in out
        assert "12 ngày" in out
        assert "28" in out
        assert gate.left_out == 1

    def test_scaled_and_regrouped_amounts_are_the_same_figure(self) -> None:
        for text in ("Lương là 15 triệu đồng.", "Lương là 15.000.000đ.", "Lương là 15,000,000 VND.", "15000000 đồng."):
            assert let_out(text).strip(), text

    def test_figures_of_question_and_computations_count(self) -> None:
        assert let_out("Với 3 năm thâm niên, số tiền là 1.730.769 đồng.")

    def test_list_numbers_and_citations_are_no_figures(self) -> None:
        text = "7. Phép năm: 12 ngày [1]\n8) Lương trả ngày 28 [2]\n"
        assert let_out(text) == "7. Phép năm: 12 ngày [1]\n8) Lương trả ngày 28 [2]\n"


class TestCitations:
    def test_only_evidence_of_this_run_is_cited(self) -> None:
        out = let_out("Bạn có 12 ngày phép năm [1][99]. Lương trả vào ngày 28 mỗi tháng [^7].")
        assert "[99]" not in out
        assert "[7]" not in out
        assert out.startswith("Bạn có 12 ngày phép năm [1].")

    def test_those_behind_the_full_stop_stay_with_their_sentence(self) -> None:
        assert let_out("Có 12 ngày phép năm. [1] Thêm 9 ngày. [2]\n\nLương ngày 28. [2]") == (
            "Có 12 ngày phép năm [1].\n\nLương ngày 28 [2]."
        )

    def test_none_is_added_to_what_a_model_says(self) -> None:
        assert let_out("Lương cơ bản là 15.000.000 đồng mỗi tháng.") == "Lương cơ bản là 15.000.000 đồng mỗi tháng."

    def test_a_statement_of_other_words_gets_none(self) -> None:
        assert let_out("Hãy liên hệ quản lý trực tiếp để biết thêm chi tiết.").endswith("chi tiết.")

    def test_other_spellings_become_ours(self) -> None:
        assert let_out("Có 12 ngày phép【1†nguồn】.") == "Có 12 ngày phép [1]."
        assert let_out("Có 12 ngày phép [1, 2].") == "Có 12 ngày phép [1][2]."


class TestNothing:
    def test_the_word_for_nothing_never_goes_out(self) -> None:
        for text in ("NOT_FOUND", "NOT_FOUND.", "**NOT_FOUND**", " NOT_FOUND\n"):
            for cut in range(len(text)):
                gate = AnswerGate(REQUEST)
                out = gate.feed(text[:cut]) + gate.feed(text[cut:])
                assert gate.said_nothing_found, text
                assert out + gate.finish() == "", text

    def test_an_answer_that_begins_alike_is_an_answer(self) -> None:
        assert let_out("NOT all days can be moved.") == "NOT all days can be moved."


@given(
    st.lists(
        st.sampled_from(
            ["Có 12 ngày [1]. ", "12 ngày. [1] ", "Thêm 9 ngày. ", "\n- Lương ngày 28", " [2]", "!\n\n", "[99]"]
        ),
        max_size=8,
    ),
    st.lists(st.integers(0, 200), max_size=12),
)  # fmt: skip
def test_what_goes_out_does_not_depend_on_how_the_stream_was_cut(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    assert let_out(text, *cuts) == let_out(text)
