"""Running a page as a reader would: its files written, its commands typed, its programs started, top to bottom."""

import csv
import io
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from openai import OpenAI
from PIL import Image
from reportlab.pdfgen.canvas import Canvas
from typer.testing import CliRunner

from app.cli import app as command_line
from tests.docs.blocks import Block, blocks_of, name_of

FOLLOWED_ELSEWHERE = {
    "docs/connectors.md": "tests/api/test_connectors.py",
    "docs/documents.md": "tests/api/test_ingest_cli.py",
    "docs/tools.md": "tests/acceptance/test_new_tool.py",
}
"""Pages that have a test of their own, which runs every command of them."""
ADDRESS = "http://127.0.0.1:8000"
"""Where the pages say the server is."""
_INNER = re.compile(r"\$\((conclave [^)]*)\)")


@dataclass
class Desk:
    """A reader's desk: a folder, an environment, and a server where the page speaks of one."""

    folder: Path
    patch: pytest.MonkeyPatch
    address: str = ""
    token: str = ""
    printed: list[str] = field(default_factory=list)

    def follow(self, page: Path) -> None:
        """Do what the page says; raises `AssertionError` with what went wrong."""
        for block in blocks_of(page):
            for name in block.said("file"):
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, "utf-8")
            if block.is_run:
                self._run(block, name_of(page))

    def _run(self, block: Block, page: str) -> None:
        typed = "".join(f"{answer}\n" for answer in block.said("answers"))
        if block.kind == "python":
            self._program(block.text)
            printed = ""
        else:
            printed = "\n".join(self._command(command, typed) for command in block.commands)
        for text in block.said("prints"):
            assert text in printed, f"{page}: {text!r} is not in what it prints:\n{printed}"

    def _command(self, command: str, typed: str) -> str:
        name, *arguments = shlex.split(command)
        if name == "export":
            for one in arguments:
                self.patch.setenv(*one.split("=", 1))
            return ""
        if name == "conclave":
            return conclave(arguments, typed)
        whole = _INNER.sub(lambda inner: conclave(shlex.split(inner[1])[1:]).strip(), command)
        whole = whole.replace(ADDRESS, self.address)
        done = subprocess.run(["bash", "-c", whole], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def _program(self, text: str) -> None:
        names: dict[str, Any] = {"token": self.token, "TOKEN": self.token, "print": self._print}
        try:
            exec(compile(text.replace(ADDRESS, self.address), "page", "exec"), names)
        finally:  # a client that a page leaves open is in a cycle, and its line would be met open long after
            for client in (value for value in names.values() if isinstance(value, OpenAI)):
                client.close()

    def _print(self, *values: object, **_: object) -> None:
        self.printed.append(" ".join(map(str, values)))


def conclave(arguments: list[str], typed: str = "") -> str:
    """What a command prints; it has to end with 0."""
    done = CliRunner().invoke(command_line, arguments, input=typed or None)
    assert done.exit_code == 0, (arguments, done.output, done.exception)
    return done.output


def _leave(folder: Path) -> None:
    document = Document()
    document.add_heading("Nghỉ phép năm 2027")
    document.add_paragraph("Nhân viên chính thức được hưởng 15 ngày nghỉ phép năm.")
    document.save(str(folder / "leave-2027.docx"))


def _attached(folder: Path) -> None:
    rows = [
        ["phòng", "chi phí quý 1", "chi phí quý 2"],
        ["hr", "90", "100"],
        ["it", "110", "200"],
        ["kho", "70", "300"],
    ]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    (folder / "chi_phi.csv").write_text(text.getvalue(), "utf-8")
    page = Canvas(str(folder / "report.pdf"))
    page.drawString(72, 700, "The report of the second quarter: costs were 600.")
    page.save()
    Image.new("RGB", (64, 48), "white").save(folder / "photo.jpg")


def _lines(folder: Path) -> None:
    now = datetime.now(UTC) - timedelta(hours=2)
    for name, source in (("app.jsonl", "portal"), ("vpn.jsonl", "vpn-gw-01")):
        line = {
            "logged_at": now.isoformat(), "source": source, "level": "WARN", "message": "failed login of an account",
            "department": "it", "scope": "internal",
        }  # fmt: skip
        (folder / name).write_text(json.dumps(line) + "\n", "utf-8")


BESIDE: dict[str, Callable[[Path], None]] = {
    "docs/client.md": _leave,
    "docs/files.md": _attached,
    "docs/logs.md": _lines,
}
"""Files a page speaks of without showing them."""
ENVIRONMENT = {"docs/mcp.md": {"CONCLAVE_MCP_SERVERS": "mcp_servers.yaml", "TICKETS_KEY": "none"}}
"""Variables a page speaks of in its text."""
