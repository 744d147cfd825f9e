"""What the documents say exists, exists: commands, settings, files."""

import re
import subprocess
from pathlib import Path

from app.cli import app as command_line
from app.cli import plugged_in
from app.settings import Settings
from tests.cases import each_case

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTERNAL = {"POSTGRES_PASSWORD", "CONCLAVE_APP_PASSWORD", "CONCLAVE_SERVER", "CONCLAVE_TOKEN"}


every_page = each_case("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


class TestPages:
    @every_page
    def test_every_make_target_named_exists(self, page: Path) -> None:
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
        named = set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE))
        assert named <= targets

    @every_page
    def test_every_command_named_exists(self, page: Path) -> None:
        commands = {
            command.name or command.callback.__name__
            for command in command_line.registered_commands
            if command.callback
        }
        commands |= {group.name for group in command_line.registered_groups if group.name} | plugged_in().keys()
        named = set(re.findall(r"`conclave ([a-z-]+)", page.read_text("utf-8")))
        assert named <= commands

    @every_page
    def test_every_setting_named_exists(self, page: Path) -> None:
        fields = {f"CONCLAVE_{name.upper()}" for name in Settings.model_fields}
        named = set(re.findall(r"CONCLAVE_[A-Z_]+[A-Z]", page.read_text("utf-8")))
        assert named <= fields | EXTERNAL

    @every_page
    def test_every_link_leads_somewhere(self, page: Path) -> None:
        links = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text("utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == []


class TestMakefile:
    def test_every_target_is_described(self) -> None:
        """Except those that nobody calls by name, because other targets bring them along."""
        text = (ROOT / "Makefile").read_text("utf-8")
        phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
        assert phony is not None
        described = set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))
        brought_along = set(re.findall(r"[a-z-]+", " ".join(re.findall(r"^[a-z-]+:([^#\n]*)", text, re.MULTILINE))))
        assert described <= set(phony[1].split()) <= described | brought_along

    def test_every_test_and_module_named_exists(self) -> None:
        text = (ROOT / "Makefile").read_text("utf-8")
        named = set(re.findall(r"(?<=\s)tests/[\w/]+(?:\.py)?(?=\s)", text))
        modules = {name.replace(".", "/") for name in re.findall(r"-m ((?:bench|tests|reference)[\w.]*)", text)}
        assert [name for name in named if not (ROOT / name).exists()] == []
        assert [
            name for name in modules if not any((ROOT / f"{name}{end}").exists() for end in (".py", "/__main__.py"))
        ] == []

    def test_ask_hands_over_question_and_asker(self, tmp_path: Path) -> None:
        """Run by make itself, with a command of the same name that prints what it is given."""
        told = tmp_path / "bin" / "conclave"
        told.parent.mkdir()
        told.write_text('#!/bin/sh\nprintf "%s|" "$@"\n', "utf-8")
        told.chmod(0o755)
        (tmp_path / ".runtime").touch()
        question = 'nói "gì" đó; $(false) `false`'
        command = ["make", "-s", "ask", f"VENV={tmp_path}", f"Q={question.replace('$', '$$')}"]
        # Unnamed, it is for the installation to say who asks: `seed_data/demo.toml` does.
        for extra, asker in (([], ""), (["ASKER=globex/tom"], "globex/tom")):
            run = subprocess.run([*command, *extra], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
            assert run.stdout == f"ask|{question}|--as|{asker}|"
