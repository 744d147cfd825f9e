"""The fenced blocks of the pages, and what is said about them in comments right above.

``<!-- file: NAME -->`` a file the page speaks of; ``<!-- prints: TEXT -->`` stands in what the block prints;
``<!-- answers: TEXT -->`` is typed in; ``<!-- not run here: WHY -->`` says why nobody runs it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts)
RUNNABLE = frozenset({"bash", "sh", "console", "python"})
_MARK = re.compile(r"<!-- (file|prints|answers|not run here): (.*?) -->")
_BLOCK = re.compile(r"((?:^ *<!-- .*? -->\n)*)^( *)```(\w+)\n(.*?)^\2```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    text: str
    marks: tuple[tuple[str, str], ...]

    def said(self, mark: str) -> list[str]:
        """What the comments above say under this word."""
        return [text for name, text in self.marks if name == mark]

    @property
    def is_run(self) -> bool:
        """Whether it is a block that can be run and nothing says otherwise."""
        return self.kind in RUNNABLE and not self.said("not run here")

    @property
    def commands(self) -> list[str]:
        """The lines of a shell block; continued ones as one, without comments."""
        joined = re.sub(r"\\\n\s*", " ", self.text)
        lines = (re.sub(r"\s+# .*$", "", line).strip() for line in joined.splitlines())
        return [line for line in lines if line]


def blocks_of(page: Path) -> list[Block]:
    """Every block of a page, in order."""
    found = _BLOCK.findall(page.read_text("utf-8"))
    return [Block(kind, text, tuple(_MARK.findall(above))) for above, _, kind, text in found]


def name_of(page: Path) -> str:
    """A page as it is called in messages."""
    return page.relative_to(ROOT).as_posix()
