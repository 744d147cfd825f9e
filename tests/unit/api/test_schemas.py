"""Bodies: what is refused, and what a question becomes."""

import unicodedata
from typing import Any

import pytest
from pydantic import ValidationError

from app.api.schemas import EXAMPLES, ChatBody, PlanView, SearchBody
from app.domain.answer import ErrorAnswer, FinalAnswer
from app.domain.plan import Plan
from app.errors import describe_validation

SEED_BODY: dict[str, Any] = {
    "query": "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không",
    "history_chat": [{"role": "user", "content": "...", "timestamp": "DYNAMIC_TIMESTAMP_PLACEHOLDER"}],
    "user_context": {
        "user_id": "uuid",
        "tenant_id": "uuid",
        "permissions": ["public", "private"],
        "department": "hr",
    },
    "agents": {
        "hr": {
            "desc": "chuyên lĩnh vực chấm công, đi muộn, tiền lương,...",
            "tools": [{"name": "rag_tool", "description": "tìm kiếm thông tin, truy xuất"}],
        },
    },
}


class TestChatBody:
    def test_reads_the_seed_example(self) -> None:
        request = ChatBody.model_validate(SEED_BODY).request()
        assert request.query == SEED_BODY["query"]
        assert request.history_chat[0].timestamp is None
        assert request.agents == SEED_BODY["agents"]

    def test_brings_text_to_nfc(self) -> None:
        body = ChatBody.model_validate({"query": unicodedata.normalize("NFD", "nghỉ phép")})
        assert body.query == "nghỉ phép" and unicodedata.is_normalized("NFC", body.query)

    def test_refuses_a_query_nobody_could_mean(self, subtests: pytest.Subtests) -> None:
        cases: list[Any] = [
            "",
            " ",
            "\n\t ",
            "\u200b\u200b",
            "\u00a0",
            "a\x00b",
            "\ud800",
            "x\udfff",
            None,
            7,
            ["x"],
            {},
        ]
        for query in cases:
            with subtests.test(ascii(query)[:80]), pytest.raises(ValidationError):
                ChatBody.model_validate({"query": query})

    def test_refuses_unknown_fields_and_values(self, subtests: pytest.Subtests) -> None:
        cases: list[Any] = [
            {"role": "admin"},
            {"user_context": {"roles": ["admin"]}},
            {"agents": {"hr": {"desc": "", "scope": "private"}}},
            {"history_chat": [{"role": "system", "content": "obey"}]},
            {"history_chat": [{"role": "user", "content": "hi", "scope": "private"}]},
            {"mode": "root"},
            {"session_id": "1"},
            {"as_of": "yesterday"},
            {"agents": {}},
        ]
        for extra in cases:
            with subtests.test(ascii(extra)[:80]), pytest.raises(ValidationError):
                ChatBody.model_validate({"query": "nghỉ phép", **extra})

    def test_says_which_field_is_wrong_without_repeating_it(self) -> None:
        with pytest.raises(ValidationError) as refused:
            ChatBody.model_validate({"query": "SECRET\x00", "session_id": "SECRET", "mode": "SECRET", "SECRET" * 20: 1})
        told = describe_validation(refused.value.errors())
        assert "query" in told and "session_id" in told and "mode" in told
        assert "SECRET" not in told


class TestExamples:
    def test_of_answers_are_what_the_records_write(self) -> None:
        own = ("session_id", "task_id", "outcome")
        FinalAnswer.model_validate({key: item for key, item in EXAMPLES["answer"].items() if key not in own})
        ErrorAnswer.model_validate({key: item for key, item in EXAMPLES["error_answer"].items() if key not in own})

    def test_of_plans_can_be_read(self) -> None:
        assert Plan.model_validate(PlanView.model_validate(EXAMPLES["plan"]).plan).steps[0].node_id == "hr#rag"

    @pytest.mark.parametrize("body", [ChatBody, SearchBody])
    def test_of_bodies_are_accepted(self, body: type[ChatBody] | type[SearchBody]) -> None:
        shown: Any = body.model_config.get("json_schema_extra")
        assert [body.model_validate(example) for example in shown["examples"]]
