"""Which tool calls of a model are taken.

Untrusted text may fill values. It names no tool that was not on offer before, no address that stands nowhere, and what
company documents say does not leave the house inside a query.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

from app.domain.deep import Observation
from app.domain.knowledge import Finding
from app.domain.plan import OUTWARD_TOOLS
from app.links import LinkGuard
from app.reasoning.deep import ActRequest, ToolOffer, ToolWish
from app.reasoning.llm.deep.telling import listed, properties_of
from app.reasoning.llm.grounds import Grounds, day, texts_of
from app.reasoning.llm.shapes import ToolShape
from app.text.language import clean, content_words, fold, normalise, words

_QUERY_CHARS, _VALUE_CHARS, _WHY_CHARS = 1_000, 4_000, 300
_ADDRESS = re.compile(r"(?:\b[a-z][a-z0-9+.-]{0,20}:[/\\\\]{2}|\bwww\.)[^\s\"'<>`]+", re.IGNORECASE)
_BEHIND_ADDRESS = ".,;:!?*_~)]}|”’"
_PROGRAM = re.compile(r"\n|\b(?:print|import|def|for|while|return|lambda)\b\s*[(\w]|\w\s*=[^=]|[a-z_]{2,}\(")
_SMALL = 100
_COMMON = frozenset(map(Decimal, (360, 365, 366, 1000, 1024, 1440, 3600, 86400, 10**6, 10**9)))
"""Numbers that are stated by nobody and known to everybody."""
_TRUTHS = frozenset({"true", "false", "yes", "no", "1", "0", "có", "không", "đúng", "sai"})
_MOST_TOLD = 3


def wrong_call(reply: ToolShape, request: ActRequest) -> list[str]:
    """What is wrong with a tool call, each as a sentence for the model; empty = it may be made."""
    offer = next((one for one in request.tools if one.name == reply.tool), None)
    if request.calls_left <= 0:
        return ["action: no calls are left, be done"]
    if offer is None:
        return [f"tool {reply.tool!r} is not on the list"]
    wish = wished(reply, request)
    errors = list(_wrong_arguments(reply, wish, offer))
    if not wish.query and not wish.arguments:
        errors.append("query: is empty")
    if len(reply.query) > _QUERY_CHARS:
        errors.append(f"query: is longer than {_QUERY_CHARS} characters")
    if not wish.arguments and _was_made(wish, request.observations):
        errors.append("this call was made already: use what it gave, or ask something else")
    said = [wish.query, *wish.arguments.values()]
    errors += _wrong_addresses(said, request, is_outward=reply.tool in OUTWARD_TOOLS)
    if request.role == "expert" and reply.tool not in OUTWARD_TOOLS:
        errors += _wrong_figures(said, request)
    if reply.tool in OUTWARD_TOOLS:
        errors += _carried_out(said, request)
    return errors


def wished(reply: ToolShape, request: ActRequest) -> ToolWish:
    """The call as it will be made."""
    offer = next((one for one in request.tools if one.name == reply.tool), None)
    arguments = {} if offer is None or offer.arguments is None else _values(reply)
    query = clean(reply.query).strip()
    if not query and arguments:
        query = clean(request.task).strip()[:_QUERY_CHARS]
    why = LinkGuard((), language=request.asked.language).clean(clean(reply.why)).strip()[:_WHY_CHARS]
    return ToolWish(tool=reply.tool, query=query, arguments=arguments, why=why)


def _values(reply: ToolShape) -> dict[str, str]:
    values = ((clean(one.name).strip(), clean(one.value).strip()) for one in reply.arguments)
    return {name: value for name, value in values if value}


def _wrong_arguments(reply: ToolShape, wish: ToolWish, offer: ToolOffer) -> Iterator[str]:
    """Names, required ones, types and limits; the tool itself knows the rest of its schema."""
    if offer.arguments is None or not wish.arguments:
        return
    named = [clean(one.name).strip() for one in reply.arguments]
    yield from (f"argument {name!r} stands twice" for name in {name for name in named if named.count(name) > 1})
    properties = properties_of(offer.arguments)
    for name, value in wish.arguments.items():
        if name not in properties:
            yield f"{offer.name} has no argument {name!r}"
        elif fault := _fault(value, properties[name]):
            yield f"argument {name!r}: {fault}"
    yield from (
        f"argument {name!r} is missing"
        for name in listed(offer.arguments.get("required"))
        if name not in wish.arguments
    )


def _fault(value: str, of: Any) -> str:
    """What keeps a text from being the value a property takes."""
    if len(value) > _VALUE_CHARS:
        return f"is longer than {_VALUE_CHARS} characters"
    if not isinstance(of, Mapping):
        return ""
    choices = of.get("enum")
    if isinstance(choices, list | tuple) and value not in map(str, choices):
        return "is none of the choices"
    most = of.get("maxLength")
    if isinstance(most, int) and len(value) > most:
        return f"is longer than {most} characters"
    kinds = _kinds(of)
    return "" if not kinds or any(_is(value, kind) for kind in kinds) else f"is no {' or '.join(sorted(kinds))}"


def _kinds(of: Mapping[str, Any]) -> set[str]:
    own = of.get("type")
    kinds = {own} if isinstance(own, str) else {kind for kind in own or () if isinstance(kind, str)}
    for key in ("anyOf", "oneOf"):
        for choice in listed(of.get(key)):
            named = choice.get("type") if isinstance(choice, Mapping) else None
            kinds |= {named} if isinstance(named, str) else set()
    return kinds


def _is(value: str, kind: str) -> bool:
    match kind:
        case "integer":
            return re.fullmatch(r"[+-]?\d{1,30}", value, re.ASCII) is not None
        case "number":
            return re.fullmatch(r"[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", value, re.ASCII) is not None and (
                isfinite(float(value))
            )
        case "boolean":
            return value.lower() in _TRUTHS
        case "array" | "object":
            return _is_json(value, list if kind == "array" else dict)
        case _:
            return True


def _is_json(value: str, kind: type[list[Any]] | type[dict[str, Any]]) -> bool:
    try:
        return isinstance(json.loads(value), kind)
    except (ValueError, RecursionError):
        return False


def _was_made(wish: ToolWish, observations: Sequence[Observation]) -> bool:
    asked = normalise(wish.query).casefold()
    made = (one for one in observations if one.tool == wish.tool and not one.failed)
    return any(normalise(one.query).casefold() == asked for one in made)


def _wrong_addresses(said: Sequence[str], request: ActRequest, *, is_outward: bool) -> Iterator[str]:
    """Addresses that stand nowhere: one that is put together may carry anything to anybody."""
    named = _addresses("\n".join(said))
    if named:
        known = _addresses("\n".join([request.asked.question, *texts_of(request.observations, request.research)]))
        yield from (f"address {address[:80]!r} stands nowhere" for address in sorted(named - known)[:_MOST_TOLD])
    if is_outward and not named:
        guard = grounds_of(request).guard
        guard.clean("\n".join(said))
        if guard.removed:
            yield "query: holds an address that stands nowhere"


def _addresses(text: str) -> frozenset[str]:
    return frozenset(address.rstrip(_BEHIND_ADDRESS) for address in _ADDRESS.findall(text))


def _wrong_figures(said: Sequence[str], request: ActRequest) -> Iterator[str]:
    """Operands nobody stated. Small numbers and those of the calendar everybody knows; programs have their own."""
    texts = [text for text in said if not _PROGRAM.search(text)]
    unknown = [number for number in grounds_of(request).unknown("\n".join(texts)) if not _is_common(number)]
    for number in list(dict.fromkeys(unknown))[:_MOST_TOLD]:
        yield f"the number {number} is stated nowhere: find it out, or leave it out"


def _is_common(number: str) -> bool:
    value = Decimal(number) if re.fullmatch(r"\d{1,12}", number, re.ASCII) else None
    return value is not None and (value <= _SMALL or value in _COMMON)


def grounds_of(request: ActRequest) -> Grounds:
    """All that a researcher or expert may rest on."""
    asked, task = request.asked, (request.task,) if request.role == "researcher" else ()
    texts = (request.plan.question, *asked.files, day(request.today), *task)
    return Grounds.of(asked, texts, request.plan.question, request.observations, request.research)


def _carried_out(said: Sequence[str], request: ActRequest) -> Iterator[str]:
    """Words that only company documents, files and logs hold: they stay in the house."""
    asked, plan = request.asked, request.plan
    inside, outside = _told(request.observations)
    outside += [asked.question, plan.question, *plan.research]
    for step in request.research:
        is_inner = any(one.tool not in OUTWARD_TOOLS for one in step.observations) or _is_inner(step.findings)
        further_inside, further_outside = _told(step.observations)
        inside += [*further_inside, *texts_of(findings=step.findings)] if is_inner else []
        outside += further_outside
        (inside if is_inner else outside).append(step.text)
    held = _folded(inside) - _folded(outside)
    carried = [word for text in said for word in content_words(text) if fold(word) in held]
    if carried:
        told = ", ".join(list(dict.fromkeys(carried))[:_MOST_TOLD])
        yield f"query: {told} stand in documents of the company, leave them out"


def _told(calls: Sequence[Observation]) -> tuple[list[str], list[str]]:
    """What tools inside the house gave, and what came from outside."""
    inside = texts_of([one for one in calls if one.tool not in OUTWARD_TOOLS])
    return list(inside), list(texts_of([one for one in calls if one.tool in OUTWARD_TOOLS]))


def _is_inner(findings: Sequence[Finding]) -> bool:
    return any(quote.passage.authority != "web" for finding in findings for quote in finding.quotes)


def _folded(texts: Iterable[str]) -> set[str]:
    return {fold(word) for text in texts for word in words(text)}
