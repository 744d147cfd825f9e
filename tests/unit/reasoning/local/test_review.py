from app.domain.knowledge import Finding, Quote
from app.reasoning.local.answer import review_finding
from tests.factories import finding, passage

LEAVE = passage("Nhân viên chính thức được nghỉ 14 ngày phép năm.", title="Chính sách nghỉ phép")


def saying(answer: str) -> Finding:
    return finding(LEAVE).model_copy(update={"answer": answer})


class TestReviewFinding:
    def test_exact_quotes_and_their_numbers_are_approved(self) -> None:
        assert review_finding(finding(LEAVE), "vi").approved

    def test_nothing_found_is_nothing_to_object_to(self) -> None:
        assert review_finding(finding(), "vi").approved

    def test_a_quote_the_document_does_not_hold_is_refused_by_title(self) -> None:
        made_up = Quote(passage=LEAVE, text="Nhân viên được nghỉ 20 ngày.", score=0.9)
        verdict = review_finding(finding(LEAVE).model_copy(update={"quotes": (made_up,)}), "vi")
        assert not verdict.approved
        assert "Chính sách nghỉ phép" in verdict.reason

    def test_a_quoted_heading_is_exact_too(self) -> None:
        headed = passage("Nửa ngày tính là 0,5.", section="Điều 1 › Công thức")
        quote = Quote(passage=headed, text="Công thức", score=0.5)
        assert review_finding(finding(headed).model_copy(update={"quotes": (quote,)}), "vi").approved

    def test_a_number_no_quote_holds_is_refused(self) -> None:
        assert not review_finding(saying("Nhân viên chính thức được nghỉ 15 ngày phép năm."), "vi").approved

    def test_numbers_of_list_items_and_of_results_are_not_quoted_ones(self) -> None:
        assert review_finding(saying("1. Nhân viên chính thức\n2. được nghỉ 14 ngày phép năm."), "vi").approved
        assert review_finding(saying("14 / 14 = 1 ngày"), "vi").approved

    def test_a_found_answer_that_says_nothing_is_refused_in_the_askers_language(self) -> None:
        assert review_finding(saying("  "), "vi").reason == "Kết quả không có nội dung."
        assert review_finding(saying("  "), "en").reason == "The finding says nothing."
