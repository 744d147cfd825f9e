"""Prompts: one Markdown file a purpose and language in ``reasoning/prompts``, first line ``version: N``.

What never changes comes first, what the asker said last, so that providers can keep the beginning.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.domain.knowledge import Language

FOLDER = Path(__file__).parents[1] / "prompts"


@dataclass(frozen=True)
class Prompt:
    """A prompt and its version."""

    name: str
    version: int
    text: str
    instructions: str = ""
    """Further instructions that stay the same over many questions: an agent's own, the agents on offer."""

    def with_instructions(self, instructions: str) -> "Prompt":
        """The same prompt with further instructions."""
        return Prompt(self.name, self.version, self.text, instructions)

    def messages(self, told: str) -> tuple[Mapping[str, str], ...]:
        """The system's word, then what this question is about."""
        system = f"{self.text}\n\n{self.instructions}" if self.instructions else self.text
        return ({"role": "system", "content": system}, {"role": "user", "content": told})


@cache
def load(name: str, language: Language) -> Prompt:
    """A prompt by its name; read once."""
    head, _, text = (FOLDER / f"{name}.{language}.md").read_text("utf-8").partition("\n")
    return Prompt(name, int(head.removeprefix("version:")), text.strip())


@cache
def digest() -> str:
    """Changes with any prompt: answers made with other prompts are other answers."""
    texts = [path.read_bytes() for path in sorted(FOLDER.glob("*.md"))]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:12]
