"""Guards of the service, each with a change that takes it away and the test that must then fail.

`guards.toml` is the table; `make mutate-guards` tries every one of them in a copy of the checkout.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("guards.toml")


@dataclass(frozen=True)
class Guard:
    """One guard, and how it is taken away."""

    name: str
    """What holds as long as it stands."""
    file: str
    text: str
    """Stands in the file exactly once."""
    becomes: str
    test: str
    """Has to fail without the guard."""

    def taken_from(self, source: str) -> str:
        """The file's text without the guard. Raises `ValueError` when it does not stand there exactly once."""
        if source.count(self.text) != 1:
            raise ValueError(f"{self.file}: the text of “{self.name}” stands there {source.count(self.text)} times")
        return source.replace(self.text, self.becomes)


def guards(table: Path = TABLE) -> list[Guard]:
    """Read the table."""
    return [Guard(**one) for one in tomllib.loads(table.read_text("utf-8"))["guard"]]
