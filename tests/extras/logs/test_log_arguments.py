"""What a question says about the log lines it wants."""

import pytest

from app.domain.knowledge import Language
from app.reasoning.local.intents import sub_queries_of
from app.text.language import fold
from extras.logs.questions import log_arguments

QUESTIONS: list[tuple[str, dict[str, str]]] = [
    (
        "hôm qua VPN có bao nhiêu lỗi, lỗi nào nhiều nhất?",
        {"source": "vpn", "period": "hôm qua", "level": "error"},
    ),
    (
        "How many VPN errors were there yesterday, and which error was most frequent?",
        {"source": "vpn", "period": "yesterday", "level": "error"},
    ),
    (
        "từ 8h đến 10h sáng nay có lỗi gì trên erp-01?",
        {"source": "erp-01", "period": "từ 8h đến 10h sáng nay", "level": "error"},
    ),
    ("cảnh báo của tường lửa tuần trước", {"source": "fw", "period": "tuần trước", "level": "warning"}),
    ("failed logins on auth-01 last 3 days", {"source": "auth-01", "period": "last 3 days", "terms": "failed login"}),
]


class TestLogArguments:
    @pytest.mark.parametrize(("query", "values"), QUESTIONS)
    def test_are_what_the_question_says(self, query: str, values: dict[str, str]) -> None:
        assert log_arguments(query).values == values

    @pytest.mark.parametrize(("query", "values"), QUESTIONS)
    def test_are_the_same_without_diacritics(self, query: str, values: dict[str, str]) -> None:
        assert log_arguments(fold(query)).values == {name: fold(value) for name, value in values.items()}

    @pytest.mark.parametrize(
        ("query", "regex"),
        [
            ("tìm log khớp /time(d )?out|refused/ hôm qua", "time(d )?out|refused"),
            (r"log lines like /GET \/orders\/\d+/ please", r"GET \/orders\/\d+"),
            ("lỗi đọc /backup/pool1 ngày 12/11/2026", ""),
            ("disk usage of /var/lib/postgresql", ""),
            ("https://a.example/log/x/", ""),
        ],
    )
    def test_an_expression_stands_between_slashes(self, query: str, regex: str) -> None:
        assert log_arguments(query).values.get("regex", "") == regex


class TestOneQuestion:
    @pytest.mark.parametrize(
        ("query", "language"),
        [
            (QUESTIONS[0][0], "vi"),
            (fold(QUESTIONS[0][0]), "vi"),
            ("How many errors did the VPN have yesterday, which was the most frequent?", "en"),
        ],
    )
    def test_how_many_and_which_most_are_asked_together(self, query: str, language: Language) -> None:
        assert len(sub_queries_of(query, language)) == 1
