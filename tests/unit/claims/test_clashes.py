"""Which claims of two texts cannot both hold, and what sort of conflict that is."""

from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.claims.clashes import clashes
from app.claims.kinds import counterparts_of, current_versions, is_one_page, kind_of
from app.claims.record import Clash, Text
from app.claims.statements import aligned
from app.domain.knowledge import Quote
from tests.factories import passage

PAGE = "The pass is issued at the front desk. {} Lost passes are blocked at once."
SENTENCES = (
    "Nhân viên được nghỉ 12 ngày phép năm.", "Nhân viên được nghỉ mười bốn ngày phép năm.",
    "Employees get 14 days of annual leave.", "Visitors may park in the yard.", "Visitors may not park in the yard.",
    "The quiet room is room B338.", "The quiet room is room G151.", "Ask in #help for a license.",
    "Ask in #tools for a license.", "Platform, Payments and Search are on call.",
    "Platform, Data and Search are on call.",
    "Timesheets are due every Friday.", "Timesheets are due every Monday.", "The head of finance signs contracts.",
)  # fmt: skip
QUESTIONS = (
    "Nhân viên được bao nhiêu ngày phép?", "Who signs contracts?", "Which teams are on call?", "May visitors park?",
    "Which room is quiet?", "When are timesheets due?", "Where do I ask for a license?", "",
)  # fmt: skip


def told(question: str, one: str, other: str, *, is_one_page: bool = False) -> list[Clash]:
    return clashes(question, Text(one, one), Text(other, other), is_one_page=is_one_page)


def in_page(question: str, one: str, other: str) -> list[Clash]:
    mine, theirs = PAGE.format(one), PAGE.format(other)
    return clashes(question, Text(one, mine), Text(other, theirs), is_one_page=True)


class TestClashes:
    def test_are_found_between_documents(self) -> None:
        rows: list[tuple[str, str, str, str]] = [
            (
                "May visitors park?",
                "Visitors may park in the yard.",
                "Visitors may not park in the yard.",
                "permission",
            ),
            ("Khách đỗ xe được không?", "Khách được đỗ xe ở sân.", "Khách không được đỗ xe ở sân.", "permission"),
            ("Do I sign?", "Every guest must sign the form.", "Guests don't have to sign the form.", "permission"),
            ("Which room?", "The quiet room is room B338.", "The quiet room is room G151.", "room"),
            ("Phòng nào?", "Phòng yên tĩnh là phòng B338.", "Phòng yên tĩnh là phòng G151.", "room"),
            ("When are timesheets due?", "Timesheets are due on Friday.", "Timesheets are due on Monday.", "weekday"),
            ("Who signs contracts?", "Ms Tran signs all contracts.", "Mr Bell signs all contracts.", "wording"),
            (
                "When was it built?",
                "The main hall was built in 1902.",
                "The main hall was built in 1885.",
                "calendar year",
            ),
        ]
        for question, one, other, unit in rows:
            assert [clash.one.unit for clash in told(question, one, other)] == [unit]

    def test_are_not_seen_where_both_can_hold(self) -> None:
        rows: list[tuple[str, str, str]] = [
            ("May visitors park?", "Visitors may not park here unless they hold a pass.", "Visitors may park here."),
            ("How long?", "Give four weeks of notice when you leave.", "When you leave, give 28 days of notice."),
            ("How many days?", "Full-time staff get 25 days of leave.", "Part-time staff get 15 days of leave."),
            ("Bao nhiêu ngày phép?", "Nhân viên được 12 ngày phép.", "Đủ 5 năm được thêm 1 ngày phép cho nhân viên."),
            ("How much overtime?", "Overtime is limited to 3 hours a day.", "Overtime is limited to 150 hours a year."),
            ("Which teams?", "Platform, Search and Data are on call.", "Search, Platform and Data are on call."),
            ("Who signs?", "Contracts below £10 are signed by Ann.", "Contracts above £10 are signed by Bob."),
        ]
        for question, one, other in rows:
            assert told(question, one, other) == []

    def test_of_versions_see_a_changed_unit_and_a_changed_end(self) -> None:
        question = "How much client work is expected each week?"
        one, other = "People are expected to bill 30 hours a week.", "People are expected to spend 4 days a week."
        assert in_page(question, one, other) and not told(question, one, other)
        assert in_page("Until when?", "It is open from 7:00 to 18:00.", "It is open from 7:00 to 20:00.")

    def test_of_versions_see_what_was_added_where_the_surroundings_stayed(self) -> None:
        rule = "Unused passes expire after a year of absence."
        one, other = PAGE.format(rule), PAGE.format("")
        [clash] = clashes(
            "Do passes expire?", Text(rule, one), Text("Lost passes are blocked at once.", other), is_one_page=True
        )
        assert (clash.one.unit, clash.one.sentence, clash.other.sentence) == ("rule", rule, "")
        assert not clashes("Do passes expire?", Text(rule, one), Text("Something else.", other), is_one_page=True)

    def test_of_two_documents_compare_what_the_sentences_say_of_the_question_whatever_their_sections(self) -> None:
        question = "How long is a VPN session at most?"
        one = Text("A VPN session lasts 8 hours at most.", "", "VPN", "Remote access rules › Signing in and out")
        other = Text("A VPN session ends after 12 hours.", "", "Accounts", "Frequent mistakes › Mail, phishing")
        [clash] = clashes(question, one, other, is_one_page=False)
        assert (clash.one.amounts, clash.other.amounts) == (("8 hours",), ("12 hours",))
        assert not clashes("How do I sign in?", one, other, is_one_page=False)

    def test_of_a_copied_sentence_see_the_one_value_that_was_changed(self) -> None:
        sentence = "The parish was founded in {}, its church was completed in 1951, and it became a cathedral in 1970."
        [clash] = told("When was the parish founded?", sentence.format(1856), sentence.format(1900))
        assert clash.one.values ^ clash.other.values == {"1856", "1900"}
        own_words = "Founded in 1900, the parish completed its church in 1951 and was raised to a cathedral in 1970."
        assert not told("When was the parish founded?", sentence.format(1856), own_words)

    @given(st.sampled_from(QUESTIONS), st.sampled_from(SENTENCES), st.sampled_from(SENTENCES), st.booleans())
    def test_are_the_same_both_ways(self, question: str, one: str, other: str, is_one_page: bool) -> None:
        there = told(question, one, other, is_one_page=is_one_page)
        back = told(question, other, one, is_one_page=is_one_page)
        assert {(c.one.sentence, c.other.sentence, c.one.unit) for c in there} == {
            (c.other.sentence, c.one.sentence, c.one.unit) for c in back
        }

    @given(st.sampled_from(QUESTIONS), st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4), st.booleans())
    def test_are_none_with_oneself(self, question: str, sentences: list[str], is_one_page: bool) -> None:
        text = " ".join(sentences)
        assert told(question, text, text, is_one_page=is_one_page) == []

    @given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=60), st.booleans())
    def test_of_any_text_never_fail(self, one: str, other: str, question: str, is_one_page: bool) -> None:
        told(question, one, other, is_one_page=is_one_page)


class TestAlignment:
    @given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES))
    def test_is_the_same_both_ways(self, one: str, other: str) -> None:
        there, back = aligned(one, other), aligned(other, one)
        assert there.ratio == back.ratio and 0 <= there.ratio <= 1
        assert [(span.one, span.other) for span in there.spans] == [(span.other, span.one) for span in back.spans]


class TestKinds:
    def test_go_by_page_validity_scope_department_and_age(self) -> None:
        rows: list[tuple[dict[str, Any], tuple[str, str]]] = [
            ({"title": "page", "effective_from": date(2026, 1, 7)}, ("superseded_version", "later_version")),
            ({"title": "page"}, ("contradiction", "equal_standing")),
            ({"scope": "public", "effective_from": date(2026, 1, 7)}, ("scope", "other_scope")),
            ({"department": "it", "effective_from": date(2026, 1, 7)}, ("department", "other_department")),
            ({"effective_from": date(2026, 1, 7)}, ("contradiction", "equal_standing")),
            ({"effective_from": date(2026, 9, 1)}, ("outdated", "much_older")),
            (
                {"effective_from": date(2024, 1, 1), "effective_to": date(2025, 12, 31), "scope": "public"},
                ("outdated", "validity_ended"),
            ),
        ]
        for changes, kind in rows:
            one = passage("Nhân viên được nghỉ 12 ngày phép năm.", title="page", document="a")
            other = passage("Nhân viên được nghỉ 14 ngày phép năm.", document="b", **{"title": "other", **changes})
            assert kind_of(one, other) == kind_of(other, one) == kind

    def test_of_one_title_and_other_words_are_two_pages(self) -> None:
        one = passage("Nhân viên được nghỉ 12 ngày phép năm.", title="FAQ", document="a")
        other = passage("Mật khẩu dài ít nhất tám ký tự.", title="FAQ", document="b")
        assert not is_one_page(one, other)
        assert is_one_page(one, passage("Nhân viên được nghỉ 14 ngày phép năm.", title="faq ", document="b"))


class TestCurrentVersions:
    def test_leave_out_the_older_version_of_a_page_and_nothing_else(self) -> None:
        text = "The pass is issued at the front desk on the second floor of the main building."
        old, new = (
            passage(text.replace("second", nth), document=nth, title="Passes", effective_from=date(year, 1, 1))
            for nth, year in (("first", 2024), ("second", 2026))
        )
        other = passage("Lockers are given out by the porter.", document="x", title="Passes")
        elsewhere = passage(text, document="y", title="Passes", department="it", effective_from=date(2020, 1, 1))
        assert current_versions((old, other, new, elsewhere)) == (other, new, elsewhere)
        assert current_versions((old, other)) == (old, other)


class TestCounterparts:
    def test_are_the_words_in_the_same_place(self) -> None:
        one = passage("Thẻ phát ở sảnh. Họp toàn công ty được tổ chức hằng quý.", document="a")
        other = passage("Họp toàn công ty được tổ chức hằng tháng. Báo vắng trước.", document="b")
        quote = Quote(passage=one, text="Họp toàn công ty được tổ chức hằng quý.", score=1.0)
        [found] = counterparts_of((quote,), (one, other))
        assert (found.passage, found.text) == (other, "Họp toàn công ty được tổ chức hằng tháng.")

    def test_stand_literally_in_their_passage_and_never_in_the_quoted_document(self) -> None:
        texts = [f"{first} {second}" for first, second in pairwise(SENTENCES)]
        passages = [
            passage(text, document=str(at), created_at=datetime(2026, 1, 1, tzinfo=UTC))
            for at, text in enumerate(texts)
        ]
        quote = Quote(passage=passages[0], text=SENTENCES[0], score=1.0)
        found = counterparts_of((quote,), passages)
        assert found and all(one.text in one.passage.text for one in found)
        assert all(one.passage.document_id != quote.passage.document_id for one in found)
