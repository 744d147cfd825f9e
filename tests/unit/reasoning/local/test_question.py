import pytest

from app.reasoning.local.question import read_question


class TestKind:
    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("Giá trị cốt lõi của công ty là gì?", "definition"),
            ("Nghỉ phép năm được bao nhiêu ngày?", "quantity"),
            ("nghi phep nam duoc bao nhieu ngay", "quantity"),
            ("How much notice must I give?", "quantity"),
            ("Giờ làm việc bắt đầu lúc mấy giờ?", "when"),
            ("Ai duyệt đơn nghỉ trên 5 ngày?", "who"),
            ("Quên mật khẩu thì làm thế nào?", "how_to"),
            ("How do I book annual leave?", "how_to"),
            ("Công ty có những hình thức kỷ luật nào?", "list"),
            ("Đi muộn có bị trừ tiền không?", "yes_no"),
            ("Can I carry over unused leave?", "yes_no"),
            ("Sự cố P1 và P2 khác nhau thế nào?", "compare"),
            ("Cách tính chi phí nghỉ phép như thế nào?", "formula"),
            ("Mất thẻ thì bị xử lý thế nào?", "consequence"),
            ("Có được dùng AI để viết báo cáo không?", "yes_no"),
            ("AI DUYỆT BÁO CÁO?", "who"),
        ],
    )
    def test_is_read_from_the_asking_words(self, text: str, kind: str) -> None:
        assert read_question(text).kind == kind

    @pytest.mark.parametrize(
        ("text", "measure"),
        [
            ("Phụ cấp ăn trưa là bao nhiêu tiền?", "money"),
            ("Xin nghỉ phép phải báo trước bao lâu?", "duration"),
            ("Lương thử việc bằng bao nhiêu phần trăm?", "percent"),
            ("How often must I change my password?", "times"),
            ("What time does the office open?", "clock"),
            ("Gọi số nào khi mất laptop?", "phone"),
        ],
    )
    def test_the_kind_of_figure_is_known(self, text: str, measure: str) -> None:
        assert measure in read_question(text).measures

    def test_a_scene_before_a_colon_weighs_less_than_what_is_asked(self) -> None:
        question = read_question("Somebody is leaving: when is the account closed?")
        weights = {term.text: term.weight for term in question.terms}
        assert weights["leaving"] < weights["account"]
        assert question.kind == "when"


class TestAskedFigure:
    @pytest.mark.parametrize(
        ("text", "name", "others"),
        [
            ("What share of my time must be billable?", {"share"}, {"billable"}),
            ("Above which amount is a second quote needed?", {"amount"}, {"second", "quote"}),
            ("Từ giá trị nào phải lấy 3 báo giá?", {"giá", "trị"}, {"báo giá"}),
            ("tu gia tri nao phai lay 3 bao gia", {"gia", "tri"}, {"bao gia"}),
        ],
    )
    def test_its_name_hardly_counts_since_the_figure_answers(self, text: str, name: set[str], others: set[str]) -> None:
        weights = {term.text: term.weight for term in read_question(text).terms}
        assert all(weights[word] < 0.2 for word in name)
        assert all(weights[word] >= 1 for word in others)

    def test_a_part_may_be_told_as_money_or_as_a_percentage(self) -> None:
        assert read_question("How much of the gym membership does the company pay?").measures == {"money", "percent"}
        assert read_question("How much is the gym membership?").measures == {"money"}
