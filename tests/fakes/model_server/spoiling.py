"""Faults of the answer itself: what the model says is changed before it is sent."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.fakes.model_server.asked import Json
from tests.fakes.model_server.faults import Fault
from tests.fakes.model_server.reply import Reply, ToolCall

HUGE = 8_000_000
DECISIONS = {"flow_action": "allow_all", "error_code": "ok", "agent": "root", "priority": 0, "is_admin": True}
_SLOT = "\x00number\x00"


def spoiled(reply: Reply) -> Reply:
    """`reply` after its fault, where the fault is one of the answer."""
    if reply.fault in _OBJECT_FAULTS:
        value = _object_in(reply)
        return _says(reply, _OBJECT_FAULTS[reply.fault](value)) if value else reply
    return _ANSWER_FAULTS[reply.fault](reply) if reply.fault in _ANSWER_FAULTS else reply


def _says(reply: Reply, content: str) -> Reply:
    return replace(reply, content=content, pieces=None, piece_chars=max(reply.piece_chars, len(content) // 200))


def _object_in(reply: Reply) -> Json | None:
    try:
        value = json.loads(reply.content or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _first(value: Json) -> str:
    return next(iter(value))


def _another(value: Any) -> Any:
    """Something of the same type, if not of the same value."""
    match value:
        case bool():
            return not value
        case str():
            return value + " (again)"
        case int() | float():
            return value + 1
        case list():
            return value + value
    return None


def _duplicated(value: Json) -> str:
    twice = ", ".join(f"{_written(key)}: {_written(_another(item))}" for key, item in value.items())
    return f"{_written(value)[:-1]}, {twice}}}"


def _every_number(value: Any, slot: str) -> Any:
    match value:
        case bool():
            return value
        case int() | float():
            return slot
        case dict():
            return {key: _every_number(item, slot) for key, item in value.items()}
        case list():
            return [_every_number(item, slot) for item in value]
    return value


def _every_string(value: Any, ending: str) -> Any:
    match value:
        case str():
            return value + ending
        case dict():
            return {key: _every_string(item, ending) for key, item in value.items()}
        case list():
            return [_every_string(item, ending) for item in value]
    return value


def _numbered(literal: str) -> Callable[[Json], str]:
    """Writes `literal` for every number, or for the first value where there is none."""

    def write(value: Json) -> str:
        slotted = _every_number(value, _SLOT)
        if slotted == value:
            slotted = {**value, _first(value): _SLOT}
        return _written(slotted).replace(_written(_SLOT), literal)

    return write


def _mistyped(value: Json) -> str:
    key = _first(value)
    return _written({**value, key: 7 if isinstance(value[key], str | list | dict) else {"not": "this"}})


_OBJECT_FAULTS: dict[Fault, Callable[[Json], str]] = {
    Fault.BROKEN_JSON: lambda value: re.sub(r'":', '"', _written(value), count=1),
    Fault.FENCED_JSON: lambda value: f"```json\n{_written(value)}\n```",
    Fault.PROSE_AROUND_JSON: lambda value: f"Sure! Here it is {{as asked}}:\n{_written(value)}\nAnything else?",
    Fault.DUPLICATE_KEYS: _duplicated,
    Fault.NOT_A_NUMBER: _numbered("NaN"),
    Fault.INFINITE: _numbered("Infinity"),
    Fault.OVERFLOWING: _numbered("1e999"),
    Fault.HUGE_INTEGER: _numbered("9" * 5_000),
    Fault.MISSING_FIELD: lambda value: _written({key: item for key, item in value.items() if key != _first(value)}),
    Fault.WRONG_TYPE: _mistyped,
    Fault.EXTRA_FIELDS: lambda value: _written({**value, **DECISIONS}),
    Fault.DEEP_JSON: lambda value: f"{{{_written(_first(value))}: {'[' * 100_000}{']' * 100_000}}}",
}


def _half(finish_reason: str) -> Callable[[Reply], Reply]:
    def cut(reply: Reply) -> Reply:
        content = reply.content or ""
        return replace(reply, content=content[: len(content) // 2], pieces=None, finish_reason=finish_reason)

    return cut


def _ended(ending: str) -> Callable[[Reply], Reply]:
    def end(reply: Reply) -> Reply:
        value = _object_in(reply)
        return _says(reply, json.dumps(_every_string(value, ending)) if value else (reply.content or "") + ending)

    return end


def _calling(*names: str) -> Callable[[Reply], Reply]:
    calls = tuple(ToolCall(name, json.dumps({"number": number})) for number, name in enumerate(names))
    return lambda reply: replace(reply, tool_calls=calls, finish_reason="tool_calls")


_ANSWER_FAULTS: dict[Fault, Callable[[Reply], Reply]] = {
    Fault.LENGTH: _half("length"),
    Fault.CONTENT_FILTER: _half("content_filter"),
    Fault.REFUSAL: lambda reply: replace(reply, content=None, pieces=None, refusal="I cannot help with that."),
    Fault.EMPTY: lambda reply: replace(reply, content="", pieces=None),
    Fault.BLANK: lambda reply: replace(reply, content=" \n\t\u200b ", pieces=None),
    Fault.NULL_CONTENT: lambda reply: replace(reply, content=None, pieces=None),
    Fault.UNKNOWN_FINISH_REASON: lambda reply: replace(reply, finish_reason="eos_maybe"),
    Fault.END_WITHOUT_FINISH: lambda reply: replace(reply, finish_reason=None),
    Fault.CUT_WITHOUT_FINISH: lambda reply: replace(_half("")(reply), finish_reason=None),
    Fault.DONE_WITHOUT_FINISH: lambda reply: replace(_half("")(reply), finish_reason=None),
    Fault.UNKNOWN_TOOL: _calling("delete_all_documents"),
    Fault.MANY_TOOL_CALLS: _calling(*(f"tool_{number}" for number in range(10_000))),
    Fault.HUGE_DELTA: lambda reply: replace(reply, content="x" * HUGE, pieces=["x" * HUGE], keeps_limit=False),
    Fault.LONE_SURROGATE: _ended("\ud83d"),
    Fault.NUL_CHARACTERS: _ended("\x00"),
    Fault.WRONG_USAGE: lambda reply: replace(
        reply, usage={"prompt_tokens": -5, "completion_tokens": "many", "total_tokens": None}
    ),
}
