import json
from typing import Any

import pytest
from pydantic import ValidationError

from app.agents.spec import SERVER_TOOL_PATTERN, AgentSpec, AgentTool
from app.tools.catalogue import tool_names
from bench.agent_schema import SCHEMA_PATH, agent_schema
from tests.factories import principal

FINANCE: dict[str, Any] = {
    "name": "finance",
    "description": "ngân sách, hóa đơn, chi phí",
    "tools": ["rag_tool", "math_tool"],
    "exemplars": ["Hạn mức chi phí tiếp khách là bao nhiêu?"],
}


class TestAgentSpec:
    def test_four_keys_are_enough(self) -> None:
        spec = AgentSpec.model_validate(FINANCE)
        assert (spec.description.vi, spec.description.en) == (FINANCE["description"], FINANCE["description"])
        assert [(tool.name, tool.description, tool.type) for tool in spec.tools] == [
            ("rag_tool", "", ""),
            ("math_tool", "", ""),
        ]
        assert spec.departments == ("finance",)
        assert spec.domain == "finance_policies"
        assert spec.exemplars.all == ("Hạn mức chi phí tiếp khách là bao nhiêu?",)
        assert (spec.is_fallback, spec.token_limit, spec.timeout_ms, spec.max_concurrency) == (False, 500, None, None)

    def test_the_long_form_says_the_same_in_full(self) -> None:
        long = {
            **FINANCE,
            "description": {"vi": "ngân sách", "en": "budgets"},
            "tools": [{"name": "rag_tool", "description": "tìm hóa đơn"}],
            "exemplars": {"vi": ["a", "b"], "en": ["b", "c"]},
            "departments": ["finance", "general"],
            "domain": "money",
            "timeout_ms": 5000,
            "max_concurrency": 2,
            "token_limit": 800,
        }
        spec = AgentSpec.model_validate(long)
        assert (spec.description.en, spec.tools[0].description) == ("budgets", "tìm hóa đơn")
        assert spec.exemplars.all == ("a", "b", "c")
        assert (spec.departments, spec.domain, spec.timeout_ms) == (("finance", "general"), "money", 5000)

    def test_a_pool_reads_no_documents_and_names_tools_of_servers_with_their_types(self) -> None:
        tools = [{"name": "math.mcp_sum", "type": "sum"}, "math.mcp_evaluate"]
        spec = AgentSpec.model_validate({**FINANCE, "is_pool": True, "tools": tools})
        assert spec.departments == ()
        assert [(tool.name, tool.type) for tool in spec.tools] == [("math.mcp_sum", "sum"), ("math.mcp_evaluate", "")]

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            ({"name": "Finance"}, "pattern"),
            ({"name": "fi nance"}, "pattern"),
            ({"name": "x" * 60}, "pattern"),
            ({"name": "orchestrator"}, "leader's own name"),
            ({"tools": []}, "at least 1 item"),
            ({"tools": ["sql_tool"]}, "there is no tool 'sql_tool'; the tools are rag_tool"),
            ({"tools": ["rag_tool", "rag_tool"]}, "named twice: rag_tool"),
            ({"tools": [{"name": "rag_tool", "scopes": ["secret"]}]}, "'public', 'internal' or 'private'"),
            ({"exemplars": []}, "at least one exemplar"),
            ({"exemplars": {"vi": [" "]}}, "at least one exemplar"),
            ({"description": ""}, "at least 1 character"),
            ({"timeout_ms": 0}, "greater than or equal to 1"),
            ({"colour": "blue"}, "Extra inputs"),
        ],
    )
    def test_refuses_what_it_does_not_understand(self, change: dict[str, Any], complaint: str) -> None:
        with pytest.raises(ValidationError, match=complaint):
            AgentSpec.model_validate(FINANCE | change)

    @pytest.mark.parametrize("value", [None, [], "hr", 3])
    def test_refuses_what_is_no_mapping(self, value: object) -> None:
        with pytest.raises(ValidationError):
            AgentSpec.model_validate(value)


class TestAgentTool:
    def test_is_for_everyone_unless_it_says_otherwise(self) -> None:
        assert AgentTool(name="rag_tool").is_for(principal(scopes=()))

    def test_may_be_for_some_departments_and_administrators(self) -> None:
        tool = AgentTool(name="log_tool", departments=("it",))
        assert tool.is_for(principal(department="it"))
        assert not tool.is_for(principal(department="hr"))
        assert tool.is_for(principal(department="hr", roles=("admin",)))
        assert not tool.is_for(principal(department="hr", roles=("reader",)))

    def test_may_ask_for_scopes_which_no_role_replaces(self) -> None:
        tool = AgentTool(name="rag_tool", scopes=("internal", "private"))
        assert tool.is_for(principal())
        assert not tool.is_for(principal(scopes=("public", "internal")))
        assert not tool.is_for(principal(scopes=("public",), roles=("admin",)))


class TestAgentSchema:
    def test_the_written_file_is_up_to_date(self) -> None:
        assert SCHEMA_PATH.read_text("utf-8") == agent_schema(), "run python -m bench.agent_schema"

    def test_asks_for_the_four_keys_and_knows_the_tools_and_short_forms(self) -> None:
        schema = json.loads(agent_schema())
        assert set(schema["required"]) == {"name", "description", "tools", "exemplars"}
        assert schema["additionalProperties"] is False
        short, long = schema["properties"]["tools"]["items"]["anyOf"]
        listed, of_server = short["anyOf"]
        assert listed == {"type": "string", "enum": list(tool_names())}
        assert of_server == {"type": "string", "pattern": SERVER_TOOL_PATTERN}
        assert long == {"$ref": "#/$defs/AgentTool"}
        assert schema["properties"]["description"]["anyOf"][0]["type"] == "string"
        assert schema["properties"]["exemplars"]["anyOf"][0]["type"] == "array"
