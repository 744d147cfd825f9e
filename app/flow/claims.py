"""Claims of an answer's quotes, and which of them disagree.

Quotes of different documents disagree when they speak of the same thing and cannot both hold ("12 ngày phép năm"
against "14 ngày phép năm"). What else was found beside an answer (`Finding.counterparts`) is held against its quotes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from uuid import UUID

from app import claims
from app.claims.clashes import clashes
from app.claims.kinds import ConflictKind, are_as_near, is_one_page, kind_of, version_of
from app.claims.reading import sentences_of, validity_of
from app.claims.record import Clash, Text
from app.claims.sentences import is_other_case, plain_claim
from app.claims.statements import WORDING
from app.domain.conflicts import Known
from app.domain.knowledge import Finding, Language, Passage, Quote
from app.text.language import words

LOG_AUTHORITY = "log"
"""Authority of quotes made from system log lines: what they count is no policy."""


@dataclass(frozen=True)
class Claim:
    """What a quote states in values of one kind, and whose finding it stands in."""

    quote: Quote
    agent: str
    query: str
    stated: claims.Claim

    @property
    def sentence(self) -> str:
        """The sentence as people read it."""
        return self.stated.sentence

    @property
    def starts(self) -> date:
        """The first day on which it holds."""
        return self.stated.validity.begins or validity_of(self.quote.passage).begins or date.min

    def gives(self, other: "Claim") -> str:
        """The values it gives and the other does not, without their sentence."""
        own = [amount for amount in self.stated.amounts if amount not in other.stated.amounts]
        return ", ".join(own or self.stated.amounts)


@dataclass(frozen=True)
class Disagreement:
    """Two claims that cannot both hold, in the order they were found."""

    one: Claim
    other: Claim
    kind: ConflictKind
    ruling: Known | None = None
    """A person's verdict that one of them holds."""
    is_told: bool = True
    """Whether an answer tells one of them; else the first stands elsewhere in the document of an answer."""


@dataclass(frozen=True)
class _QuotedText:
    quote: Quote
    finding: Finding
    is_counterpart: bool

    @property
    def text(self) -> Text:
        passage = self.quote.passage
        language: Language | None = "vi" if passage.language == "vi" else "en" if passage.language == "en" else None
        return Text(self.quote.text, passage.text, passage.title, passage.section, language)


def with_known(findings: tuple[Finding, ...], known: Sequence[Known]) -> tuple[Finding, ...]:
    """Put beside what is quoted the other side of what is known to differ from it, where nobody found it."""
    told = []
    for finding in findings:
        beside = list(finding.counterparts)
        for quote in finding.quotes:
            for one in (one for one in known if _tells(quote, one.chunk_id, one.sentence)):
                is_there = any(_tells(q, one.other.chunk_id, one.other_sentence) for q in (*finding.quotes, *beside))
                if one.verdict in (None, "holds") and not is_there:
                    scores = quote.passage.model_dump(include={"similarity", "relevance_score"})
                    beside.extend(_other_side(one, one.other.model_copy(update=scores)))
        told.append(finding.model_copy(update={"counterparts": tuple(beside)}))
    return tuple(told)


def disagreements(findings: tuple[Finding, ...], known: Sequence[Known] = ()) -> list[Disagreement]:
    """Pairs of claims that disagree, at most one for each pair of documents and kind of value.

    Which agent was done first changes nothing: findings are held against one another in an order of their own. What
    a person said of two sentences counts before what the rules see in them.
    """
    found: dict[tuple[frozenset[object], str], Disagreement] = {}
    for one, other in combinations(_quoted_texts(findings), 2):
        documents = frozenset(map(version_of, (one.quote.passage, other.quote.passage)))
        if len(documents) == 1 or (one.is_counterpart and other.is_counterpart):
            continue
        for told in _between(one, other, known):
            found.setdefault((documents, told.one.stated.unit), told)
    return list(found.values())


def _quoted_texts(findings: tuple[Finding, ...]) -> list[_QuotedText]:
    """Every quote that counts, in an order of its own."""
    ordered = sorted(findings, key=lambda finding: (finding.index, finding.agent, finding.query))
    return [
        _QuotedText(quote, finding, quote in finding.counterparts)
        for finding in ordered if finding.found and not finding.compares
        for quote in (*finding.quotes, *finding.counterparts) if quote.passage.authority != LOG_AUTHORITY
    ]  # fmt: skip


def _other_side(one: Known, passage: Passage) -> Iterator[Quote]:
    """The other sentence as it stands there; a row of a table stands there in other signs."""
    lines = (one.other_sentence, *passage.text.splitlines())
    text = next((line for line in lines if line in passage.text and _says(line, one.other_sentence)), "")
    if text:
        yield Quote(passage=passage, text=text, score=0.0)


def _tells(said: Quote, chunk_id: UUID, sentence: str) -> bool:
    return said.passage.chunk_id == chunk_id and _says(said.text, sentence)


def _says(text: str, sentence: str) -> bool:
    """Whether a text says a sentence, or a part of it, in the same words."""
    mine, theirs = (" ".join(words(one)) for one in (text, sentence))
    return bool(mine and theirs) and (mine in theirs or theirs in mine)


def _rulings(one: Quote, other: Quote, known: Sequence[Known]) -> Iterator[tuple[Known, str, str]]:
    """What people said of sentences of two quotes, with the sentence of each."""
    for ruling in (ruling for ruling in known if ruling.verdict):
        sides = (ruling.chunk_id, ruling.sentence), (ruling.other.chunk_id, ruling.other_sentence)
        for mine, theirs in (sides, sides[::-1]):
            if _tells(one, *mine) and _tells(other, *theirs):
                yield ruling, mine[1], theirs[1]


def _between(one: _QuotedText, other: _QuotedText, known: Sequence[Known]) -> Iterator[Disagreement]:
    mine, theirs = one.quote.passage, other.quote.passage
    rulings = list(_rulings(one.quote, other.quote, known))
    if not rulings and mine.language != theirs.language and not are_as_near(mine, theirs):
        return
    one_page = is_one_page(mine, theirs)
    found = clashes(one.finding.query, one.text, other.text, is_one_page=one_page)
    holds = any(ruling.verdict == "holds" for ruling, *_ in rulings)
    held = None if found or holds or one_page else _held(one, other)
    is_told = held is None or held is one
    if held or (holds and not found):
        one = held or one
        rulings = rulings if is_told else list(_rulings(one.quote, other.quote, known))
        found = [Clash(_whole_claim(one.quote.text), _whole_claim(other.quote.text), overlap=1.0)]
    for clash in found:
        said = (r for r, *of in rulings if _says(clash.one.sentence, of[0]) and _says(clash.other.sentence, of[1]))
        if (ruling := next(said, None)) and ruling.verdict != "holds":
            continue
        kind = kind_of(mine, theirs, clash.one.validity, clash.other.validity)
        yield Disagreement(
            Claim(one.quote, one.finding.agent, one.finding.query, clash.one),
            Claim(other.quote, other.finding.agent, other.finding.query, clash.other),
            kind,
            ruling,
            is_told,
        )


def _held(one: _QuotedText, other: _QuotedText) -> _QuotedText | None:
    """What the reader took the other, a counterpart, for another value of: the one, the first quote of its answer, or
    what that one's document says elsewhere. None where it did not."""
    beside = other.quote.against if other.is_counterpart and other.finding is one.finding else None
    if not beside or one.quote != one.finding.quotes[0] or beside.passage.document_id != one.quote.passage.document_id:
        return None
    held = one if beside.text in one.quote.text else replace(one, quote=beside)
    return None if is_other_case(*map(_with_title, (held, other))) else held


def _with_title(said: _QuotedText) -> str:
    return f"{said.quote.text} {said.quote.passage.title}"


def _whole_claim(text: str) -> claims.Claim:
    """A quote as one claim, as people read it."""
    told = " ".join(sentence.text for sentence in sentences_of(text)) or text
    return plain_claim(told, WORDING, frozenset({told}), (told,))
