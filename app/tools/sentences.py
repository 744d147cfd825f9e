"""What the tools say to people: the sentences of `sentences.toml`, filled in."""

import tomllib
from pathlib import Path

from app.domain.knowledge import Language

_Table = dict[str, dict[str, str]]
_TABLES: dict[str, _Table] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def sentence(table: str, name: str, language: Language, **values: object) -> str:
    """Fill in one sentence; a value is never read for places to fill in."""
    return _TABLES[table][name][language].format(**values)
