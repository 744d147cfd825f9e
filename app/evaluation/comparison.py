"""Two runs side by side: which figures moved, by how much more than chance, and which questions made them move."""

from collections.abc import Sequence

from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.evaluation.intervals import difference_interval
from app.evaluation.measures import METRICS
from app.evaluation.rates import rate
from app.evaluation.report import Asked, GateResult, Report
from app.evaluation.summary import pairs_of


class Change(Record):
    """A rate in both runs, over the questions both asked."""

    metric: str
    before: float
    after: float
    low: float
    """Of the 95 % interval of the difference."""
    high: float
    questions: int
    verdict: str
    """``better``, ``worse``, or ``even`` where the interval holds zero."""


class Moved(Record):
    """A question whose verdict changed."""

    key: str
    question: str
    before: tuple[str, ...]
    """What was wrong; empty = right."""
    after: tuple[str, ...]


class Comparison(Record):
    """What changed from one run to the next."""

    questions: int
    """Those both runs asked."""
    only_before: int
    only_after: int
    unlike: tuple[str, ...]
    """Circumstances that differ: the mind, the documents, a setting."""
    changes: tuple[Change, ...]
    median_seconds: tuple[float, float]
    p95_seconds: tuple[float, float]
    leaks: tuple[int, int]
    better: tuple[Moved, ...]
    worse: tuple[Moved, ...]
    gates: tuple[GateResult, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no gate is broken."""
        return all(gate.holds for gate in self.gates)


def compare(before: Report, after: Report) -> Comparison:
    """Compare two runs over the questions they share. Raises `AppError` when they share none."""
    known = {one.key: one for one in before.asked if not one.question.to_review}
    new = {one.key: one for one in after.asked if not one.question.to_review}
    shared = [key for key in known if key in new]
    if not shared:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The two runs share no question.", status=422)
    was, now = [known[key] for key in shared], [new[key] for key in shared]
    return Comparison(
        questions=len(shared),
        only_before=len(known) - len(shared),
        only_after=len(new) - len(shared),
        unlike=tuple(unlike(before, after)),
        changes=tuple(changes_of(was, now, seed=after.seed)),
        median_seconds=(before.spent.median_seconds, after.spent.median_seconds),
        p95_seconds=(before.spent.p95_seconds, after.spent.p95_seconds),
        leaks=(before.leak_count, after.leak_count),
        better=tuple(_moved(one, other) for one, other in zip(was, now, strict=True) if other.right and not one.right),
        worse=tuple(_moved(one, other) for one, other in zip(was, now, strict=True) if one.right and not other.right),
    )


def unlike(before: Report, after: Report) -> list[str]:
    """What should be alike for two runs to be compared, and is not; the program itself is meant to differ."""
    one, other = before.circumstances, after.circumstances
    told = [
        f"{name}: {was} → {now}"
        for name, was, now in (
            ("mind", one.mind, other.mind), ("vectors", one.space, other.space), ("day", one.today, other.today),
            ("concurrency", one.concurrency, other.concurrency),
        )
        if was != now
    ]  # fmt: skip
    known, new = ({corpus.tenant: corpus for corpus in run.corpora} for run in (one, other))
    told += [f"documents of {name}" for name in sorted(known.keys() & new.keys()) if known[name] != new[name]]
    settings = sorted(one.settings.keys() | other.settings.keys())
    told += [f"setting {name}" for name in settings if one.settings.get(name) != other.settings.get(name)]
    sets, sets_now = ({told.name: told.fingerprint for told in run.datasets} for run in (before, after))
    told += [f"dataset {name}" for name in sorted(sets.keys() & sets_now.keys()) if sets[name] != sets_now[name]]
    return told


def changes_of(before: Sequence[Asked], after: Sequence[Asked], *, seed: int) -> list[Change]:
    """Every rate both runs tell something of; the n-th questions are the same."""
    changes = []
    for metric in METRICS:
        was, now = pairs_of(before, metric.name), pairs_of(after, metric.name)
        old, new, ends = rate(was), rate(now), difference_interval(was, now, seed=seed)
        if old is None or new is None or ends is None:
            continue
        rises, falls = ends.low > 0, ends.high < 0
        better, worse = (rises, falls) if metric.better == "higher" else (falls, rises)
        changes.append(
            Change(
                metric=metric.name, before=round(old, 6), after=round(new, 6), low=round(ends.low, 6),
                high=round(ends.high, 6), questions=sum(1 for pair in now if pair.whole),
                verdict="better" if better else "worse" if worse else "even",
            )
        )  # fmt: skip
    return changes


def _moved(before: Asked, after: Asked) -> Moved:
    return Moved(
        key=after.key, question=after.question.question, before=tuple(fault.detail for fault in before.faults),
        after=tuple(fault.detail for fault in after.faults),
    )  # fmt: skip
