"""Researcher and expert: what is on offer to whom."""

from typing import Any, cast

import pytest

from app.agents.registry import AgentRegistry, Role, Solvers
from app.domain.principal import Principal
from app.tools.base import Tool
from app.tools.catalogue import ToolPorts, build_toolbox
from tests.factories import principal

AGENTS = AgentRegistry.load(None)
LAN, MINH = principal(), principal(user="minh", department="it")


class Page:
    """Reads a page."""

    alternative: str | None = None

    def __init__(self, name: str):
        self.name = name


WEB = tuple(cast("Tool", Page(name)) for name in ("web_tool", "wikipedia_tool", "transcript_tool"))
SERVERS = tuple(cast("Tool", Page(name)) for name in ("math.mcp_evaluate", "date.difference"))


def solvers(*further: Tool) -> Solvers:
    nothing = cast("Any", None)
    return Solvers.load(
        build_toolbox(
            ToolPorts(nothing, nothing, nothing, 0.7, files=cast("Any", object()), tables=cast("Any", object())),
            further,
        )
    )


def names(
    role: Role, who: Principal, narrowed: dict[str, Any] | None = None, *, files: bool = False, web: bool = False
) -> list[str]:
    made = solvers(*SERVERS, *(WEB if web else ()))
    return list(made.usable(role, who, AGENTS.offers_for(who, narrowed), has_files=files))


class TestResearcher:
    def test_reads_documents_and_where_it_may_logs(self) -> None:
        assert names("researcher", LAN) == ["rag_tool"]
        assert names("researcher", MINH) == ["rag_tool", "log_tool"]

    def test_reads_files_only_where_some_are_attached(self) -> None:
        assert names("researcher", LAN, files=True) == ["rag_tool", "files_tool"]

    def test_reads_the_web_only_where_it_is_turned_on(self) -> None:
        assert names("researcher", LAN, web=True) == ["rag_tool", "web_tool", "wikipedia_tool", "transcript_tool"]

    @pytest.mark.parametrize(("narrowed", "offered"), [(False, True), (True, False)])
    def test_searches_the_web_unless_agents_were_named_that_do_not(self, narrowed: bool, offered: bool) -> None:
        made, agents = (
            solvers(cast("Tool", Page("search_tool"))),
            AGENTS.offers_for(LAN, {"hr": {}} if narrowed else {}),
        )
        usable = made.usable("researcher", LAN, agents, has_files=False, is_narrowed=narrowed)
        assert ("search_tool" in usable) == offered

    def test_asks_the_servers_that_agents_on_offer_ask_but_those_of_the_expert(self) -> None:
        tickets, further = cast("Tool", Page("tickets.open")), cast("Tool", Page("tickets.close"))
        made = solvers(tickets, further, *SERVERS)
        offers = AGENTS.offers_for(LAN, None)
        assert not any("." in name for name in made.usable("researcher", LAN, offers, has_files=False))
        hr = offers[0].model_copy(update={"tools": {**offers[0].tools, "tickets.open": "", "tickets.gone": ""}})
        usable = made.usable("researcher", LAN, (hr, *offers[1:]), has_files=False)
        assert [name for name in usable if "." in name] == ["tickets.open"]
        assert not any("tickets" in name for name in made.usable("expert", LAN, (hr,), has_files=False))

    @pytest.mark.parametrize(
        ("narrowed", "tools"),
        [
            ({"it": {}}, ["rag_tool", "log_tool"]),
            ({"it": {"tools": [{"name": "log_tool"}]}}, ["log_tool"]),
            ({"research": {"tools": [{"name": "wikipedia_tool"}]}}, ["wikipedia_tool"]),
            ({"math": {}}, []),
        ],
    )
    def test_is_narrowed_with_the_request(self, narrowed: dict[str, Any], tools: list[str]) -> None:
        assert names("researcher", MINH, narrowed, web=True) == tools

    def test_reads_with_each_tool_what_the_agents_read_with_it(self) -> None:
        usable = solvers().usable("researcher", MINH, AGENTS.offers_for(MINH, None), has_files=False)
        assert usable["rag_tool"].departments == ("hr", "it", "general")
        assert usable["log_tool"].departments == ("it",)


class TestExpert:
    def test_computes_and_reads_no_documents(self) -> None:
        offered = names("expert", LAN)
        assert offered == ["math_tool", "math.mcp_evaluate", "unit_tool", "date.difference", "python_tool"]

    def test_works_on_attached_tables(self) -> None:
        assert "files_tool" in names("expert", LAN, files=True)

    def test_knows_the_arguments_of_its_tools(self) -> None:
        usable = solvers().usable("expert", LAN, AGENTS.offers_for(LAN, None), has_files=False)
        schema = usable["math_tool"].offer.arguments
        assert schema is not None
        assert list(schema["properties"]) == ["expression", "unit"]
        assert usable["unit_tool"].offer.arguments is not None
        assert all(tool.offer.description for tool in usable.values())


class TestDepartmentFlow:
    def test_is_never_offered_the_two(self) -> None:
        assert not {"researcher", "expert"} & set(AGENTS.names)
        assert not {"researcher", "expert"} & {offer.name for offer in AGENTS.offers_for(MINH, None)}
