"""The rows that are measured: those of the development data, and the bench's own beside this file.

Own rows of the set ``first`` were in view while exemplars and rules were written; those of ``second`` were written
afterwards. Measured before anything else was changed, the second set gave balanced accuracies of 0.979 (vi) and 0.950
(en).
"""

from pathlib import Path
from typing import Any, NamedTuple

from app.domain.knowledge import Language
from bench.corpora import read_lines

HERE = Path(__file__).parent
DEPARTMENTS = HERE / "departments"
"""Three departments of strangers, five exemplars each."""


class Utterance(NamedTuple):
    """Something said, and what it is."""

    text: str
    language: Language
    label: str
    """``chitchat``, ``task`` or ``oos``: a request that neither documents nor small talk can meet."""
    source: str
    """``development``, ``own first``, ``own second``, with ``, unaccented`` or ``, teencode``."""
    department: str | None = None


class FollowUp(NamedTuple):
    """A question after another."""

    language: Language
    earlier: str
    asked: str
    leans: bool
    """False = it stands alone and must be left alone."""
    kept: list[str]
    """Words that must stand in what it is understood as."""
    gone: list[str]


class Compound(NamedTuple):
    """An utterance, and one telling word of each separate question in it."""

    language: Language
    asked: str
    parts: list[str]


def development(folder: Path) -> list[Utterance]:
    """The rows of the development data; empty when it is not there."""
    files = sorted((folder / "intent").glob("intent_*.jsonl"))
    return [
        Utterance(row["text"], row["lang"], row["label"], "development", row["department"])
        for path in files
        for row in read_lines(path)
    ]


def own() -> list[Utterance]:
    """The bench's own utterances."""
    return [
        Utterance(row["text"], row["lang"], row["label"], _source(row)) for row in read_lines(HERE / "utterances.jsonl")
    ]


def routed() -> list[Utterance]:
    """Questions to the departments of strangers and to the built-in ones."""
    return [
        Utterance(row["text"], row["lang"], "task", "own", row["department"])
        for row in read_lines(HERE / "routed.jsonl")
    ]


def follow_ups() -> list[FollowUp]:
    """Pairs of questions."""
    return [
        FollowUp(row["lang"], row["earlier"], row["asked"], row["leans"], row["kept"], row["gone"])
        for row in read_lines(HERE / "follow_ups.jsonl")
    ]


def compounds() -> list[Compound]:
    """Utterances of one or more questions."""
    return [Compound(row["lang"], row["asked"], row["parts"]) for row in read_lines(HERE / "clauses.jsonl")]


def _source(row: dict[str, Any]) -> str:
    spelling = "" if row["spelling"] == "plain" else f", {row['spelling']}"
    return f"own {row['written']}{spelling}"
