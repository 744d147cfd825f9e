"""Arguments that a real server refuses are read once more by the model, and never twice."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import pytest

from app.agents.mcp_servers import McpServers
from app.errors import ToolFailed, ToolRetry
from app.reasoning import Reasoner
from app.reasoning.local import LocalReasoner
from app.tools.base import Tool
from app.tools.mcp.adapter import MCPToolAdapter
from app.tools.mcp.connections import Connections
from app.tools.typed import ArgumentsRefused
from tests.conformance.asking_models import paid, reasoner_to
from tests.factories import finding, passage
from tests.fakes.house_mind import lines_of
from tests.fakes.model_server import Asked, Fault, ModelServer, Reply
from tests.unit.tools.mcp_lines import lines_of as connected
from tests.unit.tools.mcp_lines import plain_list, spec_of
from tests.unit.tools.recording import call

QUERY = "Chia số thứ nhất cho số thứ hai thì được bao nhiêu?"
EMPTY = {
    "expression": "",
    "unit": "",
    "terms": "",
    "level": "",
    "source": "",
    "period": "",
    "missing": [],
    "grounds": [],
}
Divide: TypeAlias = Callable[[Reasoner], Tool]
SECRET = finding(passage("Lương của Lan là 18.000.000 đồng.", document="pay"))


def read(**values: str) -> Reply:
    return Reply.json({**EMPTY, "values": [{"name": name, "value": value} for name, value in values.items()]})


def mending(*replies: Reply) -> Callable[[Asked], Reply]:
    """The replies in their order, and the last one to whatever is asked beyond."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture(scope="module")
async def connections() -> AsyncIterator[Connections]:
    """To our own servers, once for all tests: what a mind does with what one says is none of the server's."""
    opened = McpServers.load(None).connections()
    yield opened
    await opened.aclose()


@pytest.fixture
def divide(connections: Connections) -> Divide:
    """A tool of our own server, which refuses to divide by zero."""
    spec, tool = next(one for one in McpServers.load(None).offered() if one[1].name == "mcp_divide")
    return lambda mind: MCPToolAdapter(spec, tool, connections, mind)


class TestOnceMore:
    async def test_with_what_the_server_said(
        self, scripted: ModelServer, reasoner: LocalReasoner, divide: Divide
    ) -> None:
        scripted.respond = mending(read(a="1", b="0"), read(a="1", b="4"))
        async with reasoner_to(reasoner, (scripted.base_url, "m")) as mind:
            with paid() as account:
                result = await divide(mind)(call(QUERY, findings=(SECRET,)))
        assert result.value == {"result": "0.25"}
        assert account.doings.downgrades == ["math.mcp_divide: arguments were refused, read once more"]
        first, second = (lines_of(asked) for asked in scripted.requests)
        assert "18.000.000" in json.dumps(first)
        assert len(second) == 1, "no findings: what a server says must not draw them out"
        assert second[-1]["refused"].startswith('{"a": "1", "b": "0"}\n')
        assert "math.mcp_divide" in second[-1]["refused"]

    async def test_where_they_do_not_fit_the_schema(
        self, scripted: ModelServer, reasoner: LocalReasoner, divide: Divide
    ) -> None:
        scripted.respond = mending(read(a="one", b="4"), read(a="1", b="4"))
        async with reasoner_to(reasoner, (scripted.base_url, "m")) as mind:
            with paid():
                assert (await divide(mind)(call(QUERY))).value == {"result": "0.25"}
        assert len(scripted.requests) == 2


class TestNeverTwice:
    @pytest.mark.parametrize("again", [{"a": "2", "b": "0"}, {"a": "1", "b": "0"}, {"a": "2"}, {}])
    async def test_it_gives_up(
        self, scripted: ModelServer, reasoner: LocalReasoner, divide: Divide, again: dict[str, str]
    ) -> None:
        scripted.respond = mending(read(a="1", b="0"), read(**again))
        async with reasoner_to(reasoner, (scripted.base_url, "m")) as mind:
            with paid(), pytest.raises(ToolFailed):
                await divide(mind)(call(QUERY))
        assert len(scripted.requests) == 2

    async def test_nor_where_the_server_is_away_the_second_time(
        self, scripted: ModelServer, reasoner: LocalReasoner
    ) -> None:
        """A further try of the step would read the arguments anew."""
        scripted.respond = mending(read(text="another"))
        spec = spec_of("plain")
        async with connected(spec) as lines, reasoner_to(reasoner, (scripted.base_url, "m")) as mind:
            echo = next(tool for tool in (await plain_list()).tools if tool.name == "echo")
            tool = Refusing(spec, echo, lines, mind)
            with paid(), pytest.raises(ToolFailed) as caught:
                await tool(call(QUERY))
        assert not isinstance(caught.value, ToolRetry)
        assert (tool.sent, len(scripted.requests)) == (2, 1), "the first ones were the rules'"

    async def test_without_a_model_nobody_is_asked_again(self, reasoner: LocalReasoner, divide: Divide) -> None:
        with paid() as account, pytest.raises(ToolFailed):
            await divide(reasoner)(call("1 / 0"))
        assert account.doings.downgrades == []

    async def test_a_model_that_fails_leaves_it_refused(
        self, scripted: ModelServer, reasoner: LocalReasoner, divide: Divide
    ) -> None:
        scripted.respond = mending(read(a="1", b="0"), Reply(fault=Fault.UNAUTHORIZED))
        async with reasoner_to(reasoner, (scripted.base_url, "m")) as mind:
            with paid(), pytest.raises(ToolFailed):
                await divide(mind)(call(QUERY))

    async def test_a_mind_that_chose_them_itself_is_told_at_once(
        self, scripted: ModelServer, reasoner: LocalReasoner, divide: Divide
    ) -> None:
        async with reasoner_to(reasoner, (scripted.base_url, "m")) as mind:
            with paid(), pytest.raises(ToolFailed):
                await divide(mind)(call(QUERY).model_copy(update={"given": {"a": "1", "b": "0"}}))
        assert scripted.requests == []


class Refusing(MCPToolAdapter):
    """Refuses the first call and is away at the second."""

    sent = 0

    async def invoke(self, arguments: dict[str, Any], seconds: float, language: Any, owner: str = "") -> Any:
        self.sent += 1
        if self.sent == 1:
            raise self._failed("refused", language, "no such text", ArgumentsRefused)
        raise ToolRetry("away")
