"""Look up what is said around a model's words: planning, composing and the deep flow all meet its refusals."""

import tomllib
from pathlib import Path
from typing import Any

from app.domain.knowledge import Language

_SENTENCES: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "prompts" / "sentences.toml").read_text("utf-8")
)


def sentence(name: str, language: Language, **values: str) -> str:
    """A sentence by its name."""
    return str(_SENTENCES[name][language]).format(**values)
