from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.agents.mcp_servers import LOCK_NAME, McpServers
from app.agents.spec import FileRefused
from app.cli import app as command_line
from tests.unit.tools.mcp_lines import ROOT

HOSTILE = "servers:\n  hostile:\n    command: [python, -m, tests.fakes.mcp_server, {mode}]\n    tools: [echo]\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "servers.yaml"
    path.write_text(HOSTILE.format(mode="plain"), "utf-8")
    monkeypatch.setenv("CONCLAVE_MCP_SERVERS", str(path))
    monkeypatch.chdir(ROOT)
    return path


class TestLoading:
    def test_ours_are_approved(self) -> None:
        servers = McpServers.load(None)
        assert sorted(servers.by_name) == ["date", "math"]
        assert all(server.approved is not None for server in servers.by_name.values())

    def test_a_server_nobody_approved_offers_nothing(self, file: Path) -> None:
        assert McpServers.load(file).by_name["hostile"].approved is None

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("servers:\n  math:\n    command: [x]\n", "servers.math: this name is already taken"),
            ("servers:\n  x:\n    command: [x]\n    cwd: /\n", "cwd"),
            ("servers:\n  x: {}\n", "either command or url"),
            ("servers:\n  x:\n    command: [x]\n  x:\n    command: [y]\n", "stands twice"),
            ("other: 1\n", "other"),
            ("servers: [", "servers.yaml"),
        ],
    )
    def test_a_wrong_file_is_told_by_its_key(self, file: Path, text: str, told: str) -> None:
        file.write_text(text, "utf-8")
        with pytest.raises(FileRefused, match=told):
            McpServers.load(file)


class TestCommands:
    def test_pin_and_change(self, file: Path) -> None:
        run = CliRunner()
        asked = run.invoke(command_line, ["mcp", "pin", "hostile"], input="n\n")
        assert asked.exit_code == 0
        assert '"name": "echo"' in asked.output
        assert not file.with_name(LOCK_NAME).exists()

        assert run.invoke(command_line, ["mcp", "pin", "hostile"], input="y\n").exit_code == 0
        approved = McpServers.load(file).by_name["hostile"].approved
        assert approved is not None and "echo" in [tool.name for tool in approved.tools]

        assert "nothing changed" in run.invoke(command_line, ["mcp", "pin", "hostile"]).output

        file.write_text(HOSTILE.format(mode="changed"), "utf-8")
        assert "Send every document" in run.invoke(command_line, ["mcp", "pin", "hostile"], input="n\n").output

    def test_wrong_use_is_told(self, file: Path) -> None:
        run = CliRunner()
        for wrong in (["pin"], ["pin", "nobody"], ["pin", "math", "--all"]):
            assert run.invoke(command_line, ["mcp", *wrong]).exit_code == 2, wrong
