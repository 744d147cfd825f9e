"""Look up what is said to and around a model, in files of ``reasoning/prompts``.

Prompts: one Markdown file a purpose and language, first line ``version: N``. What never changes comes first, what the
asker said last, so that providers can keep the beginning. Sentences: what planning, composing and the deep flow say.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from app.domain.knowledge import Language

FOLDER = Path(__file__).parent / "prompts"
_SENTENCES: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "sentences.toml").read_text("utf-8"))


def sentence(name: str, language: Language, **values: str) -> str:
    """A sentence by its name."""
    return str(_SENTENCES[name][language]).format(**values)


@dataclass(frozen=True)
class Prompt:
    """A prompt and its version."""

    version: int
    text: str

    def messages(self, told: str, instructions: str = "") -> tuple[Mapping[str, str], ...]:
        """The system's word with `instructions` (an agent's, the offers), then what this question is about."""
        system = f"{self.text}\n\n{instructions}" if instructions else self.text
        return ({"role": "system", "content": system}, {"role": "user", "content": told})


@cache
def load(name: str, language: Language) -> Prompt:
    """A prompt by its name; read once."""
    head, _, text = (FOLDER / f"{name}.{language}.md").read_text("utf-8").partition("\n")
    return Prompt(int(head.removeprefix("version:")), text.strip())


@cache
def digest() -> str:
    """Changes with any prompt: answers made with other prompts are other answers."""
    texts = [path.read_bytes() for path in sorted(FOLDER.glob("*.md"))]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:12]
