"""Format what tools say to people: sentences of a TOML file, filled in."""

import tomllib
from pathlib import Path

from app.domain.knowledge import Language


class Sentences:
    """The sentences of one file, by table, name and language."""

    def __init__(self, file: Path):
        self.tables: dict[str, dict[str, dict[str, str]]] = tomllib.loads(file.read_text("utf-8"))

    def __call__(self, table: str, name: str, language: Language, **values: object) -> str:
        """Fill in one sentence; a value is never read for places to fill in."""
        return self.tables[table][name][language].format(**values)


sentence = Sentences(Path(__file__).with_suffix(".toml"))
