"""Questions that lean on the one before, and utterances with several questions in them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from app.domain.tasks import Message
from app.reasoning.local import LocalReasoner
from app.text.language import fold, normalise
from bench.intent.report import LANGUAGES, Section, share
from bench.intent.rows import Compound, FollowUp


class Understood(NamedTuple):
    """What a row was understood as."""

    language: str
    kind: str
    asked: str
    as_what: str
    right: bool


async def follow(reasoner: LocalReasoner, rows: Sequence[FollowUp]) -> list[Understood]:
    """Ask each question after the one before it."""
    found: list[Understood] = []
    for row in rows:
        history = [Message(role="user", content=row.earlier), Message(role="assistant", content="…")]
        said = await reasoner.classify(row.asked, history, [])
        words = all(_mentions(said.refined_query, word) for word in row.kept)
        spared = not any(_mentions(said.refined_query, word) for word in row.gone)
        right = words and spared and said.kind != "chitchat" and (row.leans or not said.is_follow_up)
        kind = "leans on the question before" if row.leans else "stands alone"
        found.append(Understood(row.language, kind, f"{row.earlier} // {row.asked}", said.refined_query, right))
    return found


async def split(reasoner: LocalReasoner, rows: Sequence[Compound]) -> list[Understood]:
    """Take each utterance apart."""
    found: list[Understood] = []
    for row in rows:
        said = await reasoner.classify(row.asked, [], [])
        pairs = zip(row.parts, said.sub_queries, strict=False)
        right = len(said.sub_queries) == len(row.parts) and all(_mentions(part, word) for word, part in pairs)
        kind = "several questions" if len(row.parts) > 1 else "one question"
        found.append(Understood(row.language, kind, row.asked, " | ".join(said.sub_queries), right))
    return found


def table(title: str, understood: Sequence[Understood]) -> Section:
    """Share understood, by language and kind."""
    groups: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in understood:
        groups[one.language, one.kind].append(one.right)
        groups[one.language, "all"].append(one.right)
    kinds = sorted({kind for _, kind in groups}, key=lambda kind: (kind == "all", kind))
    rows = [(language, *(share(groups[language, kind]) for kind in kinds)) for language in LANGUAGES]
    return Section(title, ("language", *kinds), rows)


def _mentions(text: str, word: str) -> bool:
    """Diacritics and case aside."""
    return fold(word).lower() in fold(normalise(text)).lower()
