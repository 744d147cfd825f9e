"""Tables that are printed on a terminal and written into the docs."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

LANGUAGES = ("vi", "en")


class Section(NamedTuple):
    """A table with a heading, and a sentence under it."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""


def share(right: Sequence[bool]) -> str:
    """“0.97 (33/34)”."""
    return f"{sum(right) / len(right):.3f} ({sum(right)}/{len(right)})" if right else "–"


def against(value: float, aim: float) -> str:
    """A figure with its aim, and a cross where it falls short."""
    return f"{value:.3f} {'✓' if value >= aim else '✗'} (aim ≥ {aim:.2f})"


def show(section: Section, out: Console) -> None:
    """Print a section."""
    table = Table(*section.head, title=section.title, title_justify="left")
    for row in section.rows:
        table.add_row(*row)
    out.print(table)
    if section.note:
        out.print(section.note, "")


def markdown(sections: Sequence[Section]) -> str:
    """All sections as the docs show them."""
    lines = ["# How well questions are understood", "", "Printed by `python -m bench.intent --markdown FILE`.", ""]
    for section in sections:
        rows = [section.head, ("---",) * len(section.head), *section.rows]
        lines += [f"## {section.title}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
        lines += [section.note, ""] if section.note else []
    return "\n".join(lines)
