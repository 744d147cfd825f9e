"""Questions with their tables: what trains and what is held out, read through the real parsing of attached files."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.domain.attachments import FileContent
from app.domain.knowledge import Language
from app.ingestion.attached import READING, content_of
from app.ingestion.parsing.parser import Parser
from app.tables.sheet import Sheet

HERE = Path(__file__).parent


class Question(NamedTuple):
    """A question to one file, and what its answer holds."""

    id: str
    file: str
    text: str
    language: Language
    kind: str
    result: list[list[Any]] | None
    """Rows of the right answer; None where the file does not say it."""
    sql: str | None
    facts: list[list[str]]
    """Spellings of what the answer must say."""


def questions_of(path: Path) -> list[Question]:
    """The questions of a file of JSON lines."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    names = ("id", "file", "question", "language", "kind", "result", "sql", "facts")
    return [Question(*(row[name] for name in names)) for row in rows]


def sheets_of(folder: Path, names: Sequence[str]) -> dict[str, Sheet]:
    """The first table of each file."""
    contents = asyncio.run(_contents(folder, names))
    return {
        name: Sheet(content.tables[0], "en" if content.language == "en" else "vi")
        for name, content in contents.items()
        if content.tables
    }


async def _contents(folder: Path, names: Sequence[str]) -> dict[str, FileContent]:
    parser = Parser(READING, processes=2)
    try:
        return {
            name: content_of(await parser.parse_attached((folder / name).read_bytes(), name), name) for name in names
        }
    finally:
        await parser.aclose()
