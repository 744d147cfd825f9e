"""The final answer, written from findings, computations and weighed conflicts; streamed piece by piece."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from app.domain.answer import Outcome
from app.domain.knowledge import Finding, Language, Quote, without_citations
from app.reasoning import ComposeRequest, Composition, ResolvedPoint
from app.reasoning.local.arguments import states_formula
from app.reasoning.local.intents import intents_of
from app.reasoning.local.rendering import further_questions, render
from app.reasoning.local.terms import bag_of, share_in
from app.reasoning.local.wording import listed, sentences, shown, titles_of
from app.text.dates import write_day

_PIECE = re.compile(r"(?:\S+\s*){1,3}")
_ASKED_SHARE = 0.6
_NOT_FOUND_CONFIDENCE = 0.3
_UNDECIDED, _FAILED = 0.6, 0.8
"""Confidence at most where both sides are shown; its share where an agent failed."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A query with what was found for it."""

    query: str
    findings: tuple[Finding, ...]

    @property
    def found(self) -> tuple[Finding, ...]:
        """The findings that hold something."""
        return tuple(finding for finding in self.findings if finding.found)

    @property
    def is_closest(self) -> bool:
        """Whether all that was found may not answer."""
        return bool(self.found) and all(finding.is_closest for finding in self.found)


async def compose(request: ComposeRequest) -> AsyncIterator[str | Composition]:
    """Stream the text in pieces of a few words, then the whole composition."""
    composition = composed(request)
    for piece in _PIECE.finditer(composition.answer):
        yield piece[0]
    yield composition


def composed(request: ComposeRequest) -> Composition:
    """The whole answer at once."""
    told = _by_query(request)
    outcome = _outcome(request, told)
    if outcome == "not_found":
        return Composition(
            answer=_nothing(request), outcome=outcome,
            reasoning=sentences("composed", request.language)["nothing_reason"],
            confidence=min(_NOT_FOUND_CONFIDENCE, max((f.confidence for f in request.findings), default=0.0)),
            follow_up_questions=(),
        )  # fmt: skip
    paragraphs = [*_answers(request, told), *_computed(request), *request.refusals, *dict.fromkeys(_conflicts(request))]
    paragraphs += _gaps(request, told)
    return Composition(
        answer=_uncited(request, "\n\n".join(paragraph for paragraph in paragraphs if paragraph)),
        outcome=outcome,
        reasoning=_reasoning(request),
        confidence=round(_confidence(request, told), 4),
        follow_up_questions=further_questions(
            request.query, request.findings, request.language, request.max_follow_up_questions
        ),
    )


def _uncited(request: ComposeRequest, text: str) -> str:
    """Nothing is cited by number here: such a mark is a document's own, and would be taken for one of ours. In logs
    it is a process (``sshd[812]``)."""
    is_from_logs = any(evidence.source_type == "log" for f in request.findings for evidence in f.evidence)
    return text if is_from_logs else without_citations(text)


def _by_query(request: ComposeRequest) -> list[_Told]:
    """Findings grouped by what was asked, in plan order; a computation told elsewhere is left out. What may not answer
    counts as nothing found beside the reason why a calculation is refused, unless it states the formula."""
    groups: dict[str, list[Finding]] = {}
    for finding in request.findings:
        if finding.answer and finding.answer in request.computations:
            continue
        has_formula = any(states_formula(quote.text, quote.passage) for quote in finding.quotes)
        is_refused = bool(request.refusals) and finding.is_closest and not has_formula
        own = finding.model_copy(update={"found": False}) if is_refused else finding
        groups.setdefault(finding.query, []).append(own)
    return [_Told(query, tuple(findings)) for query, findings in groups.items()]


def _outcome(request: ComposeRequest, told: Sequence[_Told]) -> Outcome:
    if not any(group.found for group in told) and not request.computations:
        return "not_found"
    if any(not point.decided for point in request.conflicts):
        return "conflict"
    lacks = bool(request.failed_agents or request.refusals or _unanswered(request, told))
    return "partial" if lacks or any(group.is_closest for group in told) else "answered"


def _unanswered(request: ComposeRequest, told: Sequence[_Told]) -> list[str]:
    """Parts of the question nobody answered; queries the planner added by itself are not missed."""
    if request.computations and not any(group.found for group in told):
        return []
    return [group.query for group in told if not group.found and _was_asked(group.query, request.query)]


def _was_asked(query: str, question: str) -> bool:
    return share_in(query, bag_of(question)) >= _ASKED_SHARE


def _answers(request: ComposeRequest, told: Sequence[_Told]) -> Iterator[str]:
    """The findings, each query under its own heading when there are several."""
    summary = request.summaries[-1] if request.summaries and "summary" in intents_of(request.query) else ""
    if summary:
        yield summary
        return
    disputed = [point for point in request.conflicts if not point.decided]
    answered = [(group.query, text) for group, text in _without_repetition(told, disputed, request.language) if text]
    for query, text in answered:
        yield f"**{query.strip()}**\n\n{text}" if len(answered) > 1 else text


def _without_repetition(
    told: Sequence[_Told], disputed: Sequence[ResolvedPoint], language: Language
) -> Iterator[tuple[_Told, str]]:
    """Each group with its text; spans quoted for an earlier query are not quoted again, and neither side of an
    undecided conflict is: the note names both."""
    seen: set[tuple[str, str]] = set()
    for group in told:
        fresh: list[Quote] = []
        texts: list[str] = []
        for finding in group.found:
            own = [quote for quote in finding.quotes if _key(quote) not in seen]
            settled = [quote for quote in own if not _is_disputed(quote, disputed)]
            seen |= {_key(quote) for quote in own}
            if _is_of_quotes(finding) or len(settled) < len(own):
                fresh += settled
            elif own or not finding.quotes:
                texts.append(finding.answer)
        told_text = "\n\n".join(filter(None, [_attributed(fresh, language), *dict.fromkeys(texts)]))
        lead = _caution(group, language) if told_text else ""
        yield group, f"{lead}\n\n{told_text}" if lead else told_text


def _is_of_quotes(finding: Finding) -> bool:
    """Whether the answer is the quotes and nothing else."""
    return finding.answer in (render(finding.quotes), "\n".join(quote.text for quote in finding.quotes))


def _caution(group: _Told, language: Language) -> str:
    """What stands before text that may not answer, or does not hold today."""
    texts = sentences("composed", language)
    stale = [quote.passage for finding in group.found if finding.not_in_force for quote in finding.quotes]
    if not stale:
        return texts["closest"] if group.is_closest else ""
    days = [f"{one.effective_from or '…'} – {one.effective_to or '…'}" for one in stale]
    return texts["not_in_force"].format(periods="; ".join(dict.fromkeys(days)))


def _is_disputed(quote: Quote, disputed: Sequence[ResolvedPoint]) -> bool:
    """Whether a quote is a side of one of the conflicts."""
    sides = [pair for one in disputed for pair in ((one.winner_title, one.winner), (one.loser_title, one.loser))]
    return any(title == quote.passage.title and (text in quote.text or quote.text in text) for title, text in sides)


def _key(quote: Quote) -> tuple[str, str]:
    return str(quote.passage.document_id), quote.text


def _attributed(quotes: Sequence[Quote], language: Language) -> str:
    """The quotes as text; each document is named when there are several."""
    by_title: dict[str, list[Quote]] = {}
    for quote in quotes:
        by_title.setdefault(quote.passage.title, []).append(quote)
    if len(by_title) < 2:
        return render(quotes)
    attribution = sentences("composed", language)["according_to"]
    texts = {attribution.format(title=title): render(own) for title, own in by_title.items()}
    return "\n\n".join("\n".join(pair) if "\n" in pair[1] else " ".join(pair) for pair in texts.items())


def _computed(request: ComposeRequest) -> Iterator[str]:
    for computation in request.computations:
        calculates = any(sign in computation for sign in "=≈")
        yield (
            sentences("composed", request.language)["computed"].format(text=computation) if calculates else computation
        )


def _conflicts(request: ComposeRequest) -> Iterator[str]:
    texts = sentences("composed", request.language)
    for point in request.conflicts:
        kind, days = "decided" if point.decided else "undecided", dict[str, str]()
        if point.starts:
            kind, told = "starts_later", (point.starts - timedelta(days=1), point.starts)
            days = dict(zip(("until", "since"), (write_day(day, request.language) for day in told), strict=True))
        yield texts[kind].format(
            winner=point.winner.strip().rstrip("."), loser=point.loser.strip().rstrip("."), reason=point.reason,
            winner_title=point.winner_title, loser_title=point.loser_title, **days,
        )  # fmt: skip


def _gaps(request: ComposeRequest, told: Sequence[_Told]) -> Iterator[str]:
    texts = sentences("composed", request.language)
    missing = _unanswered(request, told)
    if missing:
        yield texts["missing"].format(queries="; ".join(query.rstrip("?") for query in missing))
    if request.failed_agents:
        yield texts["failed"].format(agents=_named(request.failed_agents, request.language))


def _named(agents: Iterable[str], language: Language) -> str:
    return listed([shown(agent) for agent in agents], language)


def _nothing(request: ComposeRequest) -> str:
    """Why it could not be done; else what was searched and whom to ask."""
    if request.refusals:
        return "\n\n".join(request.refusals)
    texts = sentences("composed", request.language)
    agents = dict.fromkeys(finding.agent for finding in request.findings)
    searched = texts["searched"].format(agents=_named(agents, request.language)) if agents else ""
    return " ".join([texts["nothing"].format(query=request.query.rstrip("?"), searched=searched), *_gaps(request, ())])


def _reasoning(request: ComposeRequest) -> str:
    texts = sentences("composed", request.language)
    decided = next((point for point in request.conflicts if point.decided), None)
    if decided:
        return texts["preferred"].format(title=decided.winner_title, preference=decided.preference)
    titles = list(dict.fromkeys(q.passage.title for f in request.findings if f.found for q in f.quotes))
    if not titles:
        return texts["computed_reason"]
    return texts["sources"].format(titles=titles_of(titles, request.language))


def _confidence(request: ComposeRequest, told: Sequence[_Told]) -> float:
    """Mean over what was asked of the surest finding; unanswered parts count nothing."""
    best = [max((finding.confidence for finding in group.found), default=0.0) for group in told]
    counted = [
        value for value, group in zip(best, told, strict=True) if value or _was_asked(group.query, request.query)
    ]
    mean = sum(counted) / len(counted) if counted else 1.0
    undecided = any(not point.decided for point in request.conflicts)
    return min(mean, _UNDECIDED if undecided else 1.0) * (_FAILED if request.failed_agents else 1.0)
