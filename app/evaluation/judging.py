"""Judge an answer: which of its sentences tell something, what of the expected is missing, its grade, and its leaks."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from app.domain.record import Record
from app.evaluation.fact import (
    Alternatives,
    Parts,
    leaked,
    missing_dates,
    missing_facts,
    overlap,
    split_answer,
    without_words,
)
from app.evaluation.figures import CUT, Pair, class_pairs, recall_at, share
from app.evaluation.observed import Observation, cited_urls
from app.evaluation.question import Disagreement, Expected, Question
from app.text.language import guess_language

Grade = Literal[
    "right", "partly", "wrong_answered", "wrong_hedged", "wrongly_refused", "rightly_refused", "failed"
]  # fmt: skip
GIVEN = frozenset({"answered", "partial", "conflict"})
"""Outcomes that tell something as an answer."""
BELONGS = 0.5
"""The overlap with a passage from which on a sentence belongs."""
_GRADES: dict[str, frozenset[Grade]] = {
    "fully_right": frozenset({"right", "rightly_refused"}), "partly": frozenset({"partly"}),
    "wrong_answered": frozenset({"wrong_answered"}), "wrong_hedged": frozenset({"wrong_hedged"}),
    "wrongly_refused": frozenset({"wrongly_refused"}),
}  # fmt: skip
"""Figures that are shares of graded answers."""


class Fault(Record):
    """Why an answer counts as wrong."""

    check: str
    """``evidence facts stale dates outcome agents conflict winner leak``."""
    detail: str


class Leak(Record):
    """Something an asker without the right to it was shown."""

    what: str
    """A canary, or the address of a document."""
    where: str
    """Part of the answer or event."""


class Verdict(Record):
    """One answer, judged."""

    right: bool
    """Nothing that was expected is missing, and nothing leaked."""
    is_true: bool | None = None
    """Whether the answer says what is so, the confidence's question: None where it gave none, or nobody knows."""
    grade: Grade | None = None
    """None where nothing is expected that could be graded, or nobody has confirmed it."""
    extra: tuple[str, ...] = ()
    """Sentences of the answer that do not belong into it."""
    faults: tuple[Fault, ...]
    leaks: tuple[Leak, ...]
    measures: dict[str, Pair]
    """By figure."""


def judge(
    question: Question,
    observation: Observation,
    *,
    urls: Mapping[str, str],
    texts: Sequence[tuple[str, str]],
    forbidden: AbstractSet[str],
) -> Verdict:
    """Judge an answer.

    `urls` gives the address of every document the question names; `texts` is (where, text) of all that was told;
    `forbidden` holds the addresses of documents the asker may not read.
    """
    found = _Judging(question, observation, urls)
    shown = leaked(texts, question.expected.must_not_contain)
    shown += [(url, where) for where, url in dict.fromkeys(cited_urls(observation)) if url in forbidden]
    leaks = tuple(Leak(what=what, where=where) for what, where in shown)
    found.faults += [Fault(check="leak", detail=f"{leak.what} in {leak.where}") for leak in leaks]
    right, faults = not found.faults, tuple(found.faults)
    if question.to_review:
        return Verdict(right=right, extra=found.extra, faults=faults, leaks=leaks, measures={})
    return Verdict(
        right=right, is_true=found.is_true(), grade=found.grade, extra=found.extra, faults=faults, leaks=leaks,
        measures={**found.measures, "right": share(right), "leaking": share(bool(leaks))},
    )  # fmt: skip


class _Judging:
    """Collects faults and measures, one kind of expectation after another."""

    def __init__(self, question: Question, observation: Observation, urls: Mapping[str, str]):
        self._expected, self._seen, self._urls = question.expected, observation, urls
        self.faults: list[Fault] = []
        self.measures: dict[str, Pair] = {}
        self._outcome()
        self._evidence()
        self._content(question.told_in)
        self._agents()
        if question.expected.conflict:
            self._conflict(question.expected.conflict)

    def is_true(self) -> bool | None:
        """Tell whether the answer says what is so; None where it gave none, or nothing expected tells."""
        expected, failed = self._expected, {fault.check for fault in self.faults}
        if self._seen.error or self._seen.outcome not in GIVEN:
            return None
        if expected.outcome[:1] == ("not_found",):
            return False
        if expected.facts or expected.dates:
            return not failed & {"facts", "dates"}
        return "evidence" not in failed if expected.evidence else None

    def _fault(self, check: str, detail: str) -> None:
        self.faults.append(Fault(check=check, detail=detail))

    def _outcome(self) -> None:
        accepted, told = self._expected.outcome, self._seen.outcome
        if self._seen.error:
            self._fault("outcome", f"failed: {self._seen.error}")
        elif accepted and told not in accepted:
            self._fault("outcome", f"{told} instead of {' or '.join(accepted)}")
        if accepted:
            self.measures["outcome"] = share(told in accepted)
            self.measures |= class_pairs("not_found", accepted[0] == "not_found", told == "not_found")

    def _evidence(self) -> None:
        if self._expected.evidence is None:
            return
        needs = [frozenset(self._urls.get(name, name) for name in one) for one in self._expected.evidence.needs]
        cited = self._seen.evidence
        for need in needs:
            if not need & set(cited):
                self._fault("evidence", f"does not cite {' or '.join(sorted(need))}")
        self.measures["recall"] = Pair(recall_at(CUT, needs, cited), 1.0)

    def _content(self, language: str) -> None:
        """Facts, days, superseded values, sentences that do not belong, and the grade that follows."""
        expected, seen = self._expected, self._seen
        parts = split_answer(seen.answer)
        cites = all(fault.check != "evidence" for fault in self.faults)
        missing, days = missing_facts(seen.answer, expected.facts), missing_dates(seen.answer, expected.dates)
        stale = stale_told(parts, seen.outcome, expected)
        for fact in missing:
            self._fault("facts", f"does not say “{fact.told}”")
        for value in stale:
            self._fault("stale", f"tells “{value.told}” as if it still held")
        for day in days:
            self._fault("dates", f"does not name {day}")
        if expected.facts or expected.dates:
            self.measures["facts"] = share(not missing and not days)
        if expected.stale:
            self.measures["stale"] = share(bool(stale))
        self.extra: tuple[str, ...] = ()
        if expected.belongs and seen.outcome in GIVEN:
            self.extra = tuple(extra_sentences(parts, expected, language))
            self.measures["extra"] = share(bool(self.extra))
        self.grade = grade_of(expected, seen, len(missing) + len(days), is_stale=bool(stale), cites=cites)
        if self.grade:
            self.measures |= {figure: share(self.grade in grades) for figure, grades in _GRADES.items()}

    def _agents(self) -> None:
        needed, asked = self._expected.agents, self._seen.agents
        if lacking := [name for name in needed if name not in asked]:
            self._fault("agents", f"{', '.join(lacking)} was not asked, {', '.join(asked) or 'nobody'} was")
        if needed:
            self.measures["routing"] = share(not lacking)

    def _conflict(self, expected: Disagreement) -> None:
        found, said = self._seen.conflicts, bool(self._seen.conflicts)
        kinds = {one.type for one in found if one.type}
        self.measures |= class_pairs("conflict", expected.exists, said)
        won = bool(expected.winner) and said and self._is_won(expected.winner or "")
        if expected.exists and said and expected.winner:
            self.measures["winner"] = share(won)
        if expected.exists != said:
            what = "the sources' disagreement was not reported" if expected.exists else "reports a disagreement of none"
            self._fault("conflict", what)
        elif expected.winner and not won:
            how = "decided for another source" if any(one.decided for one in found) else "left undecided"
            self._fault("winner", f"{how}; {self._urls.get(expected.winner, expected.winner)} holds")
        elif expected.type and kinds and expected.type not in kinds:
            self._fault("conflict", f"{', '.join(sorted(kinds))} instead of {expected.type}")

    def _is_won(self, winner: str) -> bool:
        """Whether the source holds in every reported disagreement it takes part in, and in one at least."""
        url = self._urls.get(winner, winner)
        concerned = [one for one in self._seen.conflicts if url in (one.winner, one.loser)]
        return bool(concerned) and all(one.decided and one.winner == url for one in concerned)


def grade_of(
    expected: Expected, observation: Observation, missing: int, *, is_stale: bool, cites: bool
) -> Grade | None:
    """Grade an answer that lacks `missing` facts and days; None where no outcome, fact or source is expected.

    `cites` tells whether every expected document is cited; it counts only where no fact is expected.
    """
    first = expected.outcome[0] if expected.outcome else None
    parts = len(expected.facts) + len(expected.dates)
    if first is None and not parts and not expected.evidence:
        return None
    outcome = observation.outcome
    if observation.error or outcome == "failed":
        return "failed"
    wrong: Grade = "wrong_answered" if outcome == "answered" else "wrong_hedged"
    fits = not expected.outcome or outcome in expected.outcome
    if first is not None and first not in GIVEN:
        return "rightly_refused" if fits else wrong
    if outcome not in GIVEN:
        return "wrongly_refused"
    if not parts and expected.evidence:
        parts, missing = 1, int(not cites)
    if parts and missing == parts:
        return wrong
    return "partly" if missing or is_stale or not fits else "right"


def extra_sentences(parts: Parts, expected: Expected, language: str) -> list[str]:
    """List the sentences that overlap no passage of `belongs` and hold no fact.

    A sentence in the asker's `language` is let pass where no passage is in it: it may be a translation.
    """
    is_translated = all(guess_language(passage) != language for passage in expected.belongs)
    return [
        sentence
        for sentence in parts.sentences
        if len(missing_facts(sentence, expected.facts)) == len(expected.facts)
        and all(overlap(sentence, passage) < BELONGS for passage in expected.belongs)
        and not (is_translated and guess_language(sentence) == language)
    ]


def stale_told(parts: Parts, outcome: str, expected: Expected) -> list[Alternatives]:
    """List the superseded values that a sentence tells as current.

    A value is let pass where the outcome is `conflict`, where a note names it, where the sentence quotes a passage
    that belongs and names it (“14 instead of 12 days”), and where it is only a part of a fact.
    """
    if outcome == "conflict":
        return []
    return [
        value
        for value in expected.stale
        if missing_facts(parts.notes, [value]) and any(_tells(one, value, expected) for one in parts.sentences)
    ]


def _tells(sentence: str, value: Alternatives, expected: Expected) -> bool:
    spellings = [fact.text for group in expected.facts for fact in group.any_of if fact.text]
    if missing_facts(without_words(sentence, spellings), [value]):
        return False
    return not any(
        overlap(sentence, passage) >= BELONGS and not missing_facts(passage, [value]) for passage in expected.belongs
    )
