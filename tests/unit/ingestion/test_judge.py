"""Which pairs of claims are told as contradictions."""

from datetime import date, timedelta

import pytest

from app.embedding.cached import CachedEmbedder
from app.ingestion.comparison import Candidate, candidates, no_concepts, read_passage, subject_words_of, weigh_by
from app.ingestion.judge import LIKELY, chance_of, judge
from app.storage.neighbours import PassageRow
from tests.cases import each_case
from tests.factories import stable_id

TODAY = date(2026, 11, 26)


def row(text: str, document: str, *, day: date = TODAY, title: str = "Password rules") -> PassageRow:
    return PassageRow(stable_id(f"{document}/{text}"), stable_id(document), "", text, "en", title, day)


def found(one: PassageRow, other: PassageRow) -> list[Candidate]:
    mine, theirs = (read_passage(each, no_concepts) for each in (one, other))
    return candidates([(mine, theirs, 0.8)], weigh_by(subject_words_of([mine, theirs]), 0, {}))


NEW = row("Passwords must have at least 14 characters. They are changed every 180 days.", "new")
OLD = row("Passwords must have at least 10 characters. They are changed every 90 days.", "old", day=date(2023, 1, 1))


class TestChance:
    def test_rises_with_what_speaks_for_one_thing(self) -> None:
        one = found(NEW, OLD)[0]
        plain = chance_of(one, 0, 0.5, 0.0)
        assert chance_of(one, 3, 0.5, 0.0) > plain
        assert chance_of(one, 0, 1.0, 0.0) > plain
        assert chance_of(one, 0, 0.5, 5.0) > plain
        apart = one._replace(theirs=one.theirs._replace(day=TODAY - timedelta(days=2000)))
        assert chance_of(apart, 0, 0.5, 0.0) > plain


class TestJudge:
    async def test_a_later_telling_of_one_page_is_told(self, embedder: CachedEmbedder) -> None:
        judged = await judge(found(NEW, OLD), embedder)
        assert {one.found.one.unit for one, _ in judged} == {"character", "day"}
        assert all(chance >= LIKELY for _, chance in judged)

    @each_case(
        ("one", "other"),
        [
            ("Nhân viên chính thức được nghỉ 14 ngày phép năm.", "Nghỉ phép năm phải báo trước 3 ngày làm việc."),
            ("Nhân viên chính thức được nghỉ 14 ngày phép năm.", "Nhân viên nghỉ phép dài phải báo trước 30 ngày."),
            ("Cards are replaced within 2 working days.", "Receipts are handed in within 10 working days."),
        ],
    )
    async def test_like_words_about_two_things_are_not(self, embedder: CachedEmbedder, one: str, other: str) -> None:
        pairs = found(row(one, "a", title="Regulations"), row(other, "b", title="Handbook"))
        assert await judge(pairs, embedder) == []

    @pytest.mark.parametrize("pairs", [[], found(NEW, OLD)])
    async def test_works_without_a_model_that_reads(self, pairs: list[Candidate]) -> None:
        assert [one for one, _ in await judge(pairs, None)] == pairs
