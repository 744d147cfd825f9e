"""Per-query answers, claims, arguments and the final text by the model; every claim is held against its text."""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from app.claims.proposed import ProposedClaim
from app.domain.knowledge import Finding, Language, Passage, Quote, evidence_of
from app.reasoning import AnswerRequest, Arguments, ComposeRequest, Composition, Reasoner
from app.reasoning.budget import note_downgrade
from app.reasoning.llm import telling
from app.reasoning.llm.grounds import AnswerGate, Grounds, quote_texts
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.request import CallOutcome, ModelFailed, Request
from app.reasoning.llm.shapes import AnswerShape, ArgumentsShape, ClaimsShape
from app.reasoning.llm.structured import Question, ask
from app.reasoning.sentences import load, sentence
from app.text.language import clean

_ANSWER_TOKENS, _ARGUMENT_TOKENS, _CLAIM_TOKENS, _MAX_TOKENS = 500, 250, 900, 900
_QUOTES = 16
"""Told to the model for their claims; what lies behind them is left to the rules."""
_SCHEMA_CHARS = 4_000
_SHARE = 0.5
_MOST_SURE = 0.95
_QUOTE_SCORE = 0.8
_LEAST_QUOTE_CHARS = 8
_SPACE = re.compile(r"\s+")


async def answered(ladder: Ladder, request: AnswerRequest) -> Finding:
    """The model's answer with those of its quotes that are literal; none of them, or a figure out of nowhere, is a
    failure. Raises `ModelFailed`."""
    told = telling.passages(request)
    question = Question("answer", request.language, told, AnswerShape, _ANSWER_TOKENS, _SHARE, request.instructions)
    reply = await ask(ladder, question)
    if not reply.found:
        return nothing_found(request)
    quotes = _quotes(reply, request.passages[: telling.PASSAGES])
    answer = clean(reply.answer).strip()
    grounds = Grounds([request.query, *quote_texts(quotes)], may_round=False)
    if not quotes or not answer or grounds.unknown(answer):
        raise ModelFailed(CallOutcome.MALFORMED)
    share = len(quotes) / max(len(reply.quotes), 1)
    return Finding(
        agent=request.agent, index=request.index, query=request.query,
        context=sentence("from", request.language, titles=_titles(quotes)), answer=answer, found=True,
        confidence=round(min(reply.confidence, _MOST_SURE) * share, 3), quotes=quotes, evidence=evidence_of(quotes),
    )  # fmt: skip


def nothing_found(request: AnswerRequest) -> Finding:
    """A finding that holds nothing."""
    return Finding(
        agent=request.agent, index=request.index, query=request.query, answer="",
        context=sentence("nothing", request.language),
        found=False, confidence=0.0,
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


async def claimed(
    ladder: Ladder, quotes: Sequence[tuple[str, Quote]], language: Language
) -> tuple[tuple[ProposedClaim, ...], ...]:
    """The claims of each quote, in the quotes' order; `app.claims` holds each against the words it quotes. Raises
    `ModelFailed`."""
    told = telling.quotes(quotes[:_QUOTES])
    reply = await ask(ladder, Question("claims", language, told, ClaimsShape, _CLAIM_TOKENS, _SHARE))
    found: list[list[ProposedClaim]] = [[] for _ in quotes]
    for one in reply.claims:
        if 1 <= one.n <= min(len(quotes), _QUOTES):
            said = {name: clean(text) if isinstance(text, str) else text for name, text in one if name != "n"}
            found[one.n - 1].append(ProposedClaim(**said))
    return tuple(map(tuple, found))


async def arguments_read(
    ladder: Ladder, tool: str, query: str, findings: Sequence[Finding], language: Language,
    schema: Mapping[str, Any] | None = None,
) -> Arguments:  # fmt: skip
    """The model's arguments; tools check every operand against its source themselves. Raises `ModelFailed`."""
    further = {"schema": json.dumps(schema, ensure_ascii=False)[:_SCHEMA_CHARS]} if schema else {}
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


async def composed(ladder: Ladder, rules: Reasoner, request: ComposeRequest) -> AsyncIterator[str | Composition]:
    """Statements, then the composition. The rules' own answer stands in where the model has none, and follows where it
    stopped in the middle. Nothing that went out is taken back."""
    by_rule = await _by_rules(rules, request)
    if by_rule.outcome == "not_found":
        # Nothing to write about: the sentence that says so is the rules'.
        yield by_rule.answer
        yield by_rule
        return
    prompt = load("compose", request.language)
    wanted = Request(prompt.messages(telling.answer_material(request)), _MAX_TOKENS)
    gate, said = AnswerGate(request), ""
    try:
        async with aclosing(ladder.stream("compose", wanted)) as pieces:
            async for piece in pieces:
                if ready := gate.feed(piece):
                    said += ready
                    yield ready
        nothing = gate.said_nothing_found
        if ready := gate.finish():
            said += ready
            yield ready
    except ModelFailed as failure:
        async for rest in _instead(request, by_rule, said, failure.outcome):
            yield rest
        return
    if gate.left_out:
        note_downgrade(f"compose: {gate.left_out} statements without support left out")
    if nothing and not said.strip():
        findings = tuple(finding.emptied() for finding in request.findings)
        empty = await _by_rules(rules, request.model_copy(update={"findings": findings, "computations": ()}))
        yield empty.answer
        yield empty
    elif not said.strip():
        note_downgrade("compose: nothing with support, done by rules")
        yield by_rule.answer
        yield by_rule
    else:
        yield by_rule.model_copy(update={"answer": said, "reasoning": _reasoning(request, by_rule)})


def _reasoning(request: ComposeRequest, by_rule: Composition) -> str:
    """The rules say that they quote; a model does not."""
    quotes = [quote for finding in request.findings if finding.found for quote in finding.quotes]
    decided = any(point.decided for point in request.conflicts)
    if not quotes or decided:
        return by_rule.reasoning
    return sentence("written", request.language, titles=_titles(quotes))


def _titles(quotes: Sequence[Quote]) -> str:
    return ", ".join(f"“{title}”" for title in dict.fromkeys(quote.passage.title for quote in quotes))


async def _instead(
    request: ComposeRequest, by_rule: Composition, said: str, outcome: CallOutcome
) -> AsyncIterator[str | Composition]:
    """The end of an answer whose model failed."""
    if outcome is CallOutcome.REFUSAL and not said.strip():
        note_downgrade(f"compose: {outcome}")
        text = sentence("refused", request.language)
        yield text
        yield Composition(answer=text, outcome="refused", reasoning="", confidence=0.0, follow_up_questions=())
        return
    note_downgrade(f"compose: {outcome}, done by rules")
    rest = f"\n\n{sentence('stopped', request.language)}\n\n{by_rule.answer}" if said.strip() else by_rule.answer
    yield rest
    yield by_rule.model_copy(update={"answer": said + rest})


async def _by_rules(rules: Reasoner, request: ComposeRequest) -> Composition:
    last: str | Composition | None = None
    async for piece in rules.compose(request):
        last = piece
    if not isinstance(last, Composition):
        raise RuntimeError("the composer ended without a composition")
    return last
