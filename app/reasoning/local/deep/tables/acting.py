"""The expert's moves on attached files."""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from pydantic import JsonValue

from app.domain.deep import Observation, Working
from app.domain.knowledge import Finding
from app.domain.plan import FILES_TOOL
from app.reasoning.deep import Action, ActRequest, Solved, ToolWish
from app.reasoning.local.deep.answering import answered, unsolved
from app.reasoning.local.deep.carrying_out import by_derivation
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.per import unit_of_word
from app.reasoning.local.deep.phrases import NO_RULE
from app.reasoning.local.deep.planning import telling_terms
from app.reasoning.local.deep.puzzles.solution import PYTHON_TOOL
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.rates import charges
from app.reasoning.local.deep.researching import findings_of
from app.reasoning.local.deep.sayings import words_of
from app.reasoning.local.deep.solving import solved
from app.reasoning.local.deep.tables.asking import spec_of
from app.reasoning.local.deep.tables.program import PROGRAM
from app.reasoning.local.deep.tables.rows import Table, Told, day_of, table_from, told_tables
from app.reasoning.local.deep.tables.spec import Spec

_DESCRIBE = {"vi": "Trong tệp có gì?", "en": "What is in the file?"}
_PROGRAM_CALL = {"vi": "Tính trên bảng {name}", "en": "Compute over the table {name}"}
_MANY = 99


def table_action(request: ActRequest, inquiry: Inquiry) -> Action:
    """Look at the file, read it, compute, answer."""
    own = request.observations
    described = next((one for one in own if one.query == _DESCRIBE[inquiry.language]), None)
    if described is None:
        return _read_file(request, _DESCRIBE[inquiry.language])
    told = told_tables(described.text)
    if told and not described.failed:
        return _with_table(request, inquiry, told)
    return _with_text(request, inquiry)


def _read_file(request: ActRequest, query: str) -> Action:
    if request.calls_left <= 0:
        return Solved(working=unsolved(NO_RULE[request.asked.language], (), request.observations))
    return ToolWish(tool=FILES_TOOL, query=query, why=request.task.partition("\n")[0])


def _with_table(request: ActRequest, inquiry: Inquiry, told: Sequence[Told]) -> Action:
    """The rows first; then the program over them; where rows are lacking the tool's own answer."""
    chosen = next((one for one in told if one.name and one.name.lower() in inquiry.text.lower()), told[0])
    for query in _row_queries(chosen):
        made = _made(request, query)
        if made is None and request.calls_left > 0:
            return ToolWish(tool=FILES_TOOL, query=query, why=chosen.name)
        table = table_from([made], chosen) if made and not made.failed else None
        if table is not None:
            return _computed(request, inquiry, table, chosen)
    return _asked_directly(request, inquiry)


def _row_queries(told: Told) -> tuple[str, ...]:
    """Questions whose answer quotes the rows: the names of the columns."""
    return (", ".join(told.columns), told.columns[0] if told.columns else told.name)


def _made(request: ActRequest, query: str) -> Observation | None:
    return next((one for one in request.observations if one.query == query), None)


def _computed(request: ActRequest, inquiry: Inquiry, table: Table, told: Told) -> Action:
    spec = spec_of(inquiry, table)
    research = [finding for one in request.research for finding in one.findings if finding.found]
    rules: tuple[Derivation, ...] = ()
    if spec is not None and research:
        charged = _charged(inquiry, table, spec, research)
        if charged is not None:
            spec, rules = charged
    if spec is None or not any(tool.name == PYTHON_TOOL for tool in request.tools):
        return _asked_directly(request, inquiry)
    query = _PROGRAM_CALL[inquiry.language].format(name=f"“{told.name}”" if told.name else ", ".join(told.columns))
    made = _made(request, query)
    if made is None:
        if request.calls_left <= 0:
            return Solved(working=unsolved(NO_RULE[inquiry.language], (), request.observations))
        return ToolWish(tool=PYTHON_TOOL, query=query, arguments={"code": PROGRAM, "inputs": _inputs(table, spec)})
    if made.failed or not _result(made):
        return _asked_directly(request, inquiry)
    way = _way(inquiry, spec, _result(made), rules)
    findings = (*research, *findings_of(request.observations))
    return Solved(working=_with_findings(answered(inquiry, way, findings, request.observations, made=made), findings))


def _with_findings(working: Working, findings: Sequence[Finding]) -> Working:
    """What was computed from a file rests on the file too."""
    files = [one for one in findings if any(e.source_type == "file" for e in one.evidence)]
    return working.model_copy(update={"findings": tuple(dict.fromkeys((*working.findings, *files)))[:4]})


def _inputs(table: Table, spec: Spec) -> str:
    numbers: list[JsonValue] = [
        [_shown(table, row, at) if column.kind == "number" else None for at, column in enumerate(table.columns)]
        for row in table.rows
    ]
    days: list[JsonValue] = [
        [
            (day.isoformat() if (day := day_of(row[at])) else "") if column.kind == "day" else None
            for at, column in enumerate(table.columns)
        ]
        for row in table.rows
    ]
    given: dict[str, JsonValue] = {
        "rows": [list(row) for row in table.rows],
        "numbers": numbers,
        "days": days,
        "kinds": [one.kind for one in table.columns],
        "spec": spec.as_json(),
    }
    return json.dumps(given, ensure_ascii=False)


def _shown(table: Table, row: tuple[str, ...], at: int) -> str | None:
    value = table.number(row, table.columns[at])
    return None if value is None else format(value, "f")


def _result(made: Observation) -> str:
    if made.value:
        return made.value
    _, _, rest = made.text.partition("'result': ")
    return rest.strip().strip("}").strip("'\"")


def _way(inquiry: Inquiry, spec: Spec, result: str, rules: tuple[Derivation, ...]) -> Derivation:
    unit = rules[0].unit if rules else _unit(spec.unit, inquiry)
    stated = tuple(rule for one in rules for rule in one.rules)
    if spec.answer in ("label", "list"):
        return Derivation(route="own", score=1.0, label=result, rules=stated)
    try:
        value = Fraction(result)
    except ValueError:
        return Derivation(route="own", score=1.0, label=result, rules=stated)
    return Derivation(route="own", score=1.0, value=value, unit=unit, rules=stated)


def _unit(said: str, inquiry: Inquiry) -> str:
    known = {"đồng": "VND", "vnd": "VND", "vnđ": "VND", "£": "GBP", "gbp": "GBP", "$": "USD", "usd": "USD", "%": "%"}
    return known.get(said.lower(), "VND" if inquiry.wanted == "money" and inquiry.language == "vi" else "")


def _charged(
    inquiry: Inquiry, table: Table, spec: Spec, research: Sequence[Finding]
) -> tuple[Spec, tuple[Derivation, ...]] | None:
    """The rate of a rule applied to a column, row by row: so much for each late arrival from the third on."""
    for column in table.numeric:
        words = column.plain.split()
        kind = next(
            (
                unit
                for word in column.name.lower().split()
                if (unit := unit_of_word(word)) in ("time", "day", "night", "hour", "km", "month")
            ),
            "",
        )
        fake = Quantity(_many(), kind, kind, "", 0, 0, " ".join(words), column.name)
        case = Case.of(replace(inquiry, quantities=(fake,), operation="total"), research)
        best = next(iter(charges(case)), None)
        if best is None:
            continue
        rate = best.rate.stated
        charge: dict[str, JsonValue] = {
            "rate": format(rate.value, "f"),
            "first": rate.first,
            "free": format(rate.free, "f") if rate.free else "",
        }
        if best.cap:
            charge["cap"] = format(best.cap.value, "f")
        way = Derivation(route="rate", score=best.score, unit=rate.unit, rules=(rate,))
        return replace(
            spec, charge=charge, measure=[column.at], aggregate="sum" if spec.aggregate == "count" else spec.aggregate
        ), (way,)
    return None


def _many() -> Decimal:
    return Decimal(_MANY)


def _asked_directly(request: ActRequest, inquiry: Inquiry) -> Action:
    """The file tool's own reading of the question."""
    made = _made(request, inquiry.text)
    if made is None:
        return _read_file(request, inquiry.text)
    if made.failed or not made.text:
        return Solved(working=unsolved(made.text or NO_RULE[inquiry.language], (), request.observations))
    if made.value:
        try:
            way = Derivation(route="own", score=0.9, value=Fraction(made.value), unit=_unit("", inquiry))
        except ValueError:
            way = Derivation(route="own", score=0.9, label=made.value)
        return Solved(
            working=answered(inquiry, way, findings_of(request.observations), request.observations, made=made)
        )
    return _from_text(request, inquiry)


def _with_text(request: ActRequest, inquiry: Inquiry) -> Action:
    """A file of text: asked as it stands, then by its terms; its passages are solved like any others."""
    for query in _text_queries(inquiry):
        if _made(request, query) is None and request.calls_left > 1 and not _quoted(request):
            return ToolWish(tool=FILES_TOOL, query=query, why=request.task.partition("\n")[0])
    return _from_text(request, inquiry)


_FILE_WORDS = words_of(
    "tệp file đính kèm theo attached attachment document thông báo văn bản đọc read day ngày which according trong the"
)
_ANYTHING = {
    "vi": {"money": "số tiền giá", "date": "ngày", "": "nội dung"},
    "en": {"money": "amount price total", "date": "date", "": "who what"},
}


def _text_queries(inquiry: Inquiry) -> list[str]:
    """The question, its terms without words for the file, the heaviest of them, then whatever the file says of the
    kind that is asked for: one hit quotes the whole of a short file."""
    terms = [term for term in telling_terms(inquiry.terms) if term.text not in _FILE_WORDS]
    heavy = sorted(terms, key=lambda term: -term.weight)[:2]
    said = _ANYTHING[inquiry.language]
    found = [inquiry.text, *(term.text for term in heavy), " ".join(term.text for term in terms)]
    return [query for query in dict.fromkeys([*found[:4], said.get(inquiry.wanted, said[""])]) if query]


def _quoted(request: ActRequest) -> bool:
    return any(finding.quotes for one in request.observations for finding in one.findings)


def _from_text(request: ActRequest, inquiry: Inquiry) -> Action:
    research = [finding for one in request.research for finding in one.findings if finding.found]
    findings = (*research, *(one for one in findings_of(request.observations) if one.quotes))
    way = solved(inquiry, findings)
    if way is None:
        return Solved(working=unsolved(NO_RULE[inquiry.language], findings, request.observations))
    return by_derivation(request, inquiry, way, findings)
