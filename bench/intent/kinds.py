"""Small talk against tasks, and what becomes of requests nobody can meet."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.progress import track

from app.reasoning import AgentOffer
from app.reasoning.local import LocalReasoner
from bench.intent.report import LANGUAGES, Section, against, share
from bench.intent.rows import Utterance

AIM = 0.95


class Taken(NamedTuple):
    """An utterance and what it was taken for."""

    said: Utterance
    kind: str

    @property
    def right(self) -> bool:
        """Whether small talk, and nothing else, was answered as small talk."""
        return (self.kind == "chitchat") == (self.said.label == "chitchat")


async def take(
    reasoner: LocalReasoner, offers: Sequence[AgentOffer], said: Sequence[Utterance], out: Console
) -> list[Taken]:
    """Classify every utterance without history."""
    shown = track(said, "classifying", console=out, transient=True)
    return [Taken(one, (await reasoner.classify(one.text, [], offers)).kind) for one in shown]


def table(taken: Sequence[Taken]) -> Section:
    """Balanced accuracy by language and source."""
    groups: dict[tuple[str, str], list[Taken]] = defaultdict(list)
    for one in taken:
        groups[one.said.language, one.said.source].append(one)
    rows = [
        (language, source, *_figures(groups[language, source]))
        for language in LANGUAGES
        for source in sorted({source for _, source in groups})
        if groups.get((language, source))
    ]
    return Section(
        "Small talk and tasks",
        ("language", "rows", "balanced accuracy", "small talk", "tasks", "requests not taken for small talk"),
        rows,
        "A request that no document meets (play some music) is right when it is searched for and ends in `not_found`; "
        "the others are told politely that this is beyond the assistant.",
    )


def _figures(taken: Sequence[Taken]) -> tuple[str, ...]:
    by_label = {label: [one.right for one in taken if one.said.label == label] for label in ("chitchat", "task", "oos")}
    both = [by_label["chitchat"], by_label["task"]]
    balanced = sum(sum(right) / len(right) for right in both) / 2 if all(both) else 0.0
    return against(balanced, AIM), *(share(right) for right in by_label.values())
