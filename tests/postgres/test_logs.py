"""System log lines under row policies, and the tool that tells what they hold."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import cast

import asyncpg
import pytest

from app.domain.knowledge import Language
from app.domain.principal import Principal, Scope
from app.errors import AppError, ErrorCode, ToolFailed, ToolRetry
from app.reasoning import Arguments
from app.storage.database import Database
from app.tools.base import ToolResult
from extras.logs.lines import LogLine, insert_logs
from extras.logs.reading import LogFilter, LogPosition, count_logs, page_logs, search_logs, summarise_logs
from extras.logs.tool import LogTool
from tests.extras.logs.hostile_regexes import HOSTILE
from tests.factories import principal
from tests.limits import limit
from tests.unit.tools.recording import SATURDAY, RecordingReasoner, call

ATTACK = datetime(2026, 11, 12, 2, 0, tzinfo=UTC)
ADMIN = principal(user="admin", department="general", roles=("admin",))
MINH = principal(user="minh", department="it")
LAN = principal(user="lan", department="hr")
AN = principal(user="an", department="general", scopes=("public",))
RAJ = principal(tenant="globex", user="raj", department="it")
GLOBEX_ADMIN = principal(tenant="globex", user="admin", department="general", roles=("admin",))


def line(
    message: str,
    *,
    minutes: float = 0,
    source: str = "vpn-gw-01",
    level: str = "WARN",
    department: str = "it",
    scope: Scope = "internal",
) -> LogLine:
    return LogLine(
        logged_at=ATTACK + timedelta(minutes=minutes),
        source=source,
        level=level,
        department=department,
        scope=scope,
        message=message,
    )


ACME_LINES = (
    *(line(f"failed login for user u{n} from 203.0.113.45: wrong password", minutes=n) for n in range(20)),
    line("automatic block of 203.0.113.45 failed: block list full", minutes=9.5, level="ERROR"),
    line("VPN session opened for user lan from 198.51.100.2", minutes=30, level="INFO"),
    line(
        "backup job erp-db failed: repository /backup/pool1 not reachable",
        minutes=60,
        source="backup-01",
        level="ERROR",
    ),
    line("connect postgresql://app:s3cr3t@db-01/erp password=hunter2", minutes=90, source="db-01", level="INFO"),
    line("privileged role granted to user bao", minutes=100, source="auth-01", scope="private"),
    line("payroll exported by lan", minutes=110, source="hr-portal-01", department="hr", scope="private"),
    line("Máy in tầng 10 hết giấy", minutes=120, source="print-01", department="general", scope="public"),
)
GLOBEX_LINES = (line("failed login for user raj from 192.0.2.77", source="auth-01"),)


@pytest.fixture(scope="module", autouse=True)
async def stored(database: Database) -> None:
    for admin, lines in ((ADMIN, ACME_LINES), (GLOBEX_ADMIN, GLOBEX_LINES)):
        async with database.principal_scope(admin) as tx:
            assert await insert_logs(tx, lines) == len(lines)


async def messages(database: Database, asker: Principal, **wanted: object) -> list[str]:
    async with database.principal_scope(asker) as tx:
        return [found.message for found in await search_logs(tx, LogFilter.model_validate(wanted))]


async def total(database: Database, asker: Principal, **wanted: object) -> int:
    async with database.principal_scope(asker) as tx:
        return (await count_logs(tx, LogFilter.model_validate(wanted))).total


class TestInsertLogs:
    async def test_gives_back_the_same_lines(self, database: Database) -> None:
        async with database.principal_scope(MINH) as tx:
            (found,) = await search_logs(tx, LogFilter(source="backup-01"))
        assert found == ACME_LINES[22]

    async def test_stores_more_lines_than_one_statement_takes(self, database: Database) -> None:
        initech = principal(tenant="initech", user="admin", roles=("admin",))
        async with database.principal_scope(initech) as tx:
            assert await insert_logs(tx, (line(f"tick {n}", minutes=n) for n in range(5_003))) == 5_003
        assert await total(database, principal(tenant="initech", department="it")) == 5_003

    async def test_the_same_lines_again_are_stored_once(self, database: Database) -> None:
        """Equal lines of one delivery are told apart by their order, so both are kept, and a repeat adds nothing."""
        umbrella = principal(tenant="umbrella", user="admin", roles=("admin",))
        lines = [line("twice"), line("twice"), line("once"), line("twice", level="ERROR")]
        for stored in (4, 0):
            async with database.principal_scope(umbrella) as tx:
                assert await insert_logs(tx, lines) == stored
        async with database.principal_scope(umbrella) as tx:
            assert await insert_logs(tx, [*lines, line("twice")]) == 1
        assert await total(database, principal(tenant="umbrella", department="it"), terms=("twice",)) == 4

    async def test_is_for_administrators(self, database: Database) -> None:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with database.principal_scope(MINH) as tx:
                await insert_logs(tx, [line("forged")])
        assert await total(database, MINH, terms=("forged",)) == 0


class TestRights:
    async def test_a_line_is_read_by_the_permission_rule(self, database: Database) -> None:
        for asker in (MINH, LAN, AN, ADMIN, RAJ):
            lines = GLOBEX_LINES if asker is RAJ else ACME_LINES
            readable = sorted(each.message for each in lines if asker.may_read(each.scope, each.department))
            assert sorted(await messages(database, asker)) == readable

    async def test_the_statements_keep_the_rule_without_the_policies(self, superuser_url: str) -> None:
        unbound = await Database.connect(superuser_url, pool_size=1)
        try:
            for asker in (MINH, LAN, AN, RAJ):
                lines = GLOBEX_LINES if asker is RAJ else ACME_LINES
                readable = [each for each in lines if asker.may_read(each.scope, each.department)]
                assert len(await messages(unbound, asker)) == len(readable)
                assert await total(unbound, asker) == len(readable)
                async with unbound.principal_scope(asker) as tx:
                    summary = await summarise_logs(tx, LogFilter())
                    assert sum(kind.lines for kind in summary.kinds) == summary.counts.total == len(readable)
        finally:
            await unbound.dispose()

    async def test_departments_narrow_and_never_widen(self, database: Database) -> None:
        assert await messages(database, LAN, departments=("hr",)) == ["payroll exported by lan"]
        assert "payroll exported by lan" not in await messages(database, MINH, departments=("hr", "it", "general"))
        assert await total(database, AN, departments=("it",)) == 0


class TestSearchLogs:
    async def test_newest_first_and_within_the_limit(self, database: Database) -> None:
        async with database.principal_scope(MINH) as tx:
            found = await search_logs(tx, LogFilter(terms=("failed", "login")), limit=3)
        assert [each.message.split()[4] for each in found] == ["u19", "u18", "u17"]

    async def test_pages_follow_one_another_without_a_gap(self, database: Database) -> None:
        seen: list[str] = []
        before: LogPosition | None = None
        async with database.principal_scope(MINH) as tx:
            whole = [each.message for each in await search_logs(tx, LogFilter())]
            while page := await page_logs(tx, LogFilter(), limit=4, before=before):
                seen += [each.message for each in page]
                before = page[-1].position
        assert seen == whole

    @pytest.mark.parametrize(
        ("terms", "lines"),
        [
            (("failed", "login"), 20),
            (("FAILED", "Logins"), 20),
            (("203.0.113.45",), 21),
            (("/backup/pool1",), 1),
            (("erp-db",), 1),
            (("máy", "giấy"), 1),
            (("pool",), 1),
            (("ogin",), 0),
            (("failed", "zebra"), 0),
            ((".*",), 0),
            (("[[:alpha:]]",), 0),
            (("(a+)+$",), 0),
            (("\\",), 0),
            (("%",), 0),
        ],
    )
    async def test_words_begin_where_words_of_the_message_begin(
        self, database: Database, terms: tuple[str, ...], lines: int
    ) -> None:
        assert await total(database, MINH, terms=terms) == lines

    async def test_one_word_is_enough_when_asked(self, database: Database) -> None:
        assert await total(database, MINH, terms=("zebra", "backup"), any_term=True) == 1
        assert await total(database, MINH, terms=(), any_term=True) == await total(database, MINH)

    async def test_levels_and_the_beginning_of_a_source(self, database: Database) -> None:
        assert await total(database, MINH, levels=("ERROR",)) == 2
        assert await total(database, MINH, levels=("ERROR", "FATAL"), source="BACKUP") == 1
        assert await total(database, MINH, source="gw-01") == 0
        assert await total(database, MINH, source="%") == 0

    async def test_a_span_holds_its_beginning_and_not_its_end(self, database: Database) -> None:
        span = {"since": ATTACK + timedelta(minutes=5), "until": ATTACK + timedelta(minutes=7)}
        assert await total(database, MINH, **span) == 2


class TestSummariseLogs:
    async def test_counts_in_all_by_source_and_by_level(self, database: Database) -> None:
        async with database.principal_scope(MINH) as tx:
            counts = (await summarise_logs(tx, LogFilter(terms=("failed",)))).counts
        assert (counts.total, counts.first, counts.last) == (22, ATTACK, ATTACK + timedelta(minutes=60))
        assert list(counts.by_source.items()) == [("vpn-gw-01", 21), ("backup-01", 1)]
        assert counts.by_level == {"WARN": 20, "ERROR": 2}

    async def test_nothing_is_counted_as_nothing(self, database: Database) -> None:
        async with database.principal_scope(MINH) as tx:
            found = await summarise_logs(tx, LogFilter(terms=("zebra",)))
        counts = found.counts
        assert (counts.total, counts.first, counts.by_source, counts.by_level) == (0, None, {}, {})
        assert found.kinds == ()

    async def test_lines_that_differ_in_users_and_numbers_are_one_kind_with_its_newest_line(
        self, database: Database
    ) -> None:
        async with database.principal_scope(MINH) as tx:
            (first, *_) = (await summarise_logs(tx, LogFilter())).kinds
        assert (first.lines, first.newest) == (20, ACME_LINES[19])


async def ask(
    database: Database, values: dict[str, str], *, asker: Principal = MINH, language: Language = "vi"
) -> ToolResult:
    tool = LogTool(database, RecordingReasoner(arguments=Arguments(values=values)))
    return await tool(call("log?", language=language, asker=asker, agent="it", departments=("it",), now=SATURDAY))


class TestRegex:
    async def test_is_found_in_lines_one_may_read(self, database: Database) -> None:
        result = await ask(database, {"regex": r"user u1\d from 203\.0\.113\.45"})
        assert result.text.startswith(r"Có 10 dòng log khớp mẫu /user u1\d from 203\.0\.113\.45/, ")
        assert result.findings[0].confidence == 0.9
        assert (await ask(database, {"regex": "privileged"}, asker=LAN)).text.startswith("Không có dòng log nào khớp")
        assert (await ask(database, {"regex": "failed"}, asker=RAJ)).text.startswith("Có 1 dòng log")

    async def test_goes_with_time_level_and_source(self, database: Database) -> None:
        found = await ask(database, {"regex": "f(ai)led", "level": "error", "source": "backup", "period": "12/11"})
        assert found.text.startswith("Có 1 dòng log mức ERROR khớp mẫu /f(ai)led/ của backup ngày 12/11/2026")

    @pytest.mark.parametrize("regex", ["(", r"(a)\1", "x{9999}", "a" * 501])
    async def test_is_refused_in_the_askers_language(self, database: Database, regex: str) -> None:
        with pytest.raises(ToolFailed, match="Mẫu tìm kiếm"):
            await ask(database, {"regex": regex})
        with pytest.raises(ToolFailed, match="The regular expression"):
            await ask(database, {"regex": regex}, language="en")

    async def test_finds_nothing_as_nothing(self, database: Database) -> None:
        result = await ask(database, {"regex": "zebra+"})
        assert result.text == "Không có dòng log nào khớp mẫu /zebra+/ trong số 25 dòng đã xem."
        assert result.findings[0].found is False


LONG_LINES = 300
LIMIT_SECONDS = 1.5


@pytest.fixture(scope="module")
async def reader(database: Database) -> Principal:
    hooli = principal(tenant="hooli", user="admin", roles=("admin",))
    texts = ("a" * 8_000, "ab=" * 2_600, "ế" * 8_000, "x1 " * 2_600)
    async with database.principal_scope(hooli) as tx:
        await insert_logs(tx, (line(f"{texts[n % 4]}{n}", minutes=n) for n in range(LONG_LINES)))
    return principal(tenant="hooli", user="reader", department="it")


class TestHostileRegexes:
    """Every search ends within its limit and a second, and holds nobody up meanwhile."""

    @pytest.mark.parametrize("regex", HOSTILE, ids=range(len(HOSTILE)))
    async def test_end_in_time(self, database: Database, reader: Principal, regex: str) -> None:
        tool = LogTool(database, RecordingReasoner(arguments=Arguments(values={"regex": regex})))
        loop, lags = asyncio.get_running_loop(), list[float]()

        async def watch() -> None:
            while True:
                before = loop.time()
                await asyncio.sleep(0.005)
                lags.append(loop.time() - before - 0.005)

        watching, began = asyncio.create_task(watch()), loop.time()
        asked = call("log?", asker=reader, agent="it", departments=("it",), now=SATURDAY)
        try:
            await tool(asked.model_copy(update={"until": began + LIMIT_SECONDS}))
        except ToolFailed as refusal:
            assert str(refusal)
        finally:
            watching.cancel()
        assert loop.time() - began < LIMIT_SECONDS + limit(1)
        assert max(lags, default=0.0) < limit(0.1)

    async def test_say_how_far_they_came(self, database: Database, reader: Principal) -> None:
        tool = LogTool(database, RecordingReasoner(arguments=Arguments(values={"regex": ".{600}z|a[^b]1"})))
        asked = call("log?", asker=reader, agent="it", departments=("it",), now=SATURDAY)
        late = asyncio.get_running_loop().time() + 1.2
        (line_told,) = (await tool(asked.model_copy(update={"until": late}))).trace
        looked = re.search(r"looked through (\d+) of (\d+)", line_told)
        assert looked and 0 < int(looked[1]) < int(looked[2]) == LONG_LINES


class TestLogTool:
    async def test_reports_what_was_asked_for(self, database: Database) -> None:
        result = await ask(database, {"terms": "failed login", "source": "vpn-gw", "period": "ngày 12/11"})
        assert result.text == (
            "Có 20 dòng log chứa “failed login” của vpn-gw ngày 12/11/2026, "
            "dòng đầu lúc 12/11/2026 09:00:00, dòng cuối lúc 12/11/2026 09:19:00 (giờ Việt Nam). "
            "Thường gặp nhất: “failed login for user # from #: wrong password” (20 dòng). "
            "Theo mức: WARN 20. Theo nguồn: vpn-gw-01 20. "
            "Ví dụ: 12/11/2026 09:19:00 vpn-gw-01 WARN failed login for user u19 from 203.0.113.45: wrong password."
        )

    async def test_the_finding_cites_up_to_three_lines(self, database: Database) -> None:
        (found,) = (await ask(database, {"terms": "failed", "level": "error"})).findings
        assert (found.agent, found.index, found.found, found.confidence) == ("it", 1, True, 0.9)
        assert [(each.url, each.source_type, each.scope) for each in found.evidence] == [
            ("log:backup-01", "log", "internal"),
            ("log:vpn-gw-01", "log", "internal"),
        ]
        assert found.evidence[0].created_at == ATTACK + timedelta(minutes=60)
        assert all(quote.text in quote.passage.text for quote in found.quotes)
        assert found.context == "Log hệ thống: backup-01, vpn-gw-01"
        assert len((await ask(database, {})).findings[0].evidence) == 3

    async def test_a_day_is_the_askers_day(self, database: Database) -> None:
        assert (await ask(database, {"period": "12/11"})).text.startswith("Có 25 dòng log ngày 12/11/2026")
        english = await ask(database, {"period": "on 12 November"}, language="en")
        assert english.text.startswith("25 log lines on 12 Nov 2026, the first at 12 Nov 2026 09:00:00")
        assert (await ask(database, {"period": "11/11"})).findings[0].found is False

    async def test_iso_times_are_understood(self, database: Database) -> None:
        result = await ask(database, {"since": "2026-11-12T02:05:00Z", "until": "2026-11-12T02:07:00Z"})
        assert result.text.startswith("Có 2 dòng log từ 12/11/2026 09:05 đến 12/11/2026 09:07")

    @pytest.mark.parametrize("level", ["error", "ERROR", "lỗi", "loi", "errors"])
    async def test_levels_go_by_many_names(self, database: Database, level: str) -> None:
        assert (await ask(database, {"level": level})).text.startswith("Có 2 dòng log mức ERROR, ")

    async def test_fewer_words_are_better_than_nothing(self, database: Database) -> None:
        result = await ask(database, {"terms": "zebra backup"})
        assert "chứa ít nhất một từ trong “zebra backup”" in result.text
        assert result.findings[0].confidence == 0.6

    async def test_none_of_known_lines_is_an_answer(self, database: Database) -> None:
        result = await ask(database, {"level": "critical", "source": "vpn-gw-01"})
        assert result.text == "Không có dòng log nào mức CRITICAL của vpn-gw-01 trong số 22 dòng đã xem."
        assert result.findings[0].found
        assert result.findings[0].answer == result.text
        assert [each.url for each in result.findings[0].evidence] == ["log:vpn-gw-01"]

    async def test_words_nobody_wrote_are_not_found(self, database: Database) -> None:
        result = await ask(database, {"terms": "zebra unicorn"})
        assert result.text.startswith("Không có dòng log nào chứa “zebra unicorn”")
        assert (result.findings[0].found, result.findings[0].answer, result.findings[0].evidence) == (False, "", ())

    async def test_a_time_that_is_not_understood_is_owned_up_to(self, database: Database) -> None:
        result = await ask(database, {"terms": "backup", "period": "độ nọ"})
        assert result.text.startswith("Có 1 dòng log chứa “backup”, ")
        assert "Không hiểu khoảng thời gian “độ nọ”" in result.text

    async def test_secrets_in_lines_are_never_shown(self, database: Database) -> None:
        result = await ask(database, {"source": "db-01"})
        assert "password=***" in result.text
        shown = result.model_dump_json()
        assert "hunter2" not in shown
        assert "s3cr3t" not in shown

    async def test_answers_every_query(self, database: Database) -> None:
        tool = LogTool(database, RecordingReasoner(arguments=Arguments(values={"terms": "failed"})))
        result = await tool(call("a", "b", asker=MINH, agent="it", departments=("it",)))
        assert [(found.index, found.query) for found in result.findings] == [(1, "a"), (2, "b")]
        assert len(result.text.splitlines()) == 2

    async def test_reads_only_the_departments_of_its_agent(self, database: Database) -> None:
        assert "print-01" not in (await ask(database, {})).text
        assert "hr-portal-01" not in (await ask(database, {}, asker=ADMIN)).text

    async def test_private_lines_show_to_their_department_alone(self, database: Database) -> None:
        assert "auth-01" in (await ask(database, {})).text
        other = await ask(database, {}, asker=LAN)
        assert "auth-01" not in other.text
        assert other.text.startswith("Có 24 dòng log")

    async def test_other_tenants_lines_do_not_exist(self, database: Database) -> None:
        result = await ask(database, {"terms": "failed"}, asker=RAJ)
        assert result.text.startswith("Có 1 dòng log")
        assert "203.0.113.45" not in result.text

    async def test_fails_for_who_may_read_no_line(self, database: Database) -> None:
        with pytest.raises(ToolFailed, match="Không có log hệ thống nào"):
            await ask(database, {"terms": "failed"}, asker=AN)

    async def test_asks_for_another_try_when_the_database_is_away(self) -> None:
        class AwayDatabase:
            def principal_scope(self, principal: Principal) -> None:
                raise AppError(ErrorCode.DATABASE_UNAVAILABLE, "away", status=503)

        with pytest.raises(ToolRetry):
            await ask(cast("Database", AwayDatabase()), {})
