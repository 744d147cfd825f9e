"""Features of whole queries: what of the question they explain, how likely their parts are, what they give."""

from collections.abc import Sequence

import numpy as np

from app.tables.sheet import Column
from training.tables.candidates import Candidate, Conditions, Shape, with_sides
from training.tables.lexicon import ATTRIBUTES, OPERATIONS, ROLES
from training.tables.signals import Signals

MEASURE, GROUP, FILTER, SHOWN = range(len(ROLES))


def operation_of(shape: Shape) -> int:
    """The operation of a shape as the question words it."""
    if shape.how in ("share", "difference", "distinct"):
        return OPERATIONS.index(shape.how)
    if shape.how == "rows":
        return OPERATIONS.index(f"rows {shape.order}".strip())
    if shape.group is None:
        return OPERATIONS.index(shape.how)
    return OPERATIONS.index(f"by {shape.order}" if shape.order else f"{shape.how} by")


def attribute_scores(signals: Signals, shape: Shape) -> list[float]:
    """Log probabilities of what a shape does, one by one, and together."""
    grouped = "yes" if shape.group is not None and shape.how != "distinct" else "no"
    told = {"how": shape.how, "order": shape.order, "grouped": grouped}
    found = [float(signals.attributes[name][ATTRIBUTES[name].index(value)]) for name, value in told.items()]
    return [*found, sum(found)]


def shape_score(signals: Signals, shape: Shape) -> float:
    """A rough log probability of what is computed."""
    score = 0.5 * float(signals.operations[operation_of(shape)]) + 0.5 * attribute_scores(signals, shape)[-1]
    if shape.measure is not None:
        score += min(float(signals.roles[shape.measure.at][MEASURE]), 0.0)
    if shape.group is not None:
        score += min(float(signals.roles[shape.group.at][GROUP]), 0.0)
    return score - (0.7 if shape.limit else 0.0)


def quick_score(signals: Signals, one: Candidate) -> float:
    """A rough log probability, by which candidates are chosen to be looked at."""
    return shape_score(signals, one.shape) + one.conditions.score


class ConditionFigures:
    """Figures of the conditions of candidates, computed once for each set."""

    def __init__(self, signals: Signals):
        self.signals = signals
        self.known: dict[int, list[float]] = {}
        strongest: dict[int, float] = {}
        for one, odds in signals.odds.items():
            for at in one.places:
                strongest[at] = max(strongest.get(at, -9.0), odds)
        self.strongest = strongest

    def of(self, one: Conditions) -> list[float]:
        """The figures of a set."""
        if id(one) not in self.known:
            self.known[id(one)] = self._of(one)
        return self.known[id(one)]

    def _of(self, one: Conditions) -> list[float]:
        signals = self.signals
        odds = [signals.odds[anchor] for anchor in one.anchors]
        left = [value for at, value in self.strongest.items() if at not in one.places and value > -2]
        kinds = [anchor.kind for anchor in one.anchors]
        columns = {anchor.condition.column.at for anchor in one.anchors}
        roles = [float(signals.roles[at][FILTER]) for at in columns]
        return [
            one.score, min(odds, default=5.0), float(np.mean(odds)) if odds else 0.0, len(odds),
            max(left, default=-5.0), float(sum(np.log1p(np.exp(value)) for value in left)),
            *(kinds.count(kind) for kind in ("value", "not", "number", "time", "weak", "empty", "columns", "filled")),
            float(one.mask.sum()), float(one.mask.mean()),
            float(any(a.condition.column.is_unique for a in one.anchors)),
            len(columns), min(roles, default=0.0), max((len(a.condition.values) for a in one.anchors), default=0),
            min((a.quality * a.spelling for a in one.anchors), default=1.0),
        ]  # fmt: skip


def candidate_features(
    signals: Signals, figures: ConditionFigures, one: Candidate, best_measure: float, best_group: float
) -> list[float]:
    """The figures of a whole query."""
    shape, conditions = one.shape, one.conditions
    operation = operation_of(shape)
    covered = set(conditions.places)
    filtered = {anchor.condition.column.at for anchor in conditions.anchors}
    parts: list[float] = []
    for column, role, best in ((shape.measure, MEASURE, best_measure), (shape.group, GROUP, best_group)):
        if column is None:
            parts += [np.nan] * 6
            continue
        roles, how = signals.roles[column.at], signals.names[column.at]
        covered |= how.places
        parts += [
            float(roles[role]), float(roles[role]) - best, how.covered, how.heavy, float(column.at in filtered),
            float(len(set(column.values))) / max(len(column.values), 1),
        ]  # fmt: skip
    for at in filtered:
        covered |= signals.names[at].places
    rare = signals.rare
    left = [rare[at] for at in range(len(rare)) if at not in covered]
    operations = signals.operations
    how = shape.how
    numbers = [value for at, value in signals.anchors.numbers if not at <= conditions.places]
    return [
        float(operation), float(operations[operation]), float(operations[operation] - operations.max()),
        float(np.exp(operations[operation])), *parts, *figures.of(conditions),
        sum(left), max(left, default=0.0), sum(value > 0.99 for value in left), sum(value > 0.8 for value in left),
        len(covered) / max(len(rare), 1), float(shape.limit), len(numbers),
        float(bool(shape.limit) and shape.limit in {int(value) for value in numbers}),
        float(("", "month", "quarter", "year").index(shape.grain)),
        float(("", "count", "sum", "average").index(shape.of)), len(one.sides),
        float(one.sides[0].kind == "value") if one.sides else np.nan,
        float(one.base.mean()) if one.base.size else np.nan,
        _unlike(shape.measure), float(how == "rows" and not shape.order and bool(conditions.mask.sum() == 1)),
        len(rare), float(quick_score(signals, one)), *signals.states[:5], *_shown(signals, filtered),
        *(float(operations[at]) for at in range(len(OPERATIONS))), best_measure, best_group, *_asked(signals),
        signals.limits.get(shape.limit, np.nan) if shape.limit else max(signals.limits.values(), default=np.nan),
        *attribute_scores(signals, shape),
        _is_entity(signals, shape.group),
    ]  # fmt: skip


def _shown(signals: Signals, filtered: set[int]) -> list[float]:
    """How surely some column is asked for that no condition is about."""
    free = [at for at in signals.roles if at not in filtered]
    near = signals.near.columns
    return [
        max((float(signals.roles[at][SHOWN]) for at in free), default=-5.0),
        max((signals.names[at].covered for at in free), default=0.0),
        max((signals.names[at].heavy for at in free), default=0.0),
        float(max((near[at] for at in free), default=0.0)), float(near.max() - near.mean()),
    ]  # fmt: skip


def _asked(signals: Signals) -> list[float]:
    """How often the columns that are most surely grouped by and shown repeat themselves, and how surely they are."""
    columns = [column for column in signals.anchors.sheet.columns if column.kind != "number"]
    found: list[float] = []
    for role in (GROUP, SHOWN):
        one = max(columns, key=lambda column: float(signals.roles[column.at][role]), default=None)
        found += [
            len(set(one.values)) / max(len(one.values), 1) if one is not None else np.nan,
            float(signals.roles[one.at][role]) if one is not None else np.nan,
        ]  # fmt: skip
    return found


def _is_entity(signals: Signals, group: Column | None) -> float:
    """How surely a column that is grouped by is the one to be shown."""
    return np.nan if group is None else float(signals.roles[group.at][SHOWN])


def _unlike(measure: Column | None) -> float:
    """What kind of numbers are computed with: 0 shares, 1 whole numbers, 2 others, 3 days."""
    if measure is None:
        return np.nan
    if measure.kind != "number":
        return 3.0
    if "%" in measure.units:
        return 0.0
    return 1.0 if all(float(v) == int(v) for v in measure.values if v is not None) else 2.0  # type: ignore[arg-type]


def best_role(signals: Signals, role: int) -> float:
    """The highest log odds of a role over the columns."""
    return max((float(roles[role]) for roles in signals.roles.values()), default=0.0)


def chosen_candidates(
    signals: Signals, conditions: Sequence[Conditions], shapes: Sequence[Shape], most: int
) -> list[Candidate]:
    """The likeliest candidates by their rough scores; of those that give the same, the likeliest."""
    own = np.array([shape_score(signals, shape) for shape in shapes])
    scores = np.array([one.score for one in conditions])[:, None] + own[None, :]
    order = np.argsort(-scores, axis=None, kind="stable")[: most * 3]
    pairs = [
        (float(scores.flat[at]), Candidate(shapes[at % len(shapes)], conditions[at // len(shapes)])) for at in order
    ]
    pairs = [pair for pair in pairs if pair[1].conditions.anchors or pair[1].shape[:2] != ("rows", "")]
    pairs += [(quick_score(signals, one), one) for one in with_sides(signals.anchors, conditions)]
    found: dict[tuple[object, ...], Candidate] = {}
    for _, one in sorted(pairs, key=lambda pair: -pair[0]):
        if len(found) >= most:
            break
        found.setdefault(one.key, one)
    return list(found.values())
