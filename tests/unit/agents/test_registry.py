from pathlib import Path
from typing import Any

import pytest

from app.agents.registry import BUILT_IN as FOLDERS
from app.agents.registry import AgentRegistry, every_tool, read_spec
from app.agents.spec import FileRefused
from app.domain.answer import ResolutionRules
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.text.language import guess_language
from app.tools.catalogue import tool_names
from tests.factories import principal

BUILT_IN = ("hr", "it", "general")
POOLS = ("date", "math", "research")
USED = POOLS
"""Pools with tools that are not turned off."""
SEED_DESCRIPTIONS = {
    "hr": "chuyên lĩnh vực chấm công, đi muộn, tiền lương,...",
    "it": "chuyên lĩnh vực xử lý lỗi, sự cố bảo mật,...",
    "general": "tổng quát, xử lý các câu hỏi không thuộc domain cụ thể",
}
SEED_TOOLS = {
    "hr": {
        "rag_tool": "tìm kiếm thông tin, truy xuất",
        "summary_tool": "tổng hợp thông tin",
        "math_tool": "tính toán thông tin",
    },
    "it": {
        "rag_tool": "tìm kiếm thông tin, truy xuất",
        "log_tool": "tổng hợp thông tin log của công ty",
        "math_tool": "tính toán thông tin",
    },
    "general": {"rag_tool": "tìm kiếm thông tin chung"},
}
SEED_REQUEST = {
    name: {
        "desc": SEED_DESCRIPTIONS[name],
        "tools": [{"name": tool, "description": told} for tool, told in tools.items()],
    }
    for name, tools in SEED_TOOLS.items()
}
"""The ``agents`` object of the flow's input example."""
FINANCE = """
name: finance
description: ngân sách, hóa đơn, chi phí
tools: [rag_tool, math_tool]
exemplars:
  - Hạn mức chi phí tiếp khách là bao nhiêu?
  - How do I submit an invoice?
"""
LAN, MINH = principal(), principal(user="minh", department="it")


@pytest.fixture(scope="module")
def registry() -> AgentRegistry:
    return AgentRegistry.load(None)


def tools_of(
    registry: AgentRegistry, asker: Principal, requested: dict[str, Any] | None = None
) -> dict[str, list[str]]:
    return {offer.name: list(offer.tools) for offer in registry.offers_for(asker, requested)}


def written(folder: Path, text: str, name: str = "finance.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


class TestBuiltInAgents:
    def test_are_three_with_the_general_one_last_and_pools_behind(self, registry: AgentRegistry) -> None:
        assert registry.names == (*BUILT_IN, *POOLS)
        assert [name for name in registry.names if registry.spec(name).is_pool] == list(POOLS)
        assert [registry.spec(name).is_fallback for name in BUILT_IN] == [False, False, True]

    @pytest.mark.parametrize("name", BUILT_IN)
    def test_have_the_seeds_descriptions_and_tools(self, registry: AgentRegistry, name: str) -> None:
        spec = registry.spec(name)
        assert spec.description.vi == SEED_DESCRIPTIONS[name]
        assert SEED_TOOLS[name].items() <= {tool.name: tool.description for tool in spec.tools}.items()
        assert {tool.name for tool in spec.tools} - SEED_TOOLS[name].keys() <= {
            "summary_tool",
            "files_tool",
            "changes_tool",
        }

    @pytest.mark.parametrize("name", BUILT_IN)
    def test_read_the_documents_of_their_own_department(self, registry: AgentRegistry, name: str) -> None:
        assert registry.spec(name).departments == (name,)

    @pytest.mark.parametrize("name", BUILT_IN)
    def test_belong_to_a_published_domain(self, registry: AgentRegistry, name: str) -> None:
        assert ResolutionRules().priority_by_domain[registry.spec(name).domain] == f"{name}_agent"

    @pytest.mark.parametrize("name", BUILT_IN)
    def test_have_fifteen_exemplars_in_each_language(self, registry: AgentRegistry, name: str) -> None:
        exemplars = registry.spec(name).exemplars
        assert min(len(set(exemplars.vi)), len(set(exemplars.en))) >= 15
        assert [text for text in exemplars.vi if guess_language(text) != "vi"] == []
        assert [text for text in exemplars.en if not text.isascii()] == []

    def test_share_no_exemplar(self, registry: AgentRegistry) -> None:
        every = [text for name in BUILT_IN for text in registry.spec(name).exemplars.all]
        assert len(every) == len(set(every))

    def test_name_only_tools_there_are_and_do_without_those_of_extras_that_are_left_out(self) -> None:
        named = {tool.name for folder in FOLDERS for path in folder.glob("*.yaml") for tool in read_spec(path).tools}
        assert named <= {*every_tool(), *tool_names()}
        assert {"python_tool"} <= set(tool_names())
        bare = AgentRegistry.load(None, {"rag_tool": "Answers from documents."})
        offers = bare.offers_for(principal(), None)
        assert offers and all(list(offer.tools) == ["rag_tool"] for offer in offers)


class TestPools:
    def test_offer_an_agent_type_for_each_tool_and_read_no_documents(self, registry: AgentRegistry) -> None:
        offers = {offer.name: offer for offer in registry.offers_for(LAN, None)}
        assert offers["math"].types["sum"] == "math.mcp_sum"
        assert offers["date"].types["working_days"] == "date.working_days"
        for name in USED:
            assert set(offers[name].types.values()) == set(offers[name].tools)
            assert (offers[name].departments, offers[name].own_tool) == ((), "")

    def test_may_be_asked_for_alone(self, registry: AgentRegistry) -> None:
        assert list(tools_of(registry, LAN, {"math": {}})) == ["math"]
        assert tools_of(registry, principal(scopes=()), {"math": {}}) == {}

    def test_a_tool_no_server_offers_is_refused_by_name(self, tmp_path: Path) -> None:
        written(tmp_path, FINANCE.replace("math_tool]", "math.mcp_guess]"))
        with pytest.raises(FileRefused, match=r"no MCP server offers math\.mcp_guess"):
            AgentRegistry.load(tmp_path)


class TestLoad:
    def test_one_file_adds_a_department(self, tmp_path: Path) -> None:
        written(tmp_path, FINANCE)
        registry = AgentRegistry.load(tmp_path)
        assert registry.names == ("finance", "hr", "it", "general", *POOLS)
        offer = registry.offers_for(LAN, None)[0]
        assert (offer.name, list(offer.tools), offer.departments) == (
            "finance",
            ["rag_tool", "math_tool"],
            ("finance",),
        )
        assert "How do I submit an invoice?" in offer.exemplars
        assert "finance" in registry.accessible_departments(LAN)

    def test_other_files_in_the_folder_are_left_alone(self, tmp_path: Path) -> None:
        written(tmp_path, "not an agent", "README.md")
        written(tmp_path, FINANCE, "finance.yml")
        assert "finance" in AgentRegistry.load(tmp_path).names

    def test_refuses_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(FileRefused, match="no such folder"):
            AgentRegistry.load(tmp_path / "agents")

    def test_refuses_a_name_that_is_taken_and_names_both_files(self, tmp_path: Path) -> None:
        path = written(tmp_path, FINANCE.replace("name: finance", "name: hr"))
        with pytest.raises(FileRefused) as refused:
            AgentRegistry.load(tmp_path)
        assert str(refused.value) == f"{path}: name: 'hr' is already the name of {FOLDERS[0] / 'hr.yaml'}"

    def test_refuses_two_files_of_the_operator_with_one_name(self, tmp_path: Path) -> None:
        written(tmp_path, FINANCE, "a.yaml")
        written(tmp_path, FINANCE, "b.yaml")
        with pytest.raises(FileRefused, match=r"b\.yaml: name: 'finance' is already the name of .*a\.yaml"):
            AgentRegistry.load(tmp_path)


class TestReadSpec:
    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            (
                FINANCE.replace("math_tool", "sql_tool"),
                "tools.1.name: there is no tool 'sql_tool'; the tools are rag_tool",
            ),
            (FINANCE + "colour: blue\n", "colour: Extra inputs are not permitted"),
            (FINANCE.replace("description: ngân sách, hóa đơn, chi phí", ""), "description: Field required"),
            (FINANCE + "name: other\n", "the key 'name' stands twice"),
            (FINANCE + "timeout_ms: soon\n", "timeout_ms: Input should be a valid integer"),
            ("- rag_tool\n", "the file: "),
            ("", "the file: "),
            ("name: [unclosed", "while parsing"),
            ("name: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
            ("? [a]\n: b\n", "unhashable key"),
        ],
        ids=range(10),
    )
    def test_names_the_file_and_the_key(self, tmp_path: Path, text: str, complaint: str) -> None:
        path = written(tmp_path, text)
        with pytest.raises(FileRefused) as refused:
            read_spec(path)
        assert str(refused.value).startswith(f"{path}: ")
        assert complaint in str(refused.value)

    def test_names_every_key_that_is_wrong(self, tmp_path: Path) -> None:
        path = written(tmp_path, "name: Finance\ndescription: x\ntools: []\nexemplars: [a]\n")
        with pytest.raises(FileRefused) as refused:
            read_spec(path)
        assert [line.removeprefix(f"{path}: ").split(":")[0] for line in str(refused.value).splitlines()] == [
            "name",
            "tools",
        ]

    def test_refuses_a_file_that_is_not_utf8(self, tmp_path: Path) -> None:
        path = tmp_path / "finance.yaml"
        path.write_bytes(b"name: \xff\xfe")
        with pytest.raises(FileRefused, match="finance"):
            read_spec(path)


class TestOffersFor:
    def test_offers_agents_in_order_with_the_tools_of_their_files(self, registry: AgentRegistry) -> None:
        departments = {name: tools for name, tools in tools_of(registry, MINH).items() if name in BUILT_IN}
        assert departments == {
            "hr": ["rag_tool", "summary_tool", "math_tool", "changes_tool"],
            "it": ["rag_tool", "log_tool", "math_tool", "summary_tool", "changes_tool"],
            "general": ["rag_tool", "summary_tool", "files_tool", "changes_tool"],
        }

    def test_offers_logs_to_it_and_administrators_only(self, registry: AgentRegistry) -> None:
        assert "log_tool" not in tools_of(registry, LAN)["it"]
        assert "log_tool" in tools_of(registry, principal(user="admin", department="general", roles=("admin",)))["it"]

    def test_offers_carry_the_seeds_words(self, registry: AgentRegistry) -> None:
        offers = {offer.name: offer for offer in registry.offers_for(MINH, None)}
        assert offers["it"].description == SEED_DESCRIPTIONS["it"]
        assert offers["it"].tools["log_tool"] == "tổng hợp thông tin log của công ty"
        assert offers["general"].is_fallback
        assert not offers["hr"].is_fallback

    def test_an_agent_none_of_whose_documents_may_be_read_is_not_offered(self, registry: AgentRegistry) -> None:
        assert list(tools_of(registry, principal(scopes=("private",)))) == ["hr", "general", *USED]
        assert registry.offers_for(principal(scopes=()), None) == ()

    def test_the_seeds_request_is_understood_and_keeps_rights(self, registry: AgentRegistry) -> None:
        assert tools_of(registry, LAN, SEED_REQUEST) == {
            "hr": ["rag_tool", "summary_tool", "math_tool"],
            "it": ["rag_tool", "math_tool"],
            "general": ["rag_tool"],
        }
        assert tools_of(registry, MINH, SEED_REQUEST)["it"] == ["rag_tool", "log_tool", "math_tool"]

    def test_a_request_narrows_agents_and_tools(self, registry: AgentRegistry) -> None:
        assert tools_of(registry, LAN, {"hr": {"tools": [{"name": "rag_tool"}]}}) == {"hr": ["rag_tool"]}
        assert tools_of(registry, LAN, {"hr": {}}) == {"hr": ["rag_tool", "summary_tool", "math_tool", "changes_tool"]}

    @pytest.mark.parametrize("nothing", [None, {}])
    def test_no_request_means_all(self, registry: AgentRegistry, nothing: dict[str, Any] | None) -> None:
        assert list(tools_of(registry, LAN, nothing)) == [*BUILT_IN, *USED]

    def test_an_agent_without_tools_is_not_offered(self, registry: AgentRegistry) -> None:
        assert tools_of(registry, LAN, {"hr": {"tools": []}, "general": {}}) == {
            "general": ["rag_tool", "summary_tool", "files_tool", "changes_tool"]
        }
        assert tools_of(registry, LAN, {"it": {"tools": [{"name": "log_tool"}]}}) == {}

    def test_a_request_may_describe_agents_and_tools_anew(self, registry: AgentRegistry) -> None:
        asked = {"hr": {"desc": "lương thưởng", "tools": [{"name": "rag_tool", "description": "tra cứu lương"}]}}
        (offer,) = registry.offers_for(LAN, asked)
        assert (offer.description, offer.tools) == ("lương thưởng", {"rag_tool": "tra cứu lương"})

    @pytest.mark.parametrize("blank", ["", "  ", "\u200b"])
    def test_a_blank_description_changes_nothing(self, registry: AgentRegistry, blank: str) -> None:
        (offer,) = registry.offers_for(
            LAN, {"hr": {"desc": blank, "tools": [{"name": "rag_tool", "description": blank}]}}
        )
        assert offer.description == SEED_DESCRIPTIONS["hr"]
        assert offer.tools == {"rag_tool": "tìm kiếm thông tin, truy xuất"}

    @pytest.mark.parametrize(
        ("requested", "named"),
        [
            ({"finance": {}}, "There is no agent 'finance'; the agents are hr, it, general, date, math, research."),
            ({"hr": {"tools": [{"name": "sql_tool"}]}}, "Agent 'hr' has no tool 'sql_tool'; its tools are rag_tool"),
            ({"hr": {"tools": [{"name": "log_tool"}]}}, "Agent 'hr' has no tool 'log_tool'"),
            ({"orchestrator": {}}, "There is no agent 'orchestrator'"),
            ({"hr": {"tools": "rag_tool"}}, "agents.hr.tools"),
            ({"hr": {"tools": [{"description": "x"}]}}, "agents.hr.tools.0.name"),
            ({"hr": {"scope": "private"}}, "agents.hr.scope"),
            ({"hr": {"desc": "x" * 501}}, "agents.hr.desc"),
            ({"hr": None}, "agents.hr"),
        ],
    )
    def test_refuses_unknown_names_and_other_shapes(
        self, registry: AgentRegistry, requested: dict[str, Any], named: str
    ) -> None:
        with pytest.raises(AppError) as refused:
            registry.offers_for(LAN, requested)
        assert (refused.value.code, refused.value.status) == (ErrorCode.VALIDATION_FAILED, 422)
        assert named in refused.value.detail

    def test_an_unknown_name_is_shown_short_and_clean(self, registry: AgentRegistry) -> None:
        with pytest.raises(AppError) as refused:
            registry.offers_for(LAN, {"\x00\ud800" + "x" * 10_000: {}})
        assert len(refused.value.detail) < 200
        refused.value.detail.encode("utf-8")

    def test_what_an_agent_may_not_do_does_not_depend_on_asking_for_it(self, registry: AgentRegistry) -> None:
        asked = {"it": {"tools": [{"name": "log_tool"}, {"name": "rag_tool"}]}}
        assert tools_of(registry, LAN, asked) == {"it": ["rag_tool"]}


class TestAccessibleDepartments:
    def test_are_all_departments_for_who_reads_public_documents(self, registry: AgentRegistry) -> None:
        assert registry.accessible_departments(principal(scopes=("public",))) == BUILT_IN

    def test_are_the_own_and_the_general_one_for_private_readers_only(self, registry: AgentRegistry) -> None:
        assert registry.accessible_departments(principal(scopes=("private",))) == ("hr", "general")

    def test_are_none_without_scopes(self, registry: AgentRegistry) -> None:
        assert registry.accessible_departments(principal(scopes=())) == ()


class TestSpec:
    def test_raises_for_agents_that_do_not_exist(self, registry: AgentRegistry) -> None:
        with pytest.raises(KeyError):
            registry.spec("finance")


class TestRemoteAgents:
    def test_are_those_whose_file_says_so_and_those_that_are_named(self, tmp_path: Path) -> None:
        text = "name: sales\ndescription: sales\ntools: [rag_tool]\nexemplars: [buy]\nremote: true\n"
        (tmp_path / "sales.yaml").write_text(text, "utf-8")
        agents = AgentRegistry.load(tmp_path, remote=("hr",))
        assert agents.remote == ("hr", "sales")

    def test_must_exist(self) -> None:
        with pytest.raises(FileRefused, match="there is no agent 'sales'"):
            AgentRegistry.load(None, remote=("hr", "sales"))

    @pytest.mark.parametrize("name", ["chat", "ingest", "all"])
    def test_have_no_name_of_another_queue(self, name: str, tmp_path: Path) -> None:
        text = f"name: {name}\ndescription: d\ntools: [rag_tool]\nexemplars: [x]\n"
        (tmp_path / "one.yaml").write_text(text, "utf-8")
        with pytest.raises(FileRefused, match=f"'{name}' is the name of a queue"):
            AgentRegistry.load(tmp_path)
