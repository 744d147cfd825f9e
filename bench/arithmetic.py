"""`python -m bench.arithmetic`: sums, measures and dates in words, answered rightly, wrongly or declined.

Every question of the development data goes the way it goes in the house: classified, the tool chosen on the built-in
agents, its arguments read, and computed by the logic of that tool. A question for which no tool is chosen, or whose
tool refuses, is declined: then documents are searched, and nothing is made up. What is computed is compared with the
gold number (within its tolerance) or the gold weekday.

Sums that are told as stories are declined on purpose: what has to be inferred needs a language model.

Ends with 1 when anything is answered wrongly, or fewer than 80 % of our own questions are answered.
``--wrong`` prints the questions that were answered wrongly, ``--declined`` those that were not answered.
"""

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from app.domain.knowledge import Language
from app.domain.plan import MATH_TOOL, UNIT_TOOL
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.errors import ToolFailed
from app.reasoning import AgentOffer, Arguments
from app.reasoning.local import LocalReasoner
from app.reasoning.local.intents import tool_for
from app.text.arithmetic import calculate
from app.text.language import fold, guess_language
from app.text.numbers import all_readings, read_number
from app.tools.typed import coerced
from bench.intent.report import Section, share, show
from bench.intent.routing import built_in
from extras.servers import date as date_server
from extras.servers import math as math_server
from extras.servers.serving import Operation
from extras.units.measures import convert, counterpart, read_measure
from extras.units.tool import Amount

ANSWERED_AIM = 0.80
"""Of our own questions at least this share has to be answered, and nothing may be answered wrongly."""
OPERATIONS: Mapping[str, Operation[Any, Any]] = {
    f"{server}.{operation.name}": operation
    for server, operations in (("math", math_server.OPERATIONS), ("date", date_server.OPERATIONS))
    for operation in operations
}
_FROM_GOLD = Fraction(1, 1000)
"""A gold answer without a tolerance was rounded at most so much."""


class Question(NamedTuple):
    """A question with what is right."""

    text: str
    kind: str
    language: Language
    gold: str
    tolerance: Fraction
    is_own: bool


class Outcome(NamedTuple):
    """What became of a question."""

    question: Question
    tool: str
    """Empty when none was chosen."""
    answer: str
    """Empty when it was declined."""
    right: bool

    @property
    def answered(self) -> bool:
        """Whether anything was computed."""
        return bool(self.answer)


def read_questions(folder: Path) -> list[Question]:
    """The development data, our own questions first."""
    return [*_rows(folder / "unit_date_own.jsonl", is_own=True), *_rows(folder / "questions.jsonl", is_own=False)]


def _rows(path: Path, *, is_own: bool) -> Iterator[Question]:
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        tolerance = Fraction(str(row["tolerance"])) if row.get("tolerance") else Fraction(0)
        kind = f"own {row['kind']}" if is_own else str(row["kind"]).replace("svamp:", "SVAMP ")
        yield Question(row["question"], kind, row["lang"], str(row["answer"]), tolerance, is_own)


def offered() -> tuple[AgentOffer, ...]:
    """The built-in agents and the two pools, whether or not their servers are switched on."""
    agents = built_in()
    known = {agent.name for agent in agents}
    return (*agents, *(_pool(name) for name in ("math", "date") if name not in known))


def _pool(name: str) -> AgentOffer:
    own = [tool for tool in OPERATIONS if tool.startswith(f"{name}.")]
    types = {tool.rpartition(".")[2].removeprefix("mcp_"): tool for tool in own}
    types |= {"convert": UNIT_TOOL} if name == "math" else {}
    described = dict.fromkeys(types.values(), "")
    return AgentOffer(name=name, description=name, tools=described, exemplars=(), departments=(), types=types)


async def answer(question: Question, reasoner: LocalReasoner, offers: Sequence[AgentOffer]) -> Outcome:
    """One question as the house would take it."""
    read = await reasoner.classify(question.text, (), offers)
    alone = read.kind != "chitchat" and len(read.sub_queries) == 1
    choice = tool_for(read.refined_query, offers) if alone else None
    if choice is None:
        return Outcome(question, "", "", right=False)
    try:
        found = await compute(choice.tool, read.refined_query, read.language, reasoner)
    except ToolFailed:
        found = ""
    return Outcome(question, choice.tool, found, right=bool(found) and is_right(found, question))


async def compute(tool: str, query: str, language: Language, reasoner: LocalReasoner) -> str:
    """The result of a tool as a number, a date or a weekday; empty when it needs what nobody stated."""
    schema = None if tool == MATH_TOOL else _schema(tool)
    found = await reasoner.arguments(tool, query, (), language, schema)
    if found.missing:
        return ""
    if tool == MATH_TOOL:
        return _calculated(found, query)
    if tool == UNIT_TOOL:
        return _converted(found, language)
    operation = OPERATIONS[tool]
    result = operation.run(operation.arguments.model_validate(coerced(found.values, _schema(tool))))
    return str(getattr(result, "weekday", result.result) if tool == "date.weekday" else result.result)


def _schema(tool: str) -> Mapping[str, Any]:
    if tool == UNIT_TOOL:
        return Amount.model_json_schema()
    return OPERATIONS[tool].tool.input_schema if tool in OPERATIONS else {}


def _calculated(found: Arguments, query: str) -> str:
    """The sum, when every operand stands in the question."""
    if not found.values.get("expression"):
        return ""
    calculation = calculate(found.values["expression"])
    known = all_readings(query) | {Decimal(number) for number in (1, 2, 7, 12, 24, 30, 52, 60, 100, 365, 1000)}
    if any(operand not in known for operand in calculation.operands):
        return ""
    return str(float(calculation.value)) if calculation.value.denominator != 1 else str(calculation.value)


def _converted(found: Arguments, language: Language) -> str:
    source = read_measure(found.values["from_unit"])
    target = read_measure(found.values["to_unit"]) if found.values.get("to_unit") else counterpart(source)
    value = read_number(found.values["value"], language)
    assert value is not None
    return str(float(convert(Fraction(value), source, target).result))


def is_right(found: str, question: Question) -> bool:
    """Whether a result is the gold one."""
    try:
        gold = Fraction(question.gold.replace(",", ""))
    except ValueError:
        return fold(found).lower() == fold(question.gold).lower()
    return abs(Fraction(found) - gold) <= max(question.tolerance, abs(gold) * _FROM_GOLD * (not question.is_own))


def table(outcomes: Sequence[Outcome]) -> Section:
    """Right, wrong and declined per kind and language, then all."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for one in outcomes:
        groups[(one.question.kind, one.question.language)].append(one)
    rows = [_row(kind, language, members) for (kind, language), members in sorted(groups.items())]
    own = [one for one in outcomes if one.question.is_own]
    others = [one for one in outcomes if not one.question.is_own]
    rows += [_row("all of our own", "", own), _row("all others", "", others)]
    head = ("Kind", "Language", "Right", "Wrong", "Declined", "Right of the answered", "Right of all")
    note = "A wrong number is worse than none: what no rule is sure of, and every story, is declined."
    return Section("Sums, measures and dates in words", head, rows, note)


def _row(kind: str, language: str, members: Sequence[Outcome]) -> tuple[str, ...]:
    right, answered = sum(one.right for one in members), sum(one.answered for one in members)
    return (
        kind, language, str(right), str(answered - right), str(len(members) - answered),
        share([one.right for one in members if one.answered]), share([one.right for one in members]),
    )  # fmt: skip


def passes(outcomes: Sequence[Outcome]) -> bool:
    """Whether nothing was answered wrongly, and enough of our own was answered."""
    own = [one.answered for one in outcomes if one.question.is_own]
    return all(one.right for one in outcomes if one.answered) and sum(own) >= ANSWERED_AIM * len(own)


async def measure(given: argparse.Namespace, out: Console) -> bool:
    """Ask everything, print the table; whether the aims are met."""
    opened = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    embedder = CachedEmbedder(opened, max_entries=50_000)
    reasoner, offers = LocalReasoner(embedder, given.models.parent / "vectors"), offered()
    try:
        outcomes = [await answer(question, reasoner, offers) for question in read_questions(given.eval / "arithmetic")]
    finally:
        await embedder.aclose()
    show(table(outcomes), out)
    for one in outcomes:
        if (given.wrong and one.answered and not one.right) or (given.declined and not one.answered):
            out.print(f"[{one.question.kind}] {one.question.text}\n    {one.tool or '–'}: {one.answer or 'declined'}; "
                      f"right: {one.question.gold} ({guess_language(one.question.text)})", markup=False)  # fmt: skip
    return passes(outcomes)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--wrong", action="store_true", help="print what was answered wrongly")
    parser.add_argument("--declined", action="store_true", help="print what was not answered")
    if not asyncio.run(measure(parser.parse_args(), Console(width=140))):
        sys.exit(1)


if __name__ == "__main__":
    main()
