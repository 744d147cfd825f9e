"""An installation without this extra: nothing is missing that anybody needs to start, and doctor says what is off."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from app import plugins
from app.agents.registry import AgentRegistry
from app.cli.doctor import _left_out
from app.cli.lazy_commands import PLACES, _Loaded
from app.faces.face import load_faces
from app.tools.catalogue import catalogue, known_tools, tool_names


@pytest.fixture
def without_logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    is_left_out = plugins._is_left_out

    def of_logs_too(entry: EntryPoint) -> bool:
        return entry.module.startswith("extras.logs") or is_left_out(entry)

    monkeypatch.setattr(plugins, "_is_left_out", of_logs_too)
    catalogue.cache_clear()
    yield
    catalogue.cache_clear()


@pytest.mark.usefixtures("without_logs")
class TestWithoutLogs:
    def test_agents_that_name_the_tool_have_it_turned_off(self) -> None:
        assert "log_tool" not in known_tools() and "log_tool" in tool_names()
        turned_off = AgentRegistry.load(None).turned_off
        assert turned_off["log_tool"] == ("it",)
        told = "log_tool is turned off: its extra is not installed; agents that name it: it"
        assert told in list(_left_out({}, {}, turned_off))

    def test_there_is_neither_a_route_nor_a_command(self) -> None:
        assert "logs" not in load_faces().found
        assert list(_Loaded()) == list(PLACES)


def test_nothing_is_turned_off_where_it_is_installed() -> None:
    assert "log_tool" not in AgentRegistry.load(None).turned_off
