"""The compose call: the model writes, the gate lets statements out, the rules say what the answer is worth."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from app.reasoning import ComposeRequest, Composition, Reasoner
from app.reasoning.budget import note_downgrade
from app.reasoning.llm import telling
from app.reasoning.llm.gate import AnswerGate, Grounds
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.outcomes import CallOutcome, ModelFailed
from app.reasoning.llm.prompts import load
from app.reasoning.llm.request import Request
from app.reasoning.llm.wording import STOPPED, written_from
from app.reasoning.refusal import REFUSED

_MAX_TOKENS = 900


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
    gate, said = AnswerGate(Grounds.of(request)), ""
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
        empty = await _by_rules(rules, request.model_copy(update={"findings": _emptied(request), "computations": ()}))
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
    return written_from(quotes, request.language) if quotes and not decided else by_rule.reasoning


async def _instead(
    request: ComposeRequest, by_rule: Composition, said: str, outcome: CallOutcome
) -> AsyncIterator[str | Composition]:
    """The end of an answer whose model failed."""
    if outcome is CallOutcome.REFUSAL and not said.strip():
        note_downgrade(f"compose: {outcome}")
        text = REFUSED[request.language]
        yield text
        yield Composition(answer=text, outcome="refused", reasoning="", confidence=0.0, follow_up_questions=())
        return
    note_downgrade(f"compose: {outcome}, done by rules")
    rest = f"\n\n{STOPPED[request.language]}\n\n{by_rule.answer}" if said.strip() else by_rule.answer
    yield rest
    yield by_rule.model_copy(update={"answer": said + rest})


async def _by_rules(rules: Reasoner, request: ComposeRequest) -> Composition:
    last: str | Composition | None = None
    async for piece in rules.compose(request):
        last = piece
    if not isinstance(last, Composition):
        raise RuntimeError("the composer ended without a composition")
    return last


def _emptied(request: ComposeRequest) -> tuple[object, ...]:
    emptied = {"found": False, "answer": "", "confidence": 0.0, "quotes": (), "evidence": ()}
    return tuple(finding.model_copy(update=emptied) for finding in request.findings)
