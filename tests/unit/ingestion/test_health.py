"""Comparing passages, and what an administrator is told; no database."""

from datetime import date
from itertools import permutations
from typing import Any
from uuid import UUID, uuid4

from app.domain.health import HealthKind, Side
from app.ingestion.comparison import (
    Contradiction,
    Copies,
    Reading,
    candidates,
    contradiction_rows,
    contradictions,
    no_concepts,
    read_passage,
    repeats,
    subject_words_of,
    weigh_by,
)
from app.ingestion.health import advice
from app.reasoning.local.terms import concepts_in
from app.storage.neighbours import Neighbour, PassageRow
from tests.cases import each_case
from tests.factories import stable_id

NEAR = 0.75


TODAY = date(2026, 11, 26)


def passage(text: str, *, document: str = "a", lang: str = "vi", section: str = "", day: date = TODAY) -> PassageRow:
    chunk_id, document_id = stable_id(f"{document}/{text}"), stable_id(document)
    return PassageRow(chunk_id, document_id, section, text, lang, "Nghỉ phép", day)


def compared(one: PassageRow, other: PassageRow, similarity: float = NEAR) -> list[Contradiction]:
    mine, theirs = read_passage(one, concepts_in), read_passage(other, concepts_in)
    return contradictions(mine, theirs, similarity, weigh_by(subject_words_of([mine, theirs]), 0, {}))


class TestContradictions:
    @each_case(
        ("one", "other", "values"),
        [
            (
                "Nhân viên chính thức được nghỉ 14 ngày phép năm.",
                "Mỗi nhân viên chính thức có 12 ngày phép năm.",
                (("14 ngày",), ("12 ngày",)),
            ),
            (
                "Nhân viên chính thức được nghỉ 14 ngày phép năm. Báo trước 3 ngày làm việc.",
                "Báo trước 3 ngày làm việc. Nhân viên chính thức được nghỉ 12 ngày phép năm.",
                (("14 ngày",), ("12 ngày",)),
            ),
            (
                "Thưởng dự án bằng 30% lương tháng của người phụ trách.",
                "Người phụ trách nhận thưởng dự án bằng 25 phần trăm lương tháng.",
                (("30%",), ("25 phần trăm",)),
            ),
            (
                "Ngày phép còn lại phải dùng trước ngày 31/03.",
                "Ngày phép còn lại của năm trước phải dùng trước ngày 31/01.",
                (("31/03",), ("31/01",)),
            ),
            (
                "Bao lâu phải đổi mật khẩu một lần?\n\nMật khẩu đổi sau 90 ngày.",
                "| Loại | Đổi mật khẩu |\n|---|---|\n| Mật khẩu nhân viên | đổi sau 180 ngày |",
                (("90 ngày",), ("180 ngày",)),
            ),
        ],
    )
    def test_are_found_in_one_language(
        self, one: str, other: str, values: tuple[tuple[str, ...], tuple[str, ...]]
    ) -> None:
        [found] = compared(passage(one), passage(other, document="b"))
        assert (found.one.amounts, found.other.amounts) == values

    def test_are_found_in_english(self) -> None:
        one = passage("Permanent staff receive 27 days of paid annual leave.", lang="en")
        other = passage("Everyone on a permanent contract has 25 days of paid annual leave.", document="b", lang="en")
        [found] = compared(one, other)
        assert (found.one.amounts, found.other.amounts) == (("27 days",), ("25 days",))

    @each_case(
        ("vi", "en", "values"),
        [
            (
                "Nhân viên chính thức được nghỉ 12 ngày phép năm có lương.",
                "Permanent employees get 14 days of paid annual leave.",
                (("12 ngày",), ("14 days",)),
            ),
            (
                "Tiền làm thêm giờ vào cuối tuần bằng 200% lương.",
                "Overtime pay on a weekend is 150 percent of the salary.",
                (("200%",), ("150 percent",)),
            ),
            (
                "Mất laptop phải báo an ninh trong vòng 1 giờ.",
                "A lost laptop must be reported to security within 24 hours.",
                (("1 giờ",), ("24 hours",)),
            ),
        ],
    )
    def test_are_found_across_languages(
        self, vi: str, en: str, values: tuple[tuple[str, ...], tuple[str, ...]]
    ) -> None:
        # A passage and its translation lie no nearer than this (median on XQuAD).
        [found] = compared(passage(vi), passage(en, document="b", lang="en"), similarity=0.63)
        assert (found.one.amounts, found.other.amounts) == values

    @each_case(
        ("one", "other"),
        [
            ("Nhân viên chính thức được nghỉ 14 ngày phép năm.", "Nhân viên chính thức có 14 ngày phép năm."),
            ("Nhân viên chính thức được nghỉ 14 ngày phép năm.", "Phải báo trước khi thôi việc 30 ngày."),
            ("Mật khẩu dài ít nhất 12 ký tự.", "Mật khẩu dài tối đa 64 ký tự."),
            ("Mật khẩu dài ít nhất 12 ký tự.", "Mật khẩu phải đổi sau 180 ngày."),
            ("Được 1 ngày phép mỗi tháng.", "Được 14 ngày phép mỗi năm."),
            ("Quỹ lương năm 2027 tăng 8%.", "Quỹ lương năm 2026 tăng 7%."),
            (
                "| Thâm niên | Số ngày phép |\n|---|---|\n| Dưới 3 năm | 14 ngày |",
                "| Thâm niên | Số ngày phép |\n|---|---|\n| Từ 6 năm | 16 ngày |",
            ),
            ("Chính sách có hiệu lực từ ngày 01/01/2026.", "Chính sách có hiệu lực từ ngày 01/07/2025."),
            (
                "Được nghỉ 14 ngày phép năm. Ví dụ: chị Hạnh nghỉ 9 ngày phép năm.",
                "Được nghỉ 14 ngày phép năm.",
            ),
        ],
    )
    def test_are_not_seen_in_what_agrees_or_completes(self, one: str, other: str) -> None:
        for first, second in permutations((passage(one), passage(other, document="b"))):
            assert compared(first, second) == []

    def test_are_not_seen_in_a_claim_whose_nearest_fellow_agrees(self) -> None:
        one = passage("Nhân viên làm từ xa tối đa 2 ngày một tuần.")
        other = passage(
            "Nhân viên làm từ xa tối đa 2 ngày một tuần. Nhân viên thử việc làm từ xa 1 ngày một tuần.", document="b"
        )
        assert compared(one, other) == []

    def test_count_less_the_further_the_passages_lie_apart(self) -> None:
        one = passage("Nhân viên chính thức được nghỉ 14 ngày phép năm.")
        other = passage("Mỗi nhân viên chính thức có 12 ngày phép năm.", document="b")
        scores = [compared(one, other, similarity)[0].score for similarity in (0.6, 0.8, 1.0)]
        assert scores == sorted(scores)
        assert compared(one, other, 0.1) == compared(one, other, -0.5) == []

    def test_weigh_less_the_commoner_their_words_are(self) -> None:
        one = passage("Nhân viên chính thức được nghỉ 14 ngày phép năm.")
        other = passage("Mỗi nhân viên chính thức có 12 ngày phép năm.", document="b")
        mine, theirs = read_passage(one, no_concepts), read_passage(other, no_concepts)
        words = subject_words_of([mine, theirs])

        def score(count: int) -> float:
            weight = weigh_by(words, 500, dict.fromkeys(words, count))
            return max((found.score for found in contradictions(mine, theirs, 1.0, weight)), default=0.0)

        assert score(0) > score(50) > score(500)


class TestRepeats:
    LONG = "Mật khẩu có ít nhất 12 ký tự và phải đổi sau 180 ngày, không dùng lại năm mật khẩu gần nhất."

    def reading(self, text: str) -> Reading:
        return read_passage(passage(text, document=text[:5]), no_concepts)

    def test_the_same_words(self) -> None:
        assert repeats(self.reading(self.LONG), self.reading(f"  {self.LONG.upper()}\n"))
        assert repeats(self.reading(self.LONG * 3), self.reading(self.LONG * 3 + " Hết."))

    def test_not_the_same_subject_in_other_words(self) -> None:
        other = "Ai cũng phải đổi mật khẩu hai lần một năm; mật khẩu cũ không được dùng lại trong năm lần liên tiếp."
        assert not repeats(self.reading(self.LONG), self.reading(other))

    def test_not_a_line_that_stands_everywhere(self) -> None:
        assert not repeats(self.reading("Mọi thắc mắc gọi máy lẻ 8888."), self.reading("Mọi thắc mắc gọi máy lẻ 8888."))


class TestFindings:
    def test_of_two_documents_are_said_once_whoever_is_examined(self) -> None:
        one = read_passage(passage("Nhân viên chính thức được nghỉ 14 ngày phép năm."), no_concepts)
        other = read_passage(passage("Mỗi nhân viên chính thức có 12 ngày phép năm.", document="b"), no_concepts)
        weight = weigh_by(subject_words_of([one, other]), 0, {})
        [there], [back] = (
            contradiction_rows([(found, 0.9) for found in candidates([pair], weight)])
            for pair in ((one, other, NEAR), (other, one, NEAR))
        )
        assert there.finding_id == back.finding_id
        assert (there.value, there.other_value) == (back.other_value, back.value) == ("14 ngày", "12 ngày")
        assert there.sentence in one.passage.text

    def test_repeated_by_further_passages_are_not_said_again(self) -> None:
        one = [
            read_passage(passage(f"Nhân viên chính thức được nghỉ 14 ngày phép năm. {n}"), no_concepts) for n in "xy"
        ]
        other = read_passage(passage("Mỗi nhân viên chính thức có 12 ngày phép năm.", document="b"), no_concepts)
        weight = weigh_by(subject_words_of([*one, other]), 0, {})
        found = candidates([(reading, other, NEAR) for reading in one], weight)
        assert len(found) == 2
        assert len(contradiction_rows([(each, 0.9) for each in found])) == 1

    @each_case(("their_letters", "share"), [(100, 1.0), (210, 0.9), (10_000, None)])
    def test_count_as_duplicates_what_repeats_half_of_the_smaller(
        self, their_letters: int, share: float | None
    ) -> None:
        text = TestRepeats.LONG * 2
        mine = [passage(text), *(passage("Khác hẳn. " * 40 + str(number)) for number in range(3))]
        theirs = passage(text, document="b")
        copies = Copies(mine)
        readings = {row.chunk_id: read_passage(row, no_concepts) for row in (*mine, theirs)}
        copies.add([Neighbour(row.chunk_id, 0.99, theirs) for row in mine], readings)
        assert list(copies.shared) == [theirs.document_id]
        found = copies.rows({theirs.document_id: their_letters})
        assert [round(row.score, 1) for row in found] == ([] if share is None else [share])


class TestAdvice:
    ROW: dict[str, Any] = {"detail": "It is encrypted.", "day": date(2026, 3, 31), "score": 0.8, "unit": "day"}
    SIDE = Side(
        document_id=UUID(int=1), external_id="a", title="Nghỉ {phép} 2026", url="", department="hr", scope="public",
        value="14 ngày",
    )  # fmt: skip

    def test_names_both_documents_and_what_to_do(self) -> None:
        other = self.SIDE.model_copy(update={"document_id": uuid4(), "title": "FAQ", "value": "12 ngày"})
        written = advice(HealthKind.CONTRADICTION, self.ROW, self.SIDE, other)
        for text in (written.vi, written.en):
            assert all(part in text for part in ("Nghỉ {phép} 2026", "FAQ", "14 ngày", "12 ngày", "supersede"))
        assert "80%" in advice(HealthKind.DUPLICATE, self.ROW, self.SIDE, other).en

    @each_case("kind", [kind for kind in HealthKind if kind not in (HealthKind.CONTRADICTION, HealthKind.DUPLICATE)])
    def test_has_words_for_every_kind(self, kind: HealthKind) -> None:
        side = self.SIDE.model_copy(update={"title": "Nghỉ phép"})
        written = advice(kind, self.ROW, side, None)
        for text in (written.vi, written.en):
            assert "Nghỉ phép" in text
            assert "{" not in text
            assert text.endswith(".")
