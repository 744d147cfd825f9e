"""Readings of passages and arguments by the model; each is held against the text it comes from."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.knowledge import Finding, Language, Passage, Quote, evidence_of
from app.reasoning import AnswerRequest, Arguments
from app.reasoning.llm import telling
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.request import CallOutcome, ModelFailed
from app.reasoning.llm.shapes import AnswerShape, ArgumentsShape
from app.reasoning.llm.structured import Question, ask
from app.reasoning.sentences import sentence
from app.text.language import clean

_ANSWER_TOKENS, _ARGUMENT_TOKENS = 500, 250
_SCHEMA_CHARS = 4_000
_SHARE = 0.5
_MOST_SURE, _AGREED, _ALONE = 0.95, 0.85, 0.75
_QUOTE_SCORE = 0.8
_LEAST_QUOTE_CHARS = 8
_SPACE = re.compile(r"\s+")


async def answered(ladder: Ladder, request: AnswerRequest, by_rule: Finding) -> Finding:
    """What the model reads out of the passages: those of its quotes that are literal and nothing else; none of them is
    a failure. It is as sure as the reader, where both read the same document. Raises `ModelFailed`."""
    told = telling.passages(request)
    question = Question("answer", request.language, told, AnswerShape, _ANSWER_TOKENS, _SHARE, request.instructions)
    reply = await ask(ladder, question)
    if not reply.found:
        return by_rule.emptied()
    quotes = _quotes(reply, request.passages[: telling.PASSAGES])
    if not quotes:
        raise ModelFailed(CallOutcome.MALFORMED)
    read = {quote.passage.document_id for quote in by_rule.quotes[:1]}
    agrees = bool(read & {quote.passage.document_id for quote in quotes})
    sure = max(by_rule.confidence, _AGREED) if agrees else _ALONE
    return Finding(
        agent=request.agent, index=request.index, query=request.query,
        context=sentence("from", request.language, titles=_titles(quotes)),
        answer="\n".join(quote.text for quote in quotes), found=True,
        confidence=round(min(sure, _MOST_SURE) * len(quotes) / max(len(reply.quotes), 1), 3), quotes=quotes,
        evidence=evidence_of(quotes), counterparts=by_rule.counterparts,
    )  # fmt: skip


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


async def arguments_read(
    ladder: Ladder, tool: str, query: str, findings: Sequence[Finding], language: Language,
    schema: Mapping[str, Any] | None = None, refused: str = "",
) -> Arguments:  # fmt: skip
    """The model's arguments; tools check every operand against its source themselves. Raises `ModelFailed`."""
    further = {"schema": json.dumps(schema, ensure_ascii=False)[:_SCHEMA_CHARS]} if schema else {}
    further |= {"refused": clean(refused)} if refused else {}
    told = telling.findings(query, findings, tool=tool, **further)
    reply = await ask(ladder, Question("arguments", language, told, ArgumentsShape, _ARGUMENT_TOKENS, _SHARE))
    values = {name: clean(value).strip() for name, value in _read_for(tool, reply, schema).items() if value.strip()}
    grounds = tuple(text for text in map(clean, reply.grounds) if _SPACE.sub(" ", text).strip() and text in told)
    return Arguments(values=values, missing=tuple(map(clean, reply.missing)), grounds=grounds)


def _read_for(tool: str, reply: ArgumentsShape, schema: Mapping[str, Any] | None) -> Mapping[str, str]:
    """The fields of the reply that belong to the tool."""
    if schema is not None:
        return {one.name: one.value for one in reply.values if one.name in schema.get("properties", {})}
    if tool == "math_tool":
        return {"expression": reply.expression, "unit": reply.unit}
    if tool == "log_tool":
        return {"terms": reply.terms, "level": reply.level, "source": reply.source, "period": reply.period}
    return {}


def _titles(quotes: Sequence[Quote]) -> str:
    return ", ".join(f"“{title}”" for title in dict.fromkeys(quote.passage.title for quote in quotes))
