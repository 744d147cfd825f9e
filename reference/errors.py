"""The page of error codes: what each means, and with which statuses the code gives it out."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from app.api.problem import problem
from app.errors import ErrorCode
from reference import docstrings
from reference.markdown import code, prose, table, whole

_APP = Path(__file__).parents[1] / "app"
_LEAD = (
    "A refusal is `application/problem+json` (RFC 9457) with `type`, `title`, `status`, `code` and `detail`; `detail` "
    "is one sentence for a person that says what to do next, and never repeats what was sent. A run that was accepted "
    "and then fails carries the same codes as `error_code` in its `task_failed` event. The set is closed and the names "
    "are stable. 429 and 503 always say in `Retry-After` when to come back. An id that does not exist and one that "
    "belongs to somebody else get the same 404."
)


def page() -> str:
    """Every code with its statuses, title and meaning."""
    given = _statuses()
    meanings = docstrings.of_attributes(ErrorCode)
    rows = [[code(one), _told(given[one.name]), prose(meanings.get(one.name, _title(one)))] for one in ErrorCode]
    return whole("Error codes", _LEAD, [table(["code", "HTTP status", "meaning and what to do"], rows)])


def _told(statuses: set[int]) -> str:
    return ", ".join(map(str, sorted(statuses))) or "in a run only"


def _title(one: ErrorCode) -> str:
    body = bytes(problem(one, "", 400).body).decode()
    return str(ast.literal_eval(body)["title"]) + "."


def _statuses() -> dict[str, set[int]]:
    """Code → the statuses it is refused with somewhere in the house."""
    found: dict[str, set[int]] = defaultdict(set)
    for path in sorted(_APP.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for name, status in _given(node):
                found[name].add(status)
    return found


def _given(node: ast.AST) -> Iterator[tuple[str, int]]:
    """What a call that refuses, or a table from codes to statuses, says."""
    match node:
        case ast.Call(args=[first, *_]) if (name := _code(first)) and (status := _status(node)) is not None:
            yield name, status
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                match _code(key), value:
                    case str(name), ast.Constant(value=int(status)):
                        yield name, status


def _code(node: ast.expr | None) -> str | None:
    match node:
        case ast.Attribute(value=ast.Name(id="ErrorCode"), attr=name):
            return name
        case _:
            return None


def _status(call: ast.Call) -> int | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = [one.value for one in call.keywords if one.arg == "status"] + call.args[2:3]
    match name, given:
        case "AppError" | "problem", [ast.Constant(value=int(status)), *_]:
            return status
        case "AppError", []:
            return 400
        case _:
            return None
