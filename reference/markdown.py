"""Pieces of Markdown: tables, cells, and docstrings turned into prose."""

import re
from collections.abc import Iterable, Sequence

MADE = "<!-- Made from the code by `make reference`; change it there. -->"
_LITERAL = re.compile(r"``(.+?)``")
_SECTION = re.compile(r" \(§[^)]*\)| of §[\d.]+|§[\d.]+ of the flow(?:: |\.)")
"""Docstrings name sections of the specification, which readers of these pages do not have."""


def whole(title: str, lead: str, parts: Iterable[str]) -> str:
    """A page with its title, what it is about, and its parts."""
    return "\n\n".join([f"# {title}", MADE, lead, *parts]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without the columns that would stay empty; nothing when there is no row."""
    cells = list(rows)
    kept = [column for column in range(len(head)) if any(row[column] for row in cells)]
    lines = [head, ["---"] * len(head), *cells]
    return "\n".join(_row([line[column] for column in kept]) for line in lines) if cells else ""


def code(text: object) -> str:
    """Text in a fixed face; nothing for nothing."""
    return f"`{text}`" if str(text) else ""


def prose(text: str | None) -> str:
    """A docstring as Markdown on one line: reST literals become code, `Names` stay."""
    return _SECTION.sub("", " ".join(_LITERAL.sub(r"`\1`", text or "").split()))


def paragraphs(text: str | None) -> str:
    """A docstring as Markdown paragraphs."""
    return "\n\n".join(prose(part) for part in re.split(r"\n\s*\n", text or "") if part.strip())


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
