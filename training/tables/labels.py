"""What is right about a question: its operation, the roles of columns, and the conditions it states."""

import re
from typing import NamedTuple

from app.tables.sheet import Sheet
from training.tables import lexicon as lex
from training.tables.anchors import Anchor, Anchors
from training.tables.candidates import candidates_of, conditions_of, shapes_of
from training.tables.data import Question
from training.tables.lexicon import OPERATIONS
from training.tables.results import Judge


class Read(NamedTuple):
    """A question with its anchors, vectors and what is right."""

    question: Question
    sheet: Sheet
    anchors: Anchors
    near: lex.Likeness
    operation: int
    roles: list[set[str]]
    gold: set[Anchor] | None
    """The anchors of the right query; None where there is none."""
    loose: set[Anchor]
    """Anchors that say the same rows."""


def operation_in(question: Question) -> int:
    """The number of the operation that a statement does."""
    sql = (question.sql or "").upper()
    if question.kind == "share" or "100.0*" in sql:
        return OPERATIONS.index("share")
    if question.kind == "diff" or ")-(" in sql or "-SUM(" in sql:
        return OPERATIONS.index("difference")
    end = "least" if "LIMIT" in sql or "QUALIFY" in sql else ""
    if end and "DESC" in sql.split("ORDER BY")[-1]:
        end = "most"
    if "GROUP BY" in sql:
        if end:
            return OPERATIONS.index(f"by {end}")
        how = "count by" if "COUNT(" in sql else "average by" if "AVG(" in sql else "sum by"
        return OPERATIONS.index(how)
    if "COUNT(DISTINCT" in sql:
        return OPERATIONS.index("distinct")
    for mark, name in (
        ("COUNT(", "count"),
        ("SUM(", "sum"),
        ("AVG(", "average"),
        ("MAX(", "rows most"),
        ("MIN(", "rows least"),
    ):
        if mark in sql:
            return OPERATIONS.index(name)
    return OPERATIONS.index(f"rows {end}".strip())


def roles_in(question: Question, sheet: Sheet) -> list[set[str]]:
    """The roles of every column in a statement."""
    sql = question.sql or ""
    found: list[set[str]] = [set() for _ in sheet.columns]
    names = {column.name: column.at for column in sheet.columns}
    order = " ".join(re.findall(r"ORDER BY(.*?)(?:LIMIT|\)=1|$)", sql)) if "LIMIT" in sql or "QUALIFY" in sql else ""
    aggregated = " ".join(re.findall(r"(?:sum|avg|max|min)\((.*?)\)", sql))
    grouped = " ".join(re.findall(r"GROUP BY(.*?)(?:ORDER BY|HAVING|LIMIT|$)", sql)) + " ".join(
        re.findall(r"DISTINCT ([^)]*)", sql)
    )
    filters = " ".join(re.findall(r"(?:WHERE|FILTER)(.*?)(?:GROUP BY|ORDER BY|QUALIFY|FROM|$)", sql, re.S))
    shown = re.findall(r"SELECT (.*?) FROM", sql)
    for role, text in (
        ("measure", order + aggregated),
        ("group", grouped),
        ("filter", filters),
        ("shown", " ".join(shown)),
    ):
        for name in re.findall(r'"([^"]+)"', text):
            if name in names:
                found[names[name]].add(role)
    if "GROUP BY 1" in sql or "month(" in grouped:
        for name in re.findall(r'month(?:name)?\("([^"]+)"\)', sql):
            if name in names:
                found[names[name]].add("group")
    return found


def gold_anchors(question: Question, sheet: Sheet, anchors: Anchors) -> tuple[set[Anchor] | None, set[Anchor]]:
    """The anchors of the simplest right query."""
    if question.result is None:
        return set(), set()
    sql = question.sql or ""
    filters = " ".join(re.findall(r"(?:WHERE|FILTER)(.*?)(?:GROUP BY|ORDER BY|$|FROM)", sql, re.S))
    columns = set(re.findall(r'"([^"]+)"', filters))
    if not columns:
        return set(), set()
    pool = [
        (rough_odds(one), one) for one in anchors.all if one.condition.column.name in columns and _is_said(one, sql)
    ]
    found = conditions_of(pool, len(sheet.kept))
    judge, shapes = Judge(sheet), shapes_of(anchors)
    found.sort(key=lambda c: (len({a.condition.column.name for a in c.anchors} ^ columns), len(c.anchors), -c.score))
    best = next(
        (
            c
            for c in found
            if any(judge.is_right(one, question.result, sql) for one in candidates_of(anchors, [c], shapes))
        ),
        None,
    )
    if best is None:
        return None, set()
    gold = {_as_written(one, anchors, sql) for one in best.anchors}
    loose = {
        one for one in anchors.all for own in gold
        if one is not own and one.condition.column is own.condition.column and (one.mask == own.mask).all()
    }  # fmt: skip
    return gold, loose


def rough_odds(one: Anchor) -> float:
    """How likely an anchor is meant before anything is learnt."""
    if one.kind in ("value", "not"):
        return 4 * one.quality * one.spelling - 1 + 0.4 * len(one.places) - (0.5 if one.kind == "not" else 0)
    if one.kind == "number":
        return 1.0
    if one.kind == "time":
        return (2.0 if one.sign == "between" else 0.6) * one.quality
    return -0.5


def _as_written(one: Anchor, anchors: Anchors, sql: str) -> Anchor:
    """Of conditions on the same words that hold for the same rows the one with the sign of the statement."""
    name = one.condition.column.name
    same = [
        other
        for other in anchors.all
        if other.places == one.places and other.condition.column is one.condition.column and other.kind == one.kind
        if (other.mask == one.mask).all() and re.search(f'"{re.escape(name)}"\\)?{re.escape(other.sign)}[^=<>]', sql)
    ]
    return same[0] if one.kind in ("number", "time") and same and one not in same else one


def _is_said(one: Anchor, sql: str) -> bool:
    """Whether a condition that no words name may be one of a statement."""
    name = one.condition.column.name
    if one.kind == "columns":
        return f'"{name}"' in sql and one.condition.other is not None and f'"{one.condition.other.name}"' in sql
    if one.kind == "empty":
        return f'"{name}" IS NULL' in sql or f'"{name}"=0' in sql
    if one.kind == "filled":
        return f'"{name}" IS NOT NULL' in sql or f'"{name}">0' in sql or f'"{name}"<>0' in sql
    return True
