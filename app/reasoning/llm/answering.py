"""Per-query answers, summaries and arguments by the model; every claim is held against the text it was made from."""

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from app.domain.evidence import evidence_of
from app.domain.knowledge import Finding, Language, Passage, Quote
from app.reasoning import AnswerRequest, Arguments, Summary
from app.reasoning.llm import telling
from app.reasoning.llm.gate import figures_of, states_only
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.outcomes import CallOutcome, ModelFailed
from app.reasoning.llm.prompts import load
from app.reasoning.llm.shapes import AnswerShape, ArgumentsShape, SummaryShape
from app.reasoning.llm.structured import Question, ask
from app.reasoning.llm.wording import NOTHING, source_line
from app.text.language import clean

_ANSWER_TOKENS, _SUMMARY_TOKENS, _ARGUMENT_TOKENS = 500, 400, 250
_SCHEMA_CHARS = 4_000
_SHARE = 0.5
_MOST_SURE = 0.95
_QUOTE_SCORE = 0.8
_LEAST_QUOTE_CHARS = 8
_SPACE = re.compile(r"\s+")


async def answered(ladder: Ladder, request: AnswerRequest) -> Finding:
    """The model's answer with those of its quotes that are literal; none of them, or a figure out of nowhere, is a
    failure. Raises `ModelFailed`."""
    prompt = load("answer", request.language).with_instructions(request.instructions)
    told = telling.passages(request)
    question = Question("answer", prompt, told, AnswerShape, _ANSWER_TOKENS, request.language, share=_SHARE)
    reply = await ask(ladder, question)
    if not reply.found:
        return nothing_found(request)
    quotes = _quotes(reply, request.passages)
    answer = clean(reply.answer).strip()
    if not quotes or not answer or not states_only(answer, _stated(quotes, request.query)):
        raise ModelFailed(CallOutcome.MALFORMED)
    share = len(quotes) / max(len(reply.quotes), 1)
    return Finding(
        agent=request.agent,
        index=request.index,
        query=request.query,
        context=source_line(quotes, request.language),
        answer=answer,
        found=True,
        confidence=round(min(reply.confidence, _MOST_SURE) * share, 3),
        quotes=quotes,
        evidence=evidence_of(quotes),
    )


def nothing_found(request: AnswerRequest) -> Finding:
    """A finding that holds nothing."""
    return Finding(
        agent=request.agent, index=request.index, query=request.query, context=NOTHING[request.language], answer="",
        found=False, confidence=0.0,
    )  # fmt: skip


def _stated(quotes: Sequence[Quote], query: str) -> frozenset[Decimal]:
    held = [f"{q.passage.text}\n{q.passage.section}\n{q.passage.title}" for q in quotes]
    return figures_of("\n".join([query, *held]))


def _quotes(reply: AnswerShape, passages: Sequence[Passage]) -> tuple[Quote, ...]:
    """The reply's quotes as they stand in their passages; white space may differ, nothing else."""
    found: dict[str, Quote] = {}
    for quoted in reply.quotes:
        if not 1 <= quoted.passage <= len(passages):
            continue
        passage = passages[quoted.passage - 1]
        span = _span(passage.text, clean(quoted.text))
        if span:
            found.setdefault(span, Quote(passage=passage, text=span, score=_QUOTE_SCORE))
    return tuple(found.values())


def _span(text: str, quoted: str) -> str:
    """The literal span of `text` that reads like `quoted`; empty when there is none."""
    words = quoted.split()
    if len(quoted.strip()) < _LEAST_QUOTE_CHARS:
        return ""
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return found[0] if found else ""


async def summarised(
    ladder: Ladder, query: str, findings: Sequence[Finding], language: Language, by_rule: Summary
) -> Summary:
    """The model's summary; the rules' when it says nothing or states a figure of its own. Raises `ModelFailed`."""
    told = telling.findings(query, findings)
    question = Question(
        "summarise", load("summarise", language), told, SummaryShape, _SUMMARY_TOKENS, language, share=_SHARE
    )
    reply = await ask(ladder, question)
    text = clean(reply.text).strip()
    if not text or not states_only(text, figures_of(told)):
        return by_rule
    sources = tuple(dict.fromkeys(n - 1 for n in reply.sources if 1 <= n <= len(findings)))
    return Summary(text=text, sources=sources or by_rule.sources)


async def arguments_read(
    ladder: Ladder,
    tool: str,
    query: str,
    findings: Sequence[Finding],
    language: Language,
    schema: Mapping[str, Any] | None = None,
) -> Arguments:
    """The model's arguments; tools check every operand against its source themselves. Raises `ModelFailed`."""
    told = telling.findings(query, findings, tool=tool, **_told_schema(schema))
    question = Question(
        "arguments", load("arguments", language), told, ArgumentsShape, _ARGUMENT_TOKENS, language, share=_SHARE
    )
    reply = await ask(ladder, question)
    values = {name: clean(value).strip() for name, value in _read_for(tool, reply, schema).items() if value.strip()}
    grounds = tuple(text for text in map(clean, reply.grounds) if _SPACE.sub(" ", text).strip() and text in told)
    return Arguments(values=values, missing=tuple(map(clean, reply.missing)), grounds=grounds)


def _told_schema(schema: Mapping[str, Any] | None) -> dict[str, str]:
    """The properties of a tool's arguments, as JSON in a line."""
    return {"schema": json.dumps(schema, ensure_ascii=False)[:_SCHEMA_CHARS]} if schema else {}


def _read_for(tool: str, reply: ArgumentsShape, schema: Mapping[str, Any] | None) -> Mapping[str, str]:
    """The fields of the reply that belong to the tool."""
    if schema is not None:
        return {one.name: one.value for one in reply.values if one.name in schema.get("properties", {})}
    if tool == "math_tool":
        return {"expression": reply.expression, "unit": reply.unit}
    if tool == "log_tool":
        return {"terms": reply.terms, "level": reply.level, "source": reply.source, "period": reply.period}
    return {}
