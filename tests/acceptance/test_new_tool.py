"""Adding a tool is one file and one catalogue line: the page that says so is followed to the letter."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.warm import warm

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tools.md").read_text("utf-8")
[FILE] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
[LINE] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
[POOL] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
[QUESTION] = re.findall(r'```console\nconclave ask "(.*?)"', PAGE)
UNANSWERABLE = "Gửi lá thư hết bao nhiêu tiền cước?"
ASKING = """
import sys
from app.cli import main
for question in sys.argv[1:]:
    sys.argv = ["conclave", "ask", question, "--as", "acme/lan", "--json"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended.code
"""
CATALOGUE_END = ')\n"""The built-in tools'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the house with the page's file, line and pool."""
    folder = tmp_path_factory.mktemp("project")
    for part in ("app", "migrations"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.pyc.*"))  # compiled as it is
    shutil.copy(ROOT / "alembic.ini", folder / "alembic.ini")
    (folder / "app" / "tools" / "postage.py").write_text(FILE, "utf-8")
    catalogue = folder / "app" / "tools" / "catalogue.py"
    text = catalogue.read_text("utf-8")
    assert text.count(CATALOGUE_END) == 1
    text = text.replace(CATALOGUE_END, LINE + CATALOGUE_END)
    text = text.replace(
        "from app.tools.rag import", "from app.tools.postage import PostageTool\nfrom app.tools.rag import"
    )
    catalogue.write_text(text, "utf-8")
    (folder / "agents").mkdir()
    (folder / "agents" / "post.yaml").write_text(POOL, "utf-8")
    return folder


@pytest.fixture(scope="module")
def answers(project: Path, small_seed: Path, scratch: Path) -> list[dict[str, Any]]:
    """What the command line prints for both questions."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("CONCLAVE_")}
    env |= {
        "PYTHONPATH": str(project),
        "CONCLAVE_AGENTS_DIR": str(project / "agents"),
        "CONCLAVE_SEED_DIR": str(small_seed),
        "CONCLAVE_DATA_DIR": str(warm(scratch / "tool")),
    }
    command = [sys.executable, "-c", ASKING, QUESTION, UNANSWERABLE]
    ended = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=110, check=False)
    assert ended.returncode == 0, ended.stderr[-2_000:]
    return [line for line in map(json.loads, ended.stdout.splitlines()) if "flow_action" in line]


class TestNewTool:
    def test_answers_through_the_command_line(self, answers: list[dict[str, Any]]) -> None:
        answer = answers[0]
        assert "28000 đồng" in str(answer["answer"])
        assert answer["outcome"] == "answered"
        [evidence] = answer["evidence"]
        assert (evidence["url"], evidence["source_type"]) == ("postage:130g", "math")
        steps = [action for action in answer["flow_action"] if action["type"] == "agent_tool"]
        assert [(step["agent"], step["tool"], step["metadata"]) for step in steps] == [
            ("post", "postage_tool", {"trace": ["postage:130g"]})
        ]

    def test_says_what_is_missing_instead_of_inventing_it(self, answers: list[dict[str, Any]]) -> None:
        assert "grams" in str(answers[1]["answer"])
        assert answers[1]["outcome"] == "not_found"
