"""The demonstration companies' logs: read line by line, and told anew every day."""

from datetime import timedelta
from pathlib import Path

import pytest

from app.errors import AppError, ErrorCode
from extras.logs.demo import read_logs, repeat_last_day

SEED = Path(__file__).parents[3] / "seed_data"
LINE = (
    '{"logged_at": "2026-10-22T00:00:09Z", "level": "INFO", "source": "db-01", "department": "it",'
    ' "scope": "internal", "message": "ok"}\n'
)


class TestReading:
    def test_a_company_without_logs_has_none(self, tmp_path: Path) -> None:
        assert list(read_logs(tmp_path / "logs.jsonl")) == []

    def test_names_a_broken_line(self, tmp_path: Path) -> None:
        path = tmp_path / "logs.jsonl"
        path.write_text(LINE + LINE.replace('"source": "db-01", ', ""), "utf-8")
        with pytest.raises(AppError, match="line 2: source") as caught:
            list(read_logs(path))
        assert caught.value.code is ErrorCode.DOCUMENT_REJECTED


class TestTheDemosLogs:
    def test_tell_of_yesterday_whatever_day_it_is(self) -> None:
        lines = tuple(read_logs(SEED / "acme" / "logs.jsonl"))
        last = max(one.logged_at for one in lines)
        for days in (1, 2, 29, 30, 31, 400):
            now = last.replace(hour=12) + timedelta(days=days)
            told = [one for day in repeat_last_day(lines, now) for one in day]
            yesterday = [one for one in told if now - timedelta(days=1, hours=12) <= one.logged_at]
            assert any(one.source == "vpn-gw-01" and one.level == "ERROR" for one in yesterday) or days == 1
            assert all(last.date() < one.logged_at.date() <= now.date() and one.logged_at <= now for one in told)
            assert {one.logged_at.date() for one in told} <= {now.date() - timedelta(days=back) for back in range(31)}
        assert repeat_last_day(lines, last - timedelta(days=3)) == [] == repeat_last_day((), last)
