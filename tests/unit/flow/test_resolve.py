from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.conflicts import Conflict, Known
from app.domain.knowledge import Finding, Quote
from app.embedding.cached import CachedEmbedder
from app.flow.claims import disagreements, with_known
from app.flow.resolve import Verdict, cited, judge, surest, with_winners, without_losers
from app.flow.state import FlowLimits
from app.flow.wording import reason_for
from app.reasoning.local import LocalReasoner
from tests.factories import finding, passage

LIMITS = FlowLimits()
OLD, NEW = "Nhân viên được nghỉ 12 ngày phép năm.", "Nhân viên được nghỉ 14 ngày phép năm."


def verdict(old: dict[str, object], new: dict[str, object], limits: FlowLimits = LIMITS) -> Verdict:
    both = finding(passage(OLD, document="old", **old), passage(NEW, document="new", **new))
    [found] = disagreements((both,))
    return judge(found, limits, {"general"})


def known(said: str | None, holds: str | None = None, *, mine: str = OLD, theirs: str = NEW) -> Known:
    """What is known of the old document's sentence and the new one's."""
    other = passage(theirs, document="new", similarity=0.0, relevance_score=0.0)
    return Known(
        chunk_id=passage(mine, document="old").chunk_id, sentence=mine, other=other, other_sentence=theirs,
        verdict=said, holds=holds and passage("", document=holds).document_id, decided_on=date(2026, 11, 2),
    )  # fmt: skip


class TestPeoplesVerdicts:
    """`old` says 12 days, `new` 14; without a verdict the heavier one wins."""

    def told(self, *ruled: Known, texts: tuple[str, str] = (OLD, NEW), **changes: object) -> list[Verdict]:
        both = finding(passage(texts[0], document="old", **changes), passage(texts[1], document="new", scope="public"))
        found = [disagreements((one,), known=ruled) for one in (both, finding(*(q.passage for q in both.quotes[::-1])))]
        judged = [[judge(one, LIMITS, {"general"}) for one in order] for order in found]
        assert [one.conflict for one in judged[0]] == [one.conflict for one in judged[1]]
        return judged[0]

    @pytest.mark.parametrize("holds", ["old", "new"])
    def test_count_more_than_the_weights(self, holds: str) -> None:
        [weighed] = self.told()
        [found] = self.told(known("holds", holds))
        assert weighed.conflict.rule == "weighted_scoring"
        assert (found.conflict.rule, found.decided) == ("verdict", True)
        assert found.winner.quote.passage.external_id == holds
        assert found.conflict.decided_on == date(2026, 11, 2)
        assert "2026-11-02" in reason_for(found.conflict, "vi") and "2026-11-02" in reason_for(found.conflict, "en")
        assert Conflict.of_entry(found.conflict.entry()) == found.conflict
        assert found.conflict.weighed_by(found.conflict.weighing).winner == found.conflict.winner

    def test_count_less_than_what_has_ended_and_later_versions(self) -> None:
        [ended] = self.told(known("holds", "old"), effective_to=date(2025, 12, 31))
        assert (ended.conflict.rule, ended.winner.sentence) == ("validity", NEW)
        both = finding(
            passage(OLD, document="old", title="page", effective_from=date(2024, 1, 1)),
            passage(NEW, document="new", title="page"),
        )
        [found] = disagreements((both,), known=[known("holds", "old")])
        assert judge(found, LIMITS, {"general"}).conflict.rule == "later_version"

    @pytest.mark.parametrize("said", ["different_cases", "no_contradiction"])
    def test_keep_two_sentences_from_being_held_against_each_other(self, said: str) -> None:
        assert self.told(known(said)) == []

    def test_are_about_their_sentences_alone(self) -> None:
        aside = "Nhân viên được nghỉ 3 ngày khi kết hôn."
        assert len(self.told(known("no_contradiction", mine=aside))) == 1
        assert self.told(known("holds", "old", mine=aside))[0].conflict.rule == "weighted_scoring"

    def test_hold_where_no_rule_sees_a_contradiction(self) -> None:
        texts = "Xe để ở sân sau.", "Bãi đỗ nằm dưới hầm."
        assert self.told(texts=texts) == []
        [found] = self.told(known("holds", "new", mine=texts[0], theirs=texts[1]), texts=texts)
        assert (found.winner.sentence, found.conflict.rule) == (texts[1], "verdict")


class TestKnownContradictions:
    def test_bring_the_other_side_where_nobody_found_it(self) -> None:
        [told] = with_known((finding(passage(OLD, document="old")),), [known(None)])
        [beside] = told.counterparts
        assert (beside.text, beside.passage.external_id) == (NEW, "new")
        assert beside.passage.relevance_score == told.quotes[0].passage.relevance_score
        [found] = disagreements((told,))
        assert {found.one.sentence, found.other.sentence} == {OLD, NEW}

    def test_bring_nothing_twice_nor_what_is_no_contradiction_nor_of_another_sentence(self) -> None:
        alone = finding(passage(OLD, document="old"))
        both = finding(passage(OLD, document="old"), passage(NEW, document="new"))
        for one, what in ((both, known(None)), (alone, known("different_cases")), (alone, known(None, mine="Khác."))):
            assert with_known((one,), [what]) == (one,)

    def test_bring_a_row_of_a_table_as_it_stands_there(self) -> None:
        row = "| Dưới 3 năm | 14 ngày |"
        what = known(None, theirs="Dưới 3 năm: 14 ngày")
        what = what.model_copy(update={"other": what.other.model_copy(update={"text": f"| Thâm niên | Phép |\n{row}"})})
        [told] = with_known((finding(passage(OLD, document="old")),), [what])
        assert [quote.text for quote in told.counterparts] == [row]


class TestJudge:
    def test_a_recent_document_beats_an_old_one(self) -> None:
        found = verdict({"effective_from": date(2024, 1, 1)}, {"effective_from": date(2026, 11, 10)})
        assert found.decided
        assert found.winner.sentence == NEW
        assert found.conflict.winner.factors["recency"] == 0.9

    def test_private_beats_public(self) -> None:
        found = verdict({"scope": "public"}, {"scope": "private"})
        assert found.decided
        assert found.winner.sentence == NEW

    def test_the_responsible_department_beats_general(self) -> None:
        found = verdict({"department": "general"}, {"department": "hr"})
        assert found.decided
        assert found.winner.sentence == NEW

    def test_recency_counts_from_the_newer_source(self) -> None:
        found = verdict({"effective_from": date(2021, 1, 1)}, {"effective_from": date(2023, 1, 1)})
        assert found.decided
        assert found.winner.sentence == NEW

    def test_a_newer_public_text_does_not_overrule_an_older_private_one(self) -> None:
        found = verdict(
            {"effective_from": date(2024, 1, 1), "scope": "private"},
            {"effective_from": date(2025, 1, 1), "scope": "public"},
        )
        assert not found.decided

    def test_equal_sources_stay_undecided_and_the_later_is_named_first(self) -> None:
        found = verdict({"effective_from": date(2025, 1, 1)}, {"effective_from": date(2025, 1, 20)})
        assert not found.decided
        assert found.winner.sentence == NEW

    @settings(deadline=None)
    @given(st.floats(0.895, 0.9), st.floats(0.9, 0.904))
    def test_relevance_that_hardly_differs_does_not_keep_a_margin_below_the_threshold(
        self, new: float, old: float
    ) -> None:
        found = verdict(
            {"effective_from": date(2023, 1, 1), "relevance_score": old},
            {"effective_from": date(2026, 1, 1), "relevance_score": new},
        )
        assert found.conflict.margin == LIMITS.conflict_resolution_threshold
        assert found.decided

    def test_the_score_is_the_published_formula(self) -> None:
        found = verdict({"scope": "public", "relevance_score": 0.5}, {"relevance_score": 1.0})
        for side in (found.conflict.winner, found.conflict.loser):
            total = sum(LIMITS.weights[name] * factor for name, factor in side.factors.items())
            assert abs(side.score - total) < 1e-4

    @given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5))
    def test_a_decision_needs_the_threshold(self, one: float, other: float, threshold: float) -> None:
        limits = LIMITS.model_copy(update={"conflict_resolution_threshold": threshold})
        found = verdict({"relevance_score": one}, {"relevance_score": other}, limits)
        told = found.conflict
        assert told.decided == (told.margin >= threshold)
        assert told.winner.score >= told.loser.score

    @given(st.integers(1, 4000), st.floats(0, 1), st.floats(0, 1))
    def test_the_later_version_of_a_page_wins_however_relevant_the_earlier(
        self, days: int, one: float, two: float
    ) -> None:
        began = date(2015, 1, 1)
        found = verdict(
            {"title": "page", "effective_from": began, "relevance_score": one},
            {"title": "page", "effective_from": began + timedelta(days=days), "relevance_score": two},
        )
        told = found.conflict
        assert (told.conflict_type, told.rule, told.decided) == ("superseded_version", "later_version", True)
        assert found.winner.sentence == NEW

    def test_what_has_ended_gives_way_whatever_its_scope(self) -> None:
        found = verdict(
            {"effective_from": date(2024, 1, 1), "effective_to": date(2025, 12, 31), "scope": "private"},
            {"effective_from": date(2026, 1, 1), "scope": "public"},
        )
        told = found.conflict
        assert (told.conflict_type, told.rule, told.decided) == ("outdated", "validity", True)
        assert found.winner.sentence == NEW

    @given(st.integers(-400, 400), st.integers(-400, 400), st.sampled_from(["old", "new"]))
    def test_what_begins_after_the_day_holds_against_nothing_that_has_begun(self, a: int, b: int, same: str) -> None:
        day = date(2026, 11, 21)
        one, other = (
            passage(text, document=document, scope=scope, effective_from=day + timedelta(days=after))
            for text, document, scope, after in ((OLD, "old", "public", a), (NEW, same, "private", b))
        )
        found = disagreements((finding(one, other),))
        assert len(found) == (same == "new" or a != b), "versions of one document are told apart by their days"
        for pair in found:
            told = judge(pair, LIMITS, {"general"}, day)
            assert (told.conflict.rule == "starts_later") == ((a > 0) != (b > 0))
            if told.conflict.rule == "starts_later":
                assert told.decided and told.winner.sentence == (NEW if a > 0 else OLD)

    @given(
        st.sampled_from(["public", "internal", "private"]), st.sampled_from(["public", "internal", "private"]),
        st.sampled_from(["hr", "general"]), st.sampled_from(["hr", "general"]), st.floats(0, 1), st.floats(0, 1),
        st.dates(date(2020, 1, 1), date(2026, 1, 1)), st.dates(date(2020, 1, 1), date(2026, 1, 1)), st.booleans(),
    )  # fmt: skip
    def test_does_not_depend_on_the_order(
        self, s1: str, s2: str, d1: str, d2: str, r1: float, r2: float, b1: date, b2: date, one_page: bool
    ) -> None:
        titles = ("page", "page") if one_page else ("one", "two")
        one, two = (
            passage(text, document=text, title=title, scope=s, department=d, relevance_score=r, effective_from=b)
            for text, title, s, d, r, b in ((OLD, titles[0], s1, d1, r1, b1), (NEW, titles[1], s2, d2, r2, b2))
        )
        results = []
        for order in ((one, two), (two, one)):
            [found] = disagreements((finding(*order),))
            told = judge(found, LIMITS, {"general"})
            results.append((told.winner.sentence, told.conflict))
        assert results[0] == results[1]

    @settings(deadline=None)
    @given(st.sampled_from(["domain", "scope", "recency", "relevance"]), st.floats(0, 0.6), st.floats(0, 0.6))
    def test_a_side_that_leads_in_a_factor_gains_with_its_weight(self, name: str, low: float, high: float) -> None:
        low, high = sorted((low, high))
        leads: dict[str, dict[str, object]] = {
            "domain": {"department": "hr"}, "scope": {"scope": "private"},
            "recency": {"effective_from": date(2026, 1, 1)}, "relevance": {"relevance_score": 0.9},
        }  # fmt: skip
        behind: dict[str, dict[str, object]] = {
            "domain": {"department": "general"}, "scope": {"scope": "public"},
            "recency": {"effective_from": date(2023, 1, 1)}, "relevance": {"relevance_score": 0.2},
        }  # fmt: skip

        def lead(weight: float) -> float:
            limits = LIMITS.model_copy(update={"weights": LIMITS.weights | {name: weight}})
            found = verdict(behind[name], leads[name], limits)
            scores = {side.claim: side.score for side in (found.conflict.winner, found.conflict.loser)}
            return scores[NEW] - scores[OLD]

        assert lead(high) >= lead(low) - 1e-9


@pytest.fixture
def changed() -> Finding:
    """An answer from the earlier version, with the later one beside it."""
    title = "Họp công ty"
    old = passage(
        "Họp toàn công ty được tổ chức hằng quý.", document="old", title=title, effective_from=date(2024, 1, 1)
    )
    new = passage(
        "Họp toàn công ty được tổ chức hằng tháng.", document="new", title=title, effective_from=date(2025, 1, 1)
    )
    quote = Quote(passage=new, text=new.text, score=1.0)
    return finding(old, query="Họp toàn công ty bao lâu một lần?").model_copy(update={"counterparts": (quote,)})


class TestSurest:
    def findings(self, sure: float, doubtful: float) -> tuple[Finding, Finding]:
        noise = passage("Nhân viên được cấp thẻ gửi xe ở tầng hầm.", document="parking")
        return (
            finding(passage(NEW, document="new"), agent="hr").model_copy(update={"confidence": sure}),
            finding(passage(OLD, document="old"), noise, agent="general").model_copy(update={"confidence": doubtful}),
        )

    @pytest.mark.parametrize(("doubtful", "kept"), [(0.8, ["old"]), (0.6, ["old"]), (0.4, [])])
    def test_of_a_less_sure_agent_only_what_disagrees_is_kept(self, doubtful: float, kept: list[str]) -> None:
        hr, *general = surest(self.findings(0.9, doubtful))
        assert hr.confidence == 0.9
        assert [quote.passage.external_id for one in general for quote in one.quotes] == kept
        assert len(disagreements((hr, *general))) == bool(kept)

    def test_what_agrees_is_left_to_the_surer(self) -> None:
        hr, general = self.findings(0.9, 0.6)
        assert surest((hr, general.model_copy(update={"quotes": general.quotes[1:]}))) == (hr,)

    @pytest.mark.parametrize(("own", "by"), [(0.9, "hr"), (0.86, "hr"), (0.8, "general")])
    def test_of_equally_sure_agents_the_department_answers_not_the_fallback(self, own: float, by: str) -> None:
        hr, general = self.findings(own, 0.9)
        same = general.model_copy(update={"quotes": hr.quotes})
        assert [one.agent for one in surest((same, hr), frozenset({"general"}))] == [by]

    def test_an_agent_that_found_nothing_stays(self) -> None:
        hr, general = self.findings(0.9, 0.2)
        empty = general.model_copy(update={"found": False, "quotes": ()})
        assert surest((empty, hr)) == (empty, hr)


class TestWithoutLosers:
    async def test_an_answer_from_the_earlier_version_is_given_from_the_later(
        self, changed: Finding, embedder: CachedEmbedder, reasoner: LocalReasoner
    ) -> None:
        verdicts = [judge(found, LIMITS, set()) for found in disagreements((changed,))]
        [settled] = await without_losers((changed,), verdicts, reasoner, "vi", 0.7)
        assert settled.found and "hằng tháng" in settled.answer and "hằng quý" not in settled.answer

    def test_the_winners_words_stand_in_where_nobody_is_sure(self, changed: Finding) -> None:
        verdicts = [judge(found, LIMITS, set()) for found in disagreements((changed,))]
        told = with_winners(changed, verdicts, {one.loser.quote.passage.chunk_id for one in verdicts})
        assert told.answer == changed.counterparts[0].text
        assert [quote.passage.external_id for quote in told.quotes] == ["new"]

    def test_a_winner_that_lost_to_a_third_side_stands_in_for_nobody(self, changed: Finding) -> None:
        [verdict] = [judge(found, LIMITS, set()) for found in disagreements((changed,))]
        both = {side.quote.passage.chunk_id for side in (verdict.winner, verdict.loser)}
        assert with_winners(changed, [verdict], {verdict.loser.quote.passage.chunk_id}).found
        assert not with_winners(changed, [verdict], both).found

    def test_both_sides_are_cited(self, changed: Finding) -> None:
        verdicts = [judge(found, LIMITS, set()) for found in disagreements((changed,))]
        assert len(cited((changed,))) == 1
        assert {evidence.url for evidence in cited((changed,), verdicts)} == {
            "https://intra.example/old", "https://intra.example/new",
        }  # fmt: skip
