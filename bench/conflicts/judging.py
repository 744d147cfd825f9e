"""What is made of a row: which documents are said to disagree, who wins, and whether the answer is the right one."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from app.claims.kinds import counterparts_of
from app.domain.knowledge import Finding
from app.domain.principal import GENERAL
from app.embedding import Embedder
from app.flow.claims import Disagreement, disagreements
from app.flow.resolve import Verdict, judge, without_losers
from app.flow.state import FlowLimits
from app.reasoning.local import LocalReasoner
from app.reasoning.local.answer import finding_of, read
from app.reasoning.local.plain_reader import PlainReader
from app.text.amounts import amounts_in
from app.text.language import content_words, fold, normalise
from bench.conflicts.rows import Asked, Row

_ASIDE = re.compile(r"\([^)]*\)")
_FIGURE = re.compile(r"\w*\d\w*")
_WORDS = 0.5
"""Share of a gold answer's other words that an answer must show."""


class Judged(NamedTuple):
    """A row after everything was decided."""

    row: Row
    verdicts: tuple[Verdict, ...]
    finding: Finding
    """The answer, without what was overruled."""

    @property
    def detected(self) -> bool:
        """Whether a disagreement was seen."""
        return bool(self.verdicts)

    @property
    def right(self) -> bool:
        """Whether the answer that holds shows a gold answer."""
        return self.finding.found and shows_any(_holding(self), self.row.gold)

    @property
    def wrong(self) -> bool:
        """Whether it shows an answer that does not hold."""
        return self.finding.found and shows_any(_holding(self), self.row.wrong)


async def judged(
    asked: Asked, reasoner: LocalReasoner, embedder: Embedder, limits: FlowLimits, *, unsure: bool
) -> Judged:
    """Answer, hold against one another, weigh, and answer again without what lost.

    With `unsure` the quotes are taken however sure the reasoner is: claims and weighing alone.
    """
    finding = await reasoner.answer(asked.request())
    if unsure and not finding.found:
        finding = finding_of(asked.request(), await read(asked.request(), PlainReader(embedder)), "answer")
    beside = dict.fromkeys((*finding.counterparts, *counterparts_of(finding.quotes, asked.passages)))
    finding = finding.model_copy(update={"counterparts": tuple(beside)})
    verdicts = [judge(one, limits, {GENERAL}) for one in disagreements((finding,))]
    language = asked.request().language
    settled = await without_losers((finding,), verdicts, reasoner, language, limits.min_relevance_score)
    return Judged(asked.row, tuple(verdicts), settled[0] if settled else finding.model_copy(update={"found": False}))


def _holding(one: Judged) -> str:
    """What is shown as holding: the answer, and the winners of what was decided."""
    winners = [verdict.winner.sentence for verdict in one.verdicts if verdict.decided]
    return "\n".join([one.finding.answer, *winners])


def shows_any(text: str, golds: Iterable[str]) -> bool:
    """Whether one of the golds stands in the text."""
    return any(shows(text, gold) for gold in golds)


def shows(text: str, gold: str) -> bool:
    """Whether a gold answer stands in the text: literally, or all its figures and amounts and half of its other words.

    What the gold answer says in brackets is left out; case, spacing, diacritics and how numbers are spelt do not
    matter.
    """
    gold = _ASIDE.sub(" ", gold)
    said, wanted = fold(normalise(text)).lower(), fold(normalise(gold)).lower().strip(" .")
    if wanted and wanted in said:
        return True
    amounts = {(one.unit, one.value) for one in amounts_in(gold)}
    spans = [gold[one.start : one.end] for one in amounts_in(gold)]
    figures = set(_FIGURE.findall(fold(_without(gold, spans)).lower()))
    others = {fold(word) for word in content_words(_without(gold, spans)) if not any(map(str.isdigit, word))}
    if not amounts | {(figure, None) for figure in figures}:
        return False
    words = {fold(word) for word in content_words(text)}
    return (
        amounts <= {(one.unit, one.value) for one in amounts_in(text)}
        and figures <= set(_FIGURE.findall(said))
        and len(others & words) >= _WORDS * len(others)
    )


def _without(text: str, spans: Iterable[str]) -> str:
    for span in spans:
        text = text.replace(span, " ")
    return text


def between(found: Iterable[Verdict] | Iterable[Disagreement]) -> set[frozenset[str]]:
    """The pairs of documents, by name."""
    pairs = [(one.winner, one.loser) if isinstance(one, Verdict) else (one.one, one.other) for one in found]
    return {frozenset((mine.quote.passage.external_id, theirs.quote.passage.external_id)) for mine, theirs in pairs}
