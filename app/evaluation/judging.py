"""Holding an answer against what was expected: what failed, and what it adds to each metric."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from app.domain.record import Record
from app.evaluation.fact import leaked, missing_dates, missing_facts
from app.evaluation.grading import GIVEN, Grade, Parts, extra_sentences, grade_of, split_answer, stale_told
from app.evaluation.observed import Observation, Weighed, cited_urls
from app.evaluation.question import Cited, Disagreement, Expected, Question
from app.evaluation.ranking import Needs, ndcg_at, recall_at, reciprocal_rank
from app.evaluation.rates import Pair, f1_pair, precision_pair, recall_pair, share

CUT = 5
"""k of recall@k and nDCG@k."""
_GRADES: dict[str, frozenset[Grade]] = {
    "fully_right": frozenset({"right", "rightly_refused"}), "partly": frozenset({"partly"}),
    "wrong_answered": frozenset({"wrong_answered"}), "wrong_hedged": frozenset({"wrong_hedged"}),
    "wrongly_refused": frozenset({"wrongly_refused"}),
}  # fmt: skip
"""Metrics that are shares of graded answers."""


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
    is_true: bool | None
    """Whether the answer says what is so, the confidence's question: None where it gave none, or nobody knows."""
    grade: Grade | None
    """None where nothing is expected that could be graded, or nobody has confirmed it."""
    extra: tuple[str, ...]
    """Sentences of the answer that do not belong into it."""
    faults: tuple[Fault, ...]
    leaks: tuple[Leak, ...]
    measures: dict[str, Pair]
    """By metric."""


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
    expected, failed = question.expected, bool(observation.error)
    leaks = tuple(_leaks(expected, observation, texts, forbidden))
    parts = split_answer(observation.answer)
    faults = tuple(_faults(expected, observation, parts, urls)) + tuple(
        Fault(check="leak", detail=f"{leak.what} in {leak.where}") for leak in leaks
    )
    given = observation.outcome in GIVEN
    extra = tuple(extra_sentences(parts, expected, question.told_in)) if given and expected.belongs else ()
    grade, measures = None, {}
    if not question.to_review:
        failing = {fault.check for fault in faults}
        stale = stale_told(parts, observation.outcome, expected)
        grade = grade_of(expected, observation, stale, cites="evidence" not in failing)
        measures = {"right": share(not faults)} | _measures(expected, observation, urls, leaked=bool(leaks))
        measures |= _of_grade(expected, grade, has_extra=bool(extra), is_stale=bool(stale), given=given)
    is_true = None if failed or question.to_review else _is_true(expected, observation, faults)
    return Verdict(
        right=not faults, is_true=is_true, grade=grade, extra=extra, faults=faults, leaks=leaks, measures=measures
    )


def addressed(cited: Cited, urls: Mapping[str, str]) -> Needs:
    """What must be cited, by address."""
    return [frozenset(urls.get(name, name) for name in need) for need in cited.needs]


def _leaks(
    expected: Expected, observation: Observation, texts: Sequence[tuple[str, str]], forbidden: AbstractSet[str]
) -> Iterator[Leak]:
    for canary, where in leaked(texts, expected.must_not_contain):
        yield Leak(what=canary, where=where)
    for where, url in dict.fromkeys(cited_urls(observation)):
        if url in forbidden:
            yield Leak(what=url, where=where)


def _faults(expected: Expected, observation: Observation, parts: Parts, urls: Mapping[str, str]) -> Iterator[Fault]:
    if observation.error:
        yield Fault(check="outcome", detail=f"failed: {observation.error}")
    elif expected.outcome and observation.outcome not in expected.outcome:
        yield Fault(check="outcome", detail=f"{observation.outcome} instead of {' or '.join(expected.outcome)}")
    if expected.evidence:
        cited = {source.url for source in observation.evidence}
        for need in addressed(expected.evidence, urls):
            if not need & cited:
                yield Fault(check="evidence", detail=f"does not cite {' or '.join(sorted(need))}")
    yield from _content_faults(expected, observation, parts)
    if lacking := [name for name in expected.agents if name not in observation.agents]:
        asked = ", ".join(observation.agents) or "nobody"
        yield Fault(check="agents", detail=f"{', '.join(lacking)} was not asked, {asked} was")
    if expected.conflict:
        yield from _conflict_faults(expected.conflict, observation.conflicts, urls)


def _content_faults(expected: Expected, observation: Observation, parts: Parts) -> Iterator[Fault]:
    for fact in missing_facts(observation.answer, expected.facts):
        yield Fault(check="facts", detail=f"does not say “{fact.told}”")
    for value in stale_told(parts, observation.outcome, expected):
        yield Fault(check="stale", detail=f"tells “{value.told}” as if it still held")
    for day in missing_dates(observation.answer, expected.dates):
        yield Fault(check="dates", detail=f"does not name {day}")


def _conflict_faults(expected: Disagreement, conflicts: Sequence[Weighed], urls: Mapping[str, str]) -> Iterator[Fault]:
    if expected.exists != bool(conflicts):
        detail = "the sources' disagreement was not reported" if expected.exists else "reports a disagreement of none"
        yield Fault(check="conflict", detail=detail)
    elif expected.winner and not _is_won(expected.winner, conflicts, urls):
        detail = "left undecided" if not any(one.decided for one in conflicts) else "decided for another source"
        yield Fault(check="winner", detail=f"{detail}; {urls.get(expected.winner, expected.winner)} holds")
    elif expected.type and (told := {one.type for one in conflicts if one.type}) and expected.type not in told:
        yield Fault(check="conflict", detail=f"{', '.join(sorted(told))} instead of {expected.type}")


def _is_won(winner: str, conflicts: Sequence[Weighed], urls: Mapping[str, str]) -> bool:
    """Whether the source holds in every reported disagreement it takes part in, and in one at least."""
    url = urls.get(winner, winner)
    concerned = [one for one in conflicts if url in (one.winner, one.loser)]
    return bool(concerned) and all(one.decided and one.winner == url for one in concerned)


def _is_true(expected: Expected, observation: Observation, faults: Sequence[Fault]) -> bool | None:
    if observation.outcome not in GIVEN:
        return None
    failed = {fault.check for fault in faults}
    if expected.outcome[:1] == ("not_found",):
        return False
    if expected.facts or expected.dates:
        return not failed & {"facts", "dates"}
    return "evidence" not in failed if expected.evidence else None


def _measures(
    expected: Expected, observation: Observation, urls: Mapping[str, str], *, leaked: bool
) -> dict[str, Pair]:
    measures = {"leaking": share(leaked)}
    if expected.evidence:
        measures |= _of_evidence(addressed(expected.evidence, urls), [one.url for one in observation.evidence])
    if expected.facts or expected.dates:
        text = observation.answer
        is_whole = not missing_facts(text, expected.facts) and not missing_dates(text, expected.dates)
        measures["facts"] = share(is_whole)
    if expected.agents:
        measures |= _of_routing(set(expected.agents), set(observation.agents))
    if expected.outcome:
        measures |= _of_outcome(expected.outcome, observation.outcome)
    if expected.conflict:
        measures |= _of_conflict(expected.conflict, observation.conflicts, urls)
    return measures


def _of_grade(
    expected: Expected, grade: Grade | None, *, has_extra: bool, is_stale: bool, given: bool
) -> dict[str, Pair]:
    measures = {metric: share(grade in grades) for metric, grades in _GRADES.items()} if grade else {}
    if expected.belongs and given:
        measures["extra"] = share(has_extra)
    if expected.stale:
        measures["stale"] = share(is_stale)
    return measures


def _of_evidence(needs: Needs, ranked: Sequence[str]) -> dict[str, Pair]:
    return {
        "recall": Pair(recall_at(CUT, needs, ranked), 1.0),
        "mrr": Pair(reciprocal_rank(needs, ranked), 1.0),
        "ndcg": Pair(ndcg_at(CUT, needs, ranked), 1.0),
    }


def _of_routing(expected: set[str], asked: set[str]) -> dict[str, Pair]:
    """Everybody who was needed was asked; and of those who were asked, how many were needed."""
    return {"routing": share(expected <= asked), "routing_precision": Pair(len(expected & asked), len(asked))}


def _of_outcome(accepted: Sequence[str], said: str) -> dict[str, Pair]:
    due_nothing, said_nothing = accepted[0] == "not_found", said == "not_found"
    return {
        "outcome": share(said in accepted),
        "not_found_precision": precision_pair(due_nothing, said_nothing),
        "not_found_recall": recall_pair(due_nothing, said_nothing),
        "not_found_f1": f1_pair(due_nothing, said_nothing),
    }


def _of_conflict(expected: Disagreement, conflicts: Sequence[Weighed], urls: Mapping[str, str]) -> dict[str, Pair]:
    due, said = expected.exists, bool(conflicts)
    measures = {
        "conflict_precision": precision_pair(due, said),
        "conflict_recall": recall_pair(due, said),
        "conflict_f1": f1_pair(due, said),
    }
    if due and said and expected.winner:
        measures["winner"] = share(_is_won(expected.winner, conflicts, urls))
    told = {one.type for one in conflicts if one.type}
    if due and told and expected.type:
        measures["conflict_type"] = share(expected.type in told)
    return measures
