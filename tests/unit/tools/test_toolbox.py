from pathlib import Path
from typing import cast

import pytest

from app.plugins import TOOLS
from app.storage.database import Database
from app.tools.base import Toolbox
from app.tools.catalogue import ToolPorts, build_toolbox, catalogue, descriptions, known_tools, tool_names
from tests.plugin_samples import install
from tests.unit.tools.recording import RecordingReasoner, RecordingSearcher


def toolbox() -> Toolbox:
    untouched = cast("Database", object())  # building opens no connection
    return build_toolbox(ToolPorts(RecordingSearcher(), RecordingReasoner(), untouched, 0.7))


class TestBuildToolbox:
    def test_holds_every_tool_of_the_catalogue_under_its_own_name(self) -> None:
        built = toolbox()
        assert set(built) <= set(tool_names())
        assert {"rag_tool", "summary_tool", "math_tool", "log_tool", "unit_tool", "python_tool"} <= set(built)
        assert all(name == tool.name for name, tool in built.items())

    def test_every_alternative_is_another_tool_of_the_box(self) -> None:
        built = toolbox()
        alternatives = {name: tool.alternative for name, tool in built.items()}
        assert alternatives["log_tool"] == "rag_tool"
        assert all(other is None or (other in built and other != name) for name, other in alternatives.items())

    def test_cannot_be_changed(self) -> None:
        with pytest.raises(TypeError):
            toolbox()["rag_tool"] = RecordingReasoner()  # type: ignore[index]  # that it fails is the point

    def test_two_tools_of_one_name_are_refused(self) -> None:
        twin = toolbox()["math_tool"]
        with pytest.raises(ValueError, match="two tools are called math_tool"):
            build_toolbox(
                ToolPorts(RecordingSearcher(), RecordingReasoner(), cast("Database", object()), 0.7), further=[twin]
            )


class TestDescriptions:
    def test_every_tool_says_what_it_does_in_one_sentence(self) -> None:
        for name in tool_names():
            told = known_tools()[name]
            assert told.endswith(".")
            assert 20 < len(told) < 150

    def test_are_those_of_the_tools_themselves(self) -> None:
        assert descriptions(toolbox()) == {name: known_tools()[name] for name in toolbox()}


def test_a_tool_of_an_installed_package_is_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
from app.tools.catalogue import ToolPlugin

class WeatherTool:
    "Tells the weather."
    name = "weather_tool"

PLUGIN = ToolPlugin(WeatherTool, lambda ports: WeatherTool())
"""
    line = "weather = conclave_weather:PLUGIN"
    install(tmp_path, monkeypatch, module="conclave_weather", source=source, entry_points={TOOLS: line})
    catalogue.cache_clear()
    try:
        assert "weather_tool" in tool_names() and known_tools()["weather_tool"] == "Tells the weather."
        assert toolbox()["weather_tool"].name == "weather_tool"
    finally:
        catalogue.cache_clear()
