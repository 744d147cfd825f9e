"""Docstrings that Python does not keep: the strings below attributes of a class."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise


@cache
def of_attributes(owner: type) -> dict[str, str]:
    """Attribute → the string below it, of the class and what it inherits from in this project."""
    found: dict[str, str] = {}
    for one in reversed(owner.__mro__):
        if one.__module__.startswith("app"):
            found |= dict(_below(one))
    return found


def groups(owner: type) -> list[list[str]]:
    """Attributes in the groups that blank lines of the source make."""
    found: list[list[str]] = []
    last = -1
    for statement in _body(owner):
        name = _name(statement)
        if name is not None and not name.startswith("model_config"):
            if statement.lineno > last + 1 or not found:
                found.append([])
            found[-1].append(name)
        last = statement.end_lineno or statement.lineno
    return found


def _below(owner: type) -> list[tuple[str, str]]:
    pairs = pairwise(_body(owner))
    return [(name, text) for one, after in pairs if (name := _name(one)) and (text := _text(after))]


def _body(owner: type) -> list[ast.stmt]:
    try:
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    except OSError:  # made by a function: only what it inherits is written anywhere
        return []
    assert isinstance(tree, ast.ClassDef)
    return [one for one in tree.body if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]


def _name(statement: ast.stmt) -> str | None:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return None


def _text(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return ""
