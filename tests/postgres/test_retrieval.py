"""Finding passages: the right ones, in every spelling, and never somebody else's."""

import json
import unicodedata
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from app.domain.knowledge import SearchResult
from app.domain.principal import Principal
from app.embedding.cached import CachedEmbedder
from app.ingestion.pipeline import Ingestion
from app.retrieval.ranking import load_calibration, stored_adapter
from app.retrieval.search import Retriever
from app.storage.database import Database
from app.text.language import fold
from tests.factories import principal
from tests.measured import measured
from tests.postgres.library import ACME, GLOBEX, LEAVE_NEW, PASSWORDS, add_tenants, admin, draft, today
from tests.samples import size

BENCH = Path(__file__).parents[2] / "bench"
ASKED = (*sorted((BENCH / "sets").glob("*.jsonl")), BENCH / "intent" / "routed.jsonl")
LAN = principal("acme", "lan", "hr")
MINH = principal("acme", "minh", "it")
HOA = principal("acme", "hoa", "general", ("public", "internal"))
AN = principal("acme", "an", "general", ("public",))
JANE = principal("globex", "jane", "hr")
HOSTILE = "hr' OR '1'='1"


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest_asyncio.fixture(scope="module")
async def library(database: Database, maintenance_url: str, embedder: CachedEmbedder) -> Ingestion:
    await add_tenants(maintenance_url, "acme", "globex")
    ingestion = Ingestion(database, embedder, today=today)
    await ingestion.ingest(admin("acme"), ACME)
    await ingestion.ingest(admin("globex"), GLOBEX)
    return ingestion


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def retriever(database: Database, embedder: CachedEmbedder, library: Ingestion, clock: Clock) -> Retriever:
    calibration = load_calibration(embedder.model)
    return Retriever(database, embedder, calibration, cache_ttl_seconds=60, today=today, timer=clock)


async def ask(retriever: Retriever, asker: Principal, query: str, as_of: date | None = None) -> SearchResult:
    return await retriever.search(asker, query, departments=None, as_of=as_of)


def documents(result: SearchResult) -> list[str]:
    return [passage.external_id for passage in result.passages]


class TestSearch:
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("Đi muộn thì bị trừ bao nhiêu tiền?", "lateness"),
            ("Lương kỹ sư bậc 3 là bao nhiêu?", "salary"),
            ("Quên mật khẩu thì làm sao?", "passwords"),
            ("When is the Da Nang office closed?", "holidays"),
            ("mật khẩu", "passwords"),
        ],
    )
    async def test_puts_the_passage_that_answers_first(self, retriever: Retriever, query: str, expected: str) -> None:
        result = await ask(retriever, LAN, query)
        assert documents(result)[0] == expected
        assert result.passages[0].relevance_score >= 0.7

    async def test_finds_across_languages(self, retriever: Retriever) -> None:
        assert documents(await ask(retriever, LAN, "How many days of annual leave do I get?"))[0] == "leave-2026"
        assert "holidays" in documents(await ask(retriever, LAN, "Ngày 30 tháng 4 văn phòng có đóng cửa không?"))[:2]

    async def test_tells_everything_about_a_passage(self, retriever: Retriever) -> None:
        (best, *_) = (await ask(retriever, LAN, "nghỉ phép năm được mấy ngày")).passages
        assert (best.title, best.text, best.url) == (LEAVE_NEW.title, LEAVE_NEW.text, LEAVE_NEW.url)
        assert (best.department, best.scope, best.language) == ("hr", "public", "vi")
        assert (best.created_at, best.authority) == (LEAVE_NEW.created_at, "policy")
        assert (best.effective_from, best.effective_to) == (date(2026, 1, 1), date(2026, 12, 31))
        assert best.text_rank > 0
        assert best.fused_score > 0

    @pytest.mark.parametrize(
        ("moment", "is_found"),
        [
            (datetime(2025, 12, 31, 16, 30, tzinfo=UTC), False),  # 23:30 in Vietnam, the day before
            (datetime(2025, 12, 31, 17, 30, tzinfo=UTC), True),  # 00:30 of the first day, in UTC still the old year
            (datetime(2026, 12, 31, 16, 30, tzinfo=UTC), True),
            (datetime(2026, 12, 31, 17, 30, tzinfo=UTC), False),
        ],
    )
    async def test_a_rule_holds_from_midnight_to_midnight_of_the_tenants_own_day(
        self, database: Database, embedder: CachedEmbedder, library: Ingestion, moment: datetime, *, is_found: bool
    ) -> None:
        retriever = Retriever(
            database, embedder, load_calibration(embedder.model), today=lambda zone: moment.astimezone(zone).date()
        )
        question = "Nghỉ phép năm được bao nhiêu ngày?"
        assert (LEAVE_NEW.external_id in documents(await ask(retriever, LAN, question))) is is_found
        (in_departments,) = await retriever.probe(LAN, [question])
        assert "hr" in in_departments

    async def test_shows_the_best_first_and_reports_its_plan(self, retriever: Retriever) -> None:
        result = await ask(retriever, LAN, "Nhân viên đi muộn bị trừ phụ cấp thế nào?")
        assert result.passages[0].relevance_score == max(passage.relevance_score for passage in result.passages)
        assert (result.plan.strategy, result.plan.legs) == ("exact", {"vector": 1.0, "text": 1.0})
        assert result.plan.embedding_model.startswith("multilingual-e5-small")
        assert result.plan.candidates >= len(result.passages)
        assert not result.plan.cached

    async def test_gives_the_cosine_an_exact_comparison_gives(
        self, retriever: Retriever, embedder: CachedEmbedder
    ) -> None:
        calibration = load_calibration(embedder.model)
        query = "Quên mật khẩu thì làm sao?"
        centred = calibration.centre_queries(await embedder.embed_queries([query]), ["vi"])
        asked = stored_adapter().move(centred, calibration.space)[0]
        stored = await embedder.embed_passages([f"{PASSWORDS.title}\n{PASSWORDS.text}"])
        best = (await ask(retriever, LAN, query)).passages[0]
        assert best.similarity == pytest.approx(float(asked @ calibration.centre_passages(stored, ["vi"])[0]), abs=1e-4)
        assert np.isfinite(best.relevance_score)

    async def test_keeps_to_the_limit(self, retriever: Retriever) -> None:
        result = await retriever.search(LAN, "nhân viên", departments=None, limit=2)
        assert len(result.passages) == 2

    @pytest.mark.parametrize(
        "query",
        ["", "?!", "' OR 1=1 --", "a & b | !c <-> (", "\x00\ud83d", "là gì", "𝔘𝔫𝔦 ﬁ ½", "x" * 100_000, "đi " * 5000],
    )
    async def test_takes_any_text(self, retriever: Retriever, query: str) -> None:
        result = await ask(retriever, AN, query)
        assert {passage.scope for passage in result.passages} <= {"public"}


class TestSpellings:
    QUERY = "uỷ ban hoà giải họp khi nào"

    @pytest.mark.parametrize(
        "spelt",
        [
            QUERY,
            unicodedata.normalize("NFD", QUERY),
            "ủy ban hòa giải họp khi nào",
            fold(QUERY),
            QUERY.upper(),
            "ủy\u200b ban  hòa\u00ad giải họp khi nào",
        ],
        ids=["NFC", "NFD", "other tone placement", "without diacritics", "capitals", "invisible characters"],
    )
    async def test_all_find_the_same_document(self, retriever: Retriever, spelt: str) -> None:
        result = await ask(retriever, LAN, spelt)
        assert documents(result)[0] == "committee"
        assert result.passages[0].relevance_score >= 0.7
        assert result.plan.unaccented is (spelt == fold(self.QUERY))

    async def test_both_forms_of_a_question_find_the_same(self, retriever: Retriever, clock: Clock) -> None:
        lines = [line for path in ASKED for line in path.read_text("utf-8").splitlines()]
        told = [one.get("question") or one["text"] for one in map(json.loads, lines)]
        asked = [one for one in dict.fromkeys(told) if unicodedata.normalize("NFD", one) != one][
            : size(8, 200, trust=200)
        ]
        different = []
        for question in asked:
            found = list[SearchResult]()
            for form in ("NFC", "NFD"):
                clock.seconds += 61  # nothing is remembered
                found.append(await ask(retriever, LAN, unicodedata.normalize(form, question)))
            assert not found[1].plan.cached
            if found[0].passages != found[1].passages:
                different.append(question)
        measured(21, pairs=len(asked), pairs_that_differ=len(different))
        assert different == []

    async def test_without_diacritics_folded_words_count_as_much_as_the_restored_spelling(
        self, retriever: Retriever
    ) -> None:
        accented = (await ask(retriever, LAN, self.QUERY)).plan.legs
        legs = (await ask(retriever, LAN, fold(self.QUERY))).plan.legs
        assert legs["folded"] == legs["vector"] > 0
        assert accented["vector"] > accented.get("folded", 0)

    async def test_with_diacritics_tells_words_apart(self, retriever: Retriever, library: Ingestion) -> None:
        await library.ingest(admin("acme"), [draft("bamboo", "Mành", "Mành tre do xưởng mây tre đan.")])
        best = (await ask(retriever, LAN, "mây tre")).passages[0]
        assert best.external_id == "bamboo"


class TestRights:
    async def test_hold_for_every_kind_of_reader(self, retriever: Retriever) -> None:
        readable = {
            LAN: {"lateness", "salary", "passwords"},
            MINH: {"lateness", "passwords", "servers"},
            HOA: {"lateness", "passwords"},
            AN: {"passwords"},
        }
        for asker, expected in readable.items():
            for query in ("lương kỹ sư bậc 3", "đi muộn phụ cấp", "mật khẩu", "engineer on call mail-01"):
                seen = await retriever.search(asker, query, departments=None, limit=50)
                restricted = {"lateness", "salary", "passwords", "servers"} & set(documents(seen))
                assert restricted == expected, asker.name

    async def test_are_those_of_one_tenant(self, retriever: Retriever) -> None:
        assert set(documents(await ask(retriever, JANE, "lateness bonus đi muộn"))) == {"lateness"}
        assert (await ask(retriever, JANE, "lương kỹ sư")).passages[0].title == "Lateness at Globex"

    async def test_are_narrowed_by_departments_never_widened(self, retriever: Retriever) -> None:
        only = await retriever.search(LAN, "mật khẩu và lương", departments=("hr",), limit=50)
        assert {passage.department for passage in only.passages} == {"hr"}
        foreign = await retriever.search(LAN, "engineer on call", departments=("it",), limit=50)
        assert documents(foreign) == ["passwords"]
        assert (await retriever.search(LAN, "mật khẩu", departments=())).passages == ()

    @pytest.mark.parametrize("department", [HOSTILE, "hr}", '"hr"', "%", "", "hr\x00"[:2] + "'; drop table chunks; --"])
    async def test_hold_against_hostile_departments(self, retriever: Retriever, department: str) -> None:
        assert (await retriever.search(AN, "lương", departments=(department,), limit=50)).passages == ()
        posing = AN.model_copy(update={"department": department, "departments": frozenset({department})})
        posing = posing.model_copy(update={"scopes": frozenset({"public", "internal", "private"})})
        seen = await retriever.search(posing, "lương kỹ sư engineer", departments=None, limit=50)
        assert not {"salary", "servers"} & set(documents(seen))
        assert await ask(retriever, LAN, "lương kỹ sư")

    async def test_without_any_scope_show_nothing(self, retriever: Retriever) -> None:
        nobody = LAN.model_copy(update={"scopes": frozenset()})
        assert (await ask(retriever, nobody, "nghỉ phép")).passages == ()


class TestPeriods:
    async def test_show_what_is_in_force_today(self, retriever: Retriever) -> None:
        assert "leave-2026" in documents(await ask(retriever, LAN, "ngày nghỉ phép năm"))
        seen = documents(await retriever.search(LAN, "ngày nghỉ phép, tuần bốn ngày", departments=None, limit=50))
        assert not {"leave-2024", "leave-2027", "trial"} & set(seen)

    @pytest.mark.parametrize(
        ("day", "expected"),
        [(date(2025, 3, 1), "leave-2024"), (date(2026, 3, 1), "leave-2026"), (date(2027, 3, 1), "leave-2027")],
    )
    async def test_show_the_version_of_another_day(self, retriever: Retriever, day: date, expected: str) -> None:
        result = await ask(retriever, LAN, "Được bao nhiêu ngày nghỉ phép năm?", day)
        assert {one for one in documents(result) if one.startswith("leave")} == {expected}

    async def test_show_only_the_others_where_those_are_wanted(self, retriever: Retriever) -> None:
        query = "ngày nghỉ phép, tuần bốn ngày"
        others = await retriever.search(LAN, query, departments=None, limit=50, when="otherwise")
        assert set(documents(others)) == {"leave-2027", "trial"}
        seen = await retriever.search(JANE, query, departments=None, limit=50, when="otherwise")
        assert not {"leave-2024", "leave-2027", "trial"} & set(documents(seen))

    async def test_end_with_their_last_day(self, retriever: Retriever) -> None:
        query = "Tuần làm việc bốn ngày"
        assert "trial" in documents(await ask(retriever, LAN, query, date(2026, 6, 30)))
        assert "trial" not in documents(await ask(retriever, LAN, query, date(2026, 7, 1)))


class TestCache:
    async def test_answers_the_same_question_again(self, retriever: Retriever) -> None:
        first = await ask(retriever, LAN, "Quên mật khẩu?")
        again = await ask(retriever, LAN, unicodedata.normalize("NFD", " Quên mật khẩu? "))
        assert (first.plan.cached, again.plan.cached) == (False, True)
        assert again.passages == first.passages

    @pytest.mark.parametrize(
        "other",
        [HOA, AN, MINH, JANE, LAN.model_copy(update={"scopes": frozenset({"public"})})],
        ids=["fewer scopes", "public only", "other department", "other tenant", "narrowed token"],
    )
    async def test_never_crosses_rights(self, retriever: Retriever, other: Principal) -> None:
        query = "Lương kỹ sư bậc 3 và quy định đi muộn"
        assert "salary" in documents(await ask(retriever, LAN, query))
        result = await ask(retriever, other, query)
        assert not result.plan.cached
        assert "salary" not in documents(result)

    async def test_is_shared_by_people_with_the_same_rights(self, retriever: Retriever) -> None:
        colleague = principal("acme", "mai", "hr")
        await ask(retriever, LAN, "phụ cấp chuyên cần")
        assert (await ask(retriever, colleague, "phụ cấp chuyên cần")).plan.cached

    async def test_keeps_different_searches_apart(self, retriever: Retriever) -> None:
        await ask(retriever, LAN, "mật khẩu")
        for departments, limit, day in (
            (("hr",), 8, None), ((), 8, None), (None, 3, None), (None, 8, date(2025, 3, 1)), (None, 8, today()),
        ):  # fmt: skip
            result = await retriever.search(LAN, "mật khẩu", departments=departments, limit=limit, as_of=day)
            assert not result.plan.cached

    async def test_forgets_when_a_document_changes(self, retriever: Retriever, library: Ingestion) -> None:
        query = "Máy in ở tầng mấy?"
        await ask(retriever, LAN, query)
        for floor in (3, 4):
            await library.ingest(admin("acme"), [draft("printer", "Máy in", f"Máy in ở tầng {floor}.")])
            result = await ask(retriever, LAN, query)
            assert not result.plan.cached
            assert result.passages[0].text == f"Máy in ở tầng {floor}."

    async def test_forgets_after_its_time(self, retriever: Retriever, clock: Clock) -> None:
        await ask(retriever, LAN, "trừ phụ cấp")
        clock.seconds = 59
        assert (await ask(retriever, LAN, "trừ phụ cấp")).plan.cached
        clock.seconds = 61
        assert not (await ask(retriever, LAN, "trừ phụ cấp")).plan.cached

    async def test_can_be_left_out(self, database: Database, embedder: CachedEmbedder, library: Ingestion) -> None:
        plain = Retriever(database, embedder, load_calibration(embedder.model), caching=False, today=today)
        await ask(plain, LAN, "mật khẩu")
        assert not (await ask(plain, LAN, "mật khẩu")).plan.cached


class TestProbe:
    async def test_tells_where_the_evidence_lies(self, retriever: Retriever) -> None:
        lateness, passwords = await retriever.probe(LAN, ["Đi muộn bị trừ bao nhiêu tiền?", "Quên mật khẩu"])
        assert max(lateness, key=lateness.__getitem__) == "hr"
        assert max(passwords, key=passwords.__getitem__) == "it"
        assert lateness["hr"] >= 0.7 > lateness["general"]

    async def test_agrees_with_the_search(self, retriever: Retriever) -> None:
        query = "Quên mật khẩu thì làm sao?"
        (probed,) = await retriever.probe(LAN, [query])
        best = (await ask(retriever, LAN, query)).passages[0]
        assert probed[best.department] == pytest.approx(best.relevance_score)

    async def test_knows_nothing_of_what_may_not_be_read(self, retriever: Retriever) -> None:
        query = "engineer on call restarts mail-01"
        (allowed,) = await retriever.probe(MINH, [query])
        (denied,) = await retriever.probe(AN, [query])
        assert allowed["it"] > 0.7 > denied["it"]

    async def test_of_no_queries_is_empty(self, retriever: Retriever) -> None:
        assert await retriever.probe(LAN, []) == ()
