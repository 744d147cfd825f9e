import json
import unicodedata
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.local.classify import as_of_in, moved_to, without
from app.text.language import fold

TODAY = date(2026, 11, 21)
SEED = Path(__file__).parents[4] / "seed_data"
MEANT = [
    ("Quy định nào áp dụng ngày 1/3/2025?", "2025-03-01"),
    ("quy định đi muộn nào áp dụng vào ngày 01/03/2025", "2025-03-01"),
    ("Ngày 1 tháng 3 năm 2025 quy định nghỉ phép nào có hiệu lực?", "2025-03-01"),
    ("Chính sách nào đang có hiệu lực vào 2025-03-01?", "2025-03-01"),
    ("Tại thời điểm 15/6/2024, quy định làm việc từ xa thế nào?", "2024-06-15"),
    ("Quy định nào áp dụng cho nhân viên ngày 1/3/2025?", "2025-03-01"),
    ("Quy định nào áp dụng ngày 1/3?", "2026-03-01"),
    ("Quy định nào áp dụng vào tháng 12?", "2025-12-31"),
    ("năm 2024 được nghỉ mấy ngày phép?", "2024-12-31"),
    ("Năm 2024 nhân viên được nghỉ bao nhiêu ngày phép năm?", "2024-12-31"),
    ("Nhân viên được nghỉ mấy ngày phép trong năm 2024?", "2024-12-31"),
    ("Năm 2024 tôi được nghỉ mấy ngày phép?", "2024-12-31"),
    ("Năm ngoái được nghỉ mấy ngày phép?", "2025-12-31"),
    ("Năm ngoái đi muộn bị phạt thế nào?", "2025-12-31"),
    ("Tháng 3/2024 được làm việc từ xa mấy ngày một tuần?", "2024-03-31"),
    ("Hồi tháng 3 năm ngoái xin nghỉ phép phải báo trước bao lâu?", "2025-03-31"),
    ("Quý 1/2025 được làm thêm tối đa bao nhiêu giờ?", "2025-03-31"),
    ("Trước tháng 6/2025 đi muộn bị xử lý thế nào?", "2025-05-31"),
    ("trước tháng 6/2025 quy định nghỉ phép là gì", "2025-05-31"),
    ("Trước năm 2024 nhân viên được nghỉ bao nhiêu ngày?", "2023-12-31"),
    ("Sau ngày 1/7/2026 chính sách nghỉ phép thế nào?", "2026-07-02"),
    ("Đầu năm 2025 chính sách nghỉ phép thế nào?", "2025-04-30"),
    ("Cuối năm 2024 quy định mật khẩu ra sao?", "2024-12-31"),
    ("Giữa năm 2024 quy định mật khẩu ra sao?", "2024-08-31"),
    ("Theo chính sách cũ năm 2024 thì mỗi năm được bao nhiêu ngày phép?", "2024-12-31"),
    ("Chính sách mật khẩu cũ năm 2023 yêu cầu tối thiểu mấy ký tự?", "2023-12-31"),
    ("Chính sách nghỉ phép 2024 cho chuyển mấy ngày?", "2024-12-31"),
    ("Nội quy 2023 quy định giờ làm việc thế nào?", "2023-12-31"),
    ("Theo quy định công ty thì năm 2024 được nghỉ cưới mấy ngày?", "2024-12-31"),
    ("Từ 1/1/2027 áp dụng quy định nào?", "2027-01-01"),
    ("Kể từ ngày 1/1/2027 áp dụng quy định nào về đi muộn?", "2027-01-01"),
    ("Năm 2027 áp dụng chính sách nghỉ phép nào?", "2027-01-01"),
    ("Năm 2026 áp dụng chính sách nghỉ phép nào?", "2026-11-21"),
    ("quy dinh nao ap dung ngay 1/3/2025", "2025-03-01"),
    ("nam ngoai duoc nghi may ngay phep", "2025-12-31"),
    ("Which rules were in force on 1 March 2025?", "2025-03-01"),
    ("Which leave policy applied on March 1st, 2025?", "2025-03-01"),
    ("What was the policy in March 2024?", "2024-03-31"),
    ("What was the policy on carrying over leave in March 2024?", "2024-03-31"),
    ("In 2024, how many days of leave did we get?", "2024-12-31"),
    ("How much annual leave did employees get in 2024?", "2024-12-31"),
    ("How many days of leave did we get last year?", "2025-12-31"),
    ("Last year, were employees allowed to work from abroad?", "2025-12-31"),
    ("How many days does the 2024 leave policy allow?", "2024-12-31"),
    ("Under the 2024 rules, how much leave could be carried over?", "2024-12-31"),
    ("Before July 2026, what was the leave policy?", "2026-06-30"),
    ("What is the leave policy as of 30 June 2026?", "2026-06-30"),
    ("What did the handbook say about gifts back in 2023?", "2023-12-31"),
    ("From 1 January 2027 which leave rules apply?", "2027-01-01"),
    ("What policy was in effect at the end of 2024?", "2024-12-31"),
    ("What were the password rules in early 2025?", "2025-04-30"),
    ("What was the policy last month?", "2026-10-31"),
    ("Hồi 2023 công ty cho nghỉ mấy ngày phép?", "2023-12-31"),
    ("Tính đến ngày 31/12/2025, quy định về phụ cấp ăn trưa thế nào?", "2025-12-31"),
    ("Quy chế lương thưởng 2025 quy định gì về thưởng?", "2025-12-31"),
    ("What was our remote work policy before 2025?", "2024-12-31"),
    ("How many days a week could we work from home in 2024?", "2024-12-31"),
    ("What was the password length requirement in 2023?", "2023-12-31"),
    ("Effective 1 January 2027, what are the leave rules?", "2027-01-01"),
    ("What is the policy for 2027?", "2027-01-01"),
]  # fmt: skip
NOT_MEANT = [
    "Nghỉ phép năm được bao nhiêu ngày?",
    "tôi nghỉ từ 1/3/2025 đến 5/3/2025",
    "Tôi nghỉ từ 1/3/2025 đến 5/3/2025 thì có được hưởng lương không?",
    "Theo quy định, tôi nghỉ phép từ ngày 1/3/2025 thì phải báo trước bao lâu?",
    "Tôi nghỉ phép ngày 5/12/2026 thì phải báo trước khi nào?",
    "lương tháng 3",
    "Lương tháng 3/2025 được trả vào ngày nào?",
    "Lương tháng 13 tính thế nào?",
    "log lỗi ngày 5/3",
    "Máy chủ nào lỗi đăng nhập nhiều nhất ngày 12/11/2026?",
    "Địa chỉ IP nào tấn công dò mật khẩu vào vpn-gw-01 ngày 12/11/2026?",
    "Quy trình xử lý sự cố ngày 12/11/2026 ra sao?",
    "Những đêm nào tháng 11/2026 sao lưu trên backup-01 bị thất bại?",
    "Hôm qua máy chủ nào có nhiều lỗi đăng nhập nhất?",
    "trong năm nay được nghỉ mấy ngày phép?",
    "Năm nay quy định nghỉ phép thế nào?",
    "Hiện nay áp dụng quy định nào?",
    "Doanh thu năm 2025 của công ty là bao nhiêu?",
    "Kế hoạch doanh thu năm 2027 là bao nhiêu?",
    "Quỹ thưởng cuối năm 2026 là bao nhiêu tiền?",
    "Thưởng năm 2025 được trả khi nào?",
    "Chi phí 2025 đồng thì được thanh toán không?",
    "Phụ cấp 2024 USD có phải nộp thuế không?",
    "Hóa đơn tháng 2/2025 có được thanh toán không?",
    "Theo chính sách công ty, hóa đơn ngày 5/3/2025 có được thanh toán không?",
    "Hợp đồng ký năm 2024 thì phải báo trước bao lâu?",
    "Theo quy định, hợp đồng ký năm 2024 hết hạn khi nào?",
    "Chính sách bảo hành laptop mua tháng 3/2024 thế nào?",
    "Laptop cấp năm 2022 có được thay không?",
    "Tôi vào làm ngày 1/3/2024 thì được mấy ngày phép?",
    "Nhân viên vào làm từ tháng 3/2025 được mấy ngày phép?",
    "Phép năm 2025 chưa dùng hết được chuyển đến khi nào?",
    "Phép năm ngoái chuyển sang năm nay được mấy ngày?",
    "Phép năm cũ phải dùng trước ngày 31/01 hay 31/03?",
    "Phải nộp tự đánh giá trước ngày 15/12/2026 phải không?",
    "Độ dài mật khẩu năm 2026 khác năm 2023 thế nào?",
    "Chính sách nghỉ phép năm 2024 khác hiện nay thế nào?",
    "So sánh quy định đi muộn năm 2023 và năm 2026",
    "Quy định nghỉ phép năm 2024 và năm 2025 là gì?",
    "Tuần từ 23/11 đến 29/11 ai trực chính?",
    "Thẻ khách có hiệu lực đến ngày 31/12/2026 không?",
    "Visa hiệu lực đến 31/12/2025 có dùng được không?",
    "Công ty thành lập ngày nào?",
    "Giải bóng đá nội bộ năm 2025 được tổ chức khi nào?",
    "Năm 2025 có bao nhiêu sáng kiến được áp dụng?",
    "Trước khi có quy định mới ngày 1/9/2026 thì đi muộn bị xử lý thế nào?",
    "Đơn nộp ngày 1/3/2025 áp dụng quy định nào?",
    "Quy định về đi muộn ban hành ngày 20/08/2026 nói gì?",
    "Theo quy định hiện hành thì năm 2025 nghỉ mấy ngày?",
    "Vợ tôi sinh ngày 12/05/2026, tôi được nghỉ mấy ngày?",
    "Kỳ nghỉ từ 24/12/2026 đến 2/1/2027 có bị trừ phép không?",
    "Những năm trước được nghỉ mấy ngày?",
    "Làm ở công ty 5 năm trước khi nghỉ được gì?",
    "Xin nghỉ phải báo 1 tháng trước phải không?",
    "Một năm diễn tập sơ tán mấy lần, vào tháng nào?",
    "Nghỉ 1/2 ngày thì tính phép thế nào?",
    "Quy định nào áp dụng ngày 31/02/2025?",
    "Năm sau áp dụng quy định nào?",
    "I am on leave from 1 March 2025 to 5 March 2025, am I paid?",
    "Is my salary for March 2025 paid on time?",
    "May I take 5 days off in December 2026?",
    "Do I have to submit the expenses of May 2025 by June?",
    "Can I claim an expense dated 5 March 2025?",
    "I joined in March 2024, how much leave do I get?",
    "The contract was signed on 1 March 2025, what notice applies?",
    "What revenue does the board plan for 2027?",
    "Who is first line on call in the week of 30 November 2026?",
    "What changed in carry-over between the 2024 and the 2026 leave policies?",
    "How does the 2024 policy differ from the current one?",
    "How many days of 2025 leave can I carry over?",
    "Which errors were in the log on 12 November 2026?",
    "Which days are the offices closed at Christmas this year?",
    "What is the leave policy?",
    "What is 2024 + 2?",
    "Is the policy from 2023 still valid?",
    "When was the policy updated last year?",
    "Can I carry over last year's leave?",
    "How much leave did I take last year?",
    "As of today, what is the leave policy?",
    "I've been here 12 years. How much annual leave do I get?",
    "", "???", "2024", "năm 2024",
]  # fmt: skip


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _spaced(text: str) -> str:
    return text.replace(" ", "  ")


class TestAsOfIn:
    def test_reads_the_day_whose_rules_are_asked_for(self) -> None:
        found = {query: as_of_in(query, TODAY) for query, _ in MEANT}
        assert {query: str(one.day) for query, one in found.items() if one and one.words in query} == dict(MEANT)

    def test_leaves_every_other_date_alone(self) -> None:
        assert [query for query in NOT_MEANT if as_of_in(query, TODAY)] == []

    @pytest.mark.parametrize("spelt", [_nfd, str.upper, _spaced, fold])
    def test_spelling_does_not_matter(self, spelt: Callable[[str], str]) -> None:
        found = {query: as_of_in(spelt(query), TODAY) for query in [*dict(MEANT), *NOT_MEANT]}
        assert {query: str(one.day) for query, one in found.items() if one} == dict(MEANT)

    def test_of_the_bundled_questions_only_those_about_old_policies_are_dated(self) -> None:
        dated: dict[str, str] = {}
        for path in sorted(SEED.glob("*/questions*.jsonl")):
            for row in map(json.loads, path.read_text("utf-8").splitlines()):
                if found := as_of_in(row["question"], TODAY):
                    dated[row["id"]] = str(found.day)
        assert dated == {"acme-hr-071": "2024-12-31", "acme-ig-031": "2023-12-31"}

    @given(st.dates(date(1990, 1, 1), date(2099, 12, 31)))
    def test_any_day_that_is_named_is_meant(self, day: date) -> None:
        for written in (f"{day.day}/{day.month}/{day.year}", f"{day:%d/%m/%Y}", f"{day:%d-%m-%Y}", f"{day:%Y-%m-%d}"):
            found = as_of_in(f"Quy định nghỉ phép nào áp dụng ngày {written}?", TODAY)
            assert found is not None
            assert (found.day, found.words) == (day, f"ngày {written}")
        found = as_of_in(f"Which leave rules were in force on {day.day} {day:%B} {day.year}?", TODAY)
        assert found is not None
        assert found.day == day

    @given(st.integers(1990, 2099), st.dates(date(2000, 1, 1), date(2090, 12, 31)))
    def test_a_year_means_its_day_nearest_to_today(self, year: int, today: date) -> None:
        found = as_of_in(f"Năm {year} áp dụng chính sách nghỉ phép nào?", today)
        assert found is not None
        assert found.day == min(max(today, date(year, 1, 1)), date(year, 12, 31))

    @given(st.text(max_size=300), st.dates())
    def test_no_text_breaks_it(self, text: str, today: date) -> None:
        for query in (text, f"quy định {text} 2024 {text}", f"áp dụng ngày 1/1/0001 {text}"):
            as_of_in(query, today)

    def test_long_repetitions_end(self) -> None:
        for piece in (
            "quy định ",
            "năm 2024 ",
            "chính sách phép ",
            "was were ",
            "a ",
            "thì ",
            ", ",
            "1/1/2024",
            "the ",
        ):
            as_of_in(piece * 2_000, TODAY)
            as_of_in(f"{piece * 200}áp dụng ngày 1/3/2025 {piece * 200}", TODAY)


class TestWithout:
    @pytest.mark.parametrize(
        ("query", "bare"),
        [
            ("năm 2024 được nghỉ mấy ngày phép?", "Được nghỉ mấy ngày phép?"),
            ("Vào ngày 15/8/2025 thì quy định về đi muộn là gì?", "Quy định về đi muộn là gì?"),
            ("Before July 2026, what was the leave policy?", "What was the leave policy?"),
            ("How many days does the 2024 leave policy allow?", "How many days does the leave policy allow?"),
            ("Quy định nghỉ phép nào áp dụng ngày 1/3/2025", "Quy định nghỉ phép nào áp dụng"),
        ],
    )
    def test_leaves_the_question(self, query: str, bare: str) -> None:
        found = as_of_in(query, TODAY)
        assert found is not None
        assert without(query, found) == bare


LEAVE = "Nhân viên chính thức được nghỉ bao nhiêu ngày phép năm?"


class TestMovedTo:
    @pytest.mark.parametrize(
        ("said", "standing", "question", "day"),
        [
            ("còn năm 2024 thì sao?", LEAVE, LEAVE, "2024-12-31"),
            ("thế năm ngoái?", LEAVE, LEAVE, "2025-12-31"),
            ("và trước tháng 7/2026?", LEAVE, LEAVE, "2026-06-30"),
            ("quy định nào áp dụng ngày 1/3/2025?", LEAVE, LEAVE, "2025-03-01"),
            ("còn năm 2023?", "Năm 2024 được nghỉ mấy ngày phép?", "Được nghỉ mấy ngày phép?", "2023-12-31"),
            ("and in 2024?", "How much leave do we get?", "How much leave do we get?", "2024-12-31"),
        ],
    )
    def test_a_follow_up_that_names_only_a_day_asks_the_same_of_that_day(
        self, said: str, standing: str, question: str, day: str
    ) -> None:
        found = moved_to(said, standing, TODAY)
        assert found is not None
        assert (found[0], str(found[1].day)) == (question, day)

    @pytest.mark.parametrize(
        ("said", "standing"),
        [
            ("còn nhân viên thử việc thì sao?", LEAVE),
            ("còn năm nay?", LEAVE),
            ("còn năm 2024?", "Doanh thu năm 2025 của công ty là bao nhiêu?"),
            ("còn ngày 12/11/2026?", "Hôm qua máy chủ nào lỗi đăng nhập nhiều nhất?"),
            ("Quy định nghỉ ốm nào áp dụng ngày 1/3/2025?", LEAVE),
        ],
    )
    def test_anything_else_is_a_question_of_its_own(self, said: str, standing: str) -> None:
        assert moved_to(said, standing, TODAY) is None
