from datetime import UTC, datetime, timedelta
from typing import Any

from app.text.dates import VIETNAM, Period
from extras.logs.lines import LogLine
from extras.logs.reading import LogCounts, LogFilter, LogKind
from extras.logs.regex import compile_regex
from extras.logs.report import (
    LogQuestion,
    LogResult,
    choose_samples,
    merged_patterns,
    shown_message,
    write_line,
    write_report,
)
from extras.logs.search import Looked

FIRST = datetime(2026, 11, 12, 2, 0, 12, tzinfo=UTC)
DAY = Period(datetime(2026, 11, 12, tzinfo=VIETNAM), datetime(2026, 11, 13, tzinfo=VIETNAM))
LINE = LogLine(
    logged_at=FIRST, source="vpn-gw-01", level="ERROR", department="it", scope="internal",
    message="automatic block of 203.0.113.45 failed: block list full, token=abc123",
)  # fmt: skip
COUNTS = LogCounts(
    total=1_191,
    first=FIRST,
    last=FIRST + timedelta(minutes=59),
    by_source={"vpn-gw-01": 1_100, "a": 40, "b": 20, "c": 15, "d": 10, "e": 4, "f": 2},
    by_level={"WARN": 1_189, "ERROR": 2},
)
NONE = LogCounts()
EVER = Period()


def kind(message: str, lines: int, level: str = "WARN") -> LogKind:
    return LogKind(lines=lines, newest=LINE.model_copy(update={"message": message, "level": level}))


KINDS = (kind("failed login for user lan from 203.0.113.9", 187), kind("block failed", 2, "ERROR"))


def question(regex: str = "", level: str = "", period: Period = EVER, unclear: str = "", **wanted: Any) -> LogQuestion:
    levels = (level,) if level else ()
    narrowed = LogFilter(levels=levels, since=period.since, until=period.until, **wanted)
    return LogQuestion(narrowed, compile_regex(regex) if regex else None, unclear)


class TestWriteReport:
    def test_tells_count_span_levels_sources_patterns_and_an_example_in_vietnamese(self) -> None:
        asked = question(terms=("failed", "login"), source="vpn-gw-01", period=DAY)
        assert write_report(asked, LogResult(COUNTS, KINDS, (LINE,)), "vi") == (
            "Có 1.191 dòng log chứa “failed login” của vpn-gw-01 ngày 12/11/2026, "
            "dòng đầu lúc 12/11/2026 09:00:12, dòng cuối lúc 12/11/2026 09:59:12 (giờ Việt Nam). "
            "Thường gặp nhất: “failed login for user # from #” (187 dòng); “block failed” (2 dòng). "
            "Theo mức: WARN 1.189, ERROR 2. "
            "Theo nguồn: vpn-gw-01 1.100, a 40, b 20, c 15, d 10, nguồn khác 6. "
            "Ví dụ: 12/11/2026 09:00:12 vpn-gw-01 ERROR "
            "automatic block of 203.0.113.45 failed: block list full, token=***."
        )

    def test_tells_the_same_in_english_and_utc(self) -> None:
        asked = question(level="ERROR", period=Period(FIRST, None))
        text = write_report(asked, LogResult(COUNTS, (), (LINE,)), "en")
        assert text.startswith(
            "1,191 log lines of level ERROR from 12 Nov 2026 02:00, "
            "the first at 12 Nov 2026 02:00:12, the last at 12 Nov 2026 02:59:12 (UTC). By level: WARN 1,189, ERROR 2."
        )
        assert "other sources 6" in text
        assert "Example: 12 Nov 2026 02:00:12 vpn-gw-01 ERROR automatic block" in text

    def test_counts_a_single_english_line_as_one(self) -> None:
        one = LogCounts(total=1, first=FIRST, last=FIRST, by_source={"a": 1}, by_level={"INFO": 1})
        assert write_report(question(), LogResult(one), "en").startswith("1 log line, the first")

    def test_says_when_only_some_words_match(self) -> None:
        asked = question(terms=("zebra", "login"))
        assert "chứa ít nhất một từ trong “zebra login”" in write_report(asked, LogResult(COUNTS, partly=True), "vi")

    def test_says_how_many_lines_hold_nothing(self) -> None:
        asked = question(level="CRITICAL", source="db-01", period=DAY)
        assert write_report(asked, LogResult(NONE, examined=12), "vi") == (
            "Không có dòng log nào mức CRITICAL của db-01 ngày 12/11/2026 trong số 12 dòng đã xem."
        )
        assert write_report(asked, LogResult(NONE), "en") == (
            "No log line of level CRITICAL from db-01 from 11 Nov 2026 17:00 until 12 Nov 2026 17:00."
        )

    def test_owns_up_to_a_time_it_did_not_understand(self) -> None:
        asked = question(unclear="độ nọ")
        assert write_report(asked, LogResult(COUNTS), "vi").endswith(
            "Không hiểu khoảng thời gian “độ nọ” nên đã xem log ở mọi thời điểm."
        )

    def test_tells_how_far_a_regular_expression_was_looked_for(self) -> None:
        asked = question(regex="time(d )?out")
        text = write_report(asked, LogResult(COUNTS, looked=Looked(50_000, 1_200_000)), "vi")
        assert text.startswith("Có 1.191 dòng log khớp mẫu /time(d )?out/, ")
        assert "Mới xem 50.000 trên 1.200.000 dòng" in text
        assert "Looked through" not in write_report(asked, LogResult(COUNTS, looked=Looked(7, 7)), "en")


class TestChooseSamples:
    def test_shows_the_most_frequent_first_then_the_gravest(self) -> None:
        noise = [kind(f"noise of kind {name}", 50 - n, "INFO") for n, name in enumerate("abc")]
        chosen = choose_samples([kind("wrong password", 90), *noise, kind("disk full", 2, "ERROR")])
        assert [line.message for line in chosen] == ["wrong password", "disk full", "noise of kind a"]

    def test_shows_nothing_of_nothing(self) -> None:
        assert choose_samples([]) == ()


class TestMergedPatterns:
    def test_users_and_addresses_are_one_kind_and_secrets_never_show(self) -> None:
        merged = merged_patterns(
            [
                kind("failed login for user lan from 203.0.113.9", 3),
                kind("failed login for user ha from 10.20.3.4", 4),
                kind("reset password=geheim for user lan", 1),
            ]
        )
        assert merged == [("failed login for user # from #", 7), ("reset password=*** for user #", 1)]


class TestShownMessage:
    def test_is_one_short_line(self) -> None:
        shown = shown_message("a\nb\t" + "x" * 500)
        assert shown.startswith("a b xxx")
        assert (len(shown), shown[-1]) == (200, "…")

    def test_a_secret_is_masked_before_the_cut(self) -> None:
        assert "hunter" not in shown_message("x" * 185 + " password=hunter2hunter2hunter2")

    def test_a_line_names_time_source_and_level(self) -> None:
        assert write_line(LINE, "en").startswith("12 Nov 2026 02:00:12 vpn-gw-01 ERROR automatic block")
