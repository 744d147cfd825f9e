"""Questions for what changed: both languages, with and without diacritics, and none of the neighbouring questions."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.local.classify import as_of_in
from app.text.language import fold
from extras.changes.asked import asks_changes, changes_asked
from extras.changes.questions import changes_arguments

SEED = Path(__file__).parents[3] / "seed_data"
EVAL = Path(__file__).parents[4] / "shared" / "eval"
TODAY = date(2026, 11, 22)
ASKED = [
    ("Quy định nghỉ phép có gì thay đổi từ 1/1/2025?", "Quy định nghỉ phép", "since", "2025-01-01/2025-01-01"),
    ("what changed in the travel policy since March 2025?", "The travel policy", "since", "2025-03-01/2025-03-31"),
    ("so với năm 2024 thì chính sách nghỉ phép khác gì?", "Chính sách nghỉ phép", "against", "2024-01-01/2024-12-31"),
    ("what's new in the remote work policy?", "The remote work policy", None, ""),
    ("Có gì mới trong chính sách làm việc từ xa?", "Chính sách làm việc từ xa", None, ""),
    ("How has the leave policy changed since 2024?", "The leave policy", "since", "2024-01-01/2024-12-31"),
    ("Has the password policy changed since last year?", "The password policy", "since", "last year"),
    ("What is different in the leave policy compared to 2024?", "The leave policy", "against", "2024-01-01/2024-12-31"),
    ("Năm 2025 chính sách nghỉ phép có gì thay đổi?", "Chính sách nghỉ phép", "during", "2025-01-01/2025-12-31"),
    ("Từ đầu năm nay quy định đi muộn có thay đổi gì không?", "Quy định đi muộn", "since", "dau nam nay"),
    ("Trong 6 tháng qua quy định làm từ xa có gì mới?", "Quy định làm từ xa", "during", "6 thang qua"),
    ("Những thay đổi của chính sách nghỉ phép kể từ tháng 3/2025 là gì?", "Chính sách nghỉ phép", "since",
     "2025-03-01/2025-03-31"),
    ("Tell me what changed in the expense rules after June 2025", "The expense rules", "against",
     "2025-06-01/2025-06-30"),
    ("Mức chuyển phép thay đổi thế nào từ 2026?", "Mức chuyển phép", "since", "2026-01-01/2026-12-31"),
    ("Công tác phí có gì thay đổi?", "Công tác phí", None, ""),
    ("Quy định về phép năm hiện nay có gì khác?", "Quy định về phép năm", None, ""),
]  # fmt: skip
OTHERS = [
    "Chính sách nghỉ phép năm 2026 khác gì so với năm 2024?",
    "What changed in carry-over between the 2024 and the 2026 leave policies?",
    "Mật khẩu phải thay đổi mấy lần một năm?",
    "Muốn thay đổi tài khoản ngân hàng thì làm gì?",
    "How do I change my password?",
    "Ai duyệt thay đổi ngân sách?",
    "tell me how to make changes to my insurance policy",
    "hey buddy, what's new",
    "Có gì mới không?",
    "What has changed?",
    "Sự cố P1 và P2 khác nhau thế nào?",
    "Quy định hiệu lực từ 1/9/2026 có gì mới?",
    "Chính sách nghỉ phép năm 2024 thế nào?",
]


class TestChangesAsked:
    @pytest.mark.parametrize(("query", "subject", "relation", "time"), ASKED)
    def test_reads_subject_and_time(self, query: str, subject: str, relation: str | None, time: str) -> None:
        found = changes_asked(query)
        assert found is not None
        assert (found.subject, found.relation, found.time) == (subject, relation, time)
        assert found.words in query

    @pytest.mark.parametrize("query", [query for query, *_ in ASKED])
    def test_diacritics_are_not_needed(self, query: str) -> None:
        found, plain = changes_asked(query), changes_asked(fold(query))
        assert found is not None
        assert plain is not None
        assert (plain.subject, plain.relation) == (fold(found.subject), found.relation)

    @pytest.mark.parametrize("query", OTHERS)
    def test_leaves_every_other_question_alone(self, query: str) -> None:
        assert changes_asked(query) is None

    def test_none_of_the_demo_questions_is_one(self) -> None:
        asked = list(_questions(SEED))
        assert len(asked) > 100
        assert [query for query in asked if asks_changes(query)] == []

    @pytest.mark.skipif(not EVAL.exists(), reason="the shared evaluation data is not here")
    def test_hardly_any_of_the_development_data_is_one(self) -> None:
        asked = [query for query in _questions(EVAL) if len(query) < 200]
        assert [query for query in asked if asks_changes(query)] == []

    @given(st.text(max_size=200))
    def test_any_text_may_come(self, text: str) -> None:
        found = changes_asked(text)
        assert found is None or found.subject

    def test_is_no_comparison_and_means_no_other_day(self) -> None:
        for query, *_ in ASKED:
            assert as_of_in(query, TODAY) is None


class TestArguments:
    def test_name_the_time_by_its_relation(self) -> None:
        values = changes_arguments("Quy định nghỉ phép có gì thay đổi từ 1/1/2025?").values
        assert values == {
            "subject": "Quy định nghỉ phép", "since": "2025-01-01/2025-01-01", "words": "từ 1/1/2025",
        }  # fmt: skip

    def test_any_other_query_is_a_subject(self) -> None:
        assert changes_arguments("nghỉ phép").values == {"subject": "nghỉ phép"}


def _questions(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            texts = (
                (row.get(key) for key in ("question", "query", "text", "utterance")) if isinstance(row, dict) else ()
            )
            yield from (text for text in texts if isinstance(text, str))
