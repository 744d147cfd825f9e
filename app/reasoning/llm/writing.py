"""The answer as a model writes it from the best passages of all departments, each statement held against them.

Statements go out as they are complete. From the first one that nothing supports the rest is held, the model is asked
once for better ones, and what stays unsupported is marked. The rules' own answer stands in where the model has none,
and follows where it stopped in the middle. Nothing that went out is taken back.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing

from app.domain.answer import Outcome, Support
from app.domain.knowledge import Evidence, Passage
from app.reasoning import ComposeRequest, Composition, Reasoner, Supporter
from app.reasoning.budget import note_downgrade
from app.reasoning.llm.grounds import grounds_of
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.material import FULL, Profile, answer_material, own_words, shown, unsupported
from app.reasoning.llm.request import CallOutcome, ModelFailed, Request
from app.reasoning.llm.shapes import MendedShape
from app.reasoning.llm.statements import Cutter, Judge, Judged, is_no_answer
from app.reasoning.llm.structured import Question, ask
from app.reasoning.sentences import load, sentence
from app.text.language import words

_MAX_TOKENS, _MENDING_TOKENS = 900, 700
_SHARE = 0.5
_INSTRUCTION_CHARS = 300
"""Of agents' instructions, in the small profile."""
_MOST_SURE, _ALONE, _UNDECIDED, _FAILED = 0.95, 0.85, 0.6, 0.8
"""Confidence at most; its share where the reader found another passage; at most where both sides are shown; its share
where an agent failed."""


async def written(
    ladder: Ladder,
    rules: Reasoner,
    supporter: Supporter,
    request: ComposeRequest,
    is_order: Callable[[str], bool],
    profile: Profile = FULL,
) -> AsyncIterator[str | Composition]:
    """Pieces of the answer, then the composition."""
    by_rule = await _by_rules(rules, request)
    if not request.read and by_rule.outcome == "not_found":
        # Nothing to write about: the sentence that says so is the rules'.
        yield by_rule.answer
        yield by_rule
        return
    read, own = shown(request, profile.passages), own_words(request, profile.messages)
    judge = Judge(read, grounds_of(request), supporter, request.language, is_order, own)
    draft = _Draft(ladder, request, judge, profile)
    try:
        async for ready in draft.statements():
            yield ready
    except ModelFailed as failure:
        async for rest in _instead(request, by_rule, draft, failure.outcome):
            yield rest
        return
    if draft.left_out:
        note_downgrade(f"compose: {draft.left_out} orders without support left out")
    if draft.said.strip():
        yield _composition(request, by_rule, draft)
        return
    if not draft.nothing_found:
        note_downgrade("compose: nothing with support, done by rules")
    else:
        findings = tuple(finding.emptied() for finding in request.findings)
        by_rule = await _by_rules(rules, request.model_copy(update={"findings": findings, "computations": ()}))
    yield by_rule.answer
    yield by_rule


class _Draft:
    """An answer being written."""

    def __init__(self, ladder: Ladder, request: ComposeRequest, judge: Judge, profile: Profile):
        self._ladder, self._request, self._judge, self._profile = ladder, request, judge, profile
        self._held: list[Judged] = []
        """From the first unsupported statement on."""
        self.told: list[Judged] = []
        self.said = ""
        self.left_out = 0
        self.nothing_found = False

    async def statements(self) -> AsyncIterator[str]:
        """What may go out, statement by statement. Raises `ModelFailed`."""
        prompt, cutter = load(self._profile.prompt, self._request.language), Cutter()
        ours = self._request.instructions if self._profile.mends else self._request.instructions[:_INSTRUCTION_CHARS]
        wanted = Request(prompt.messages(answer_material(self._request, self._profile), ours), _MAX_TOKENS)
        async with aclosing(self._ladder.stream("compose", wanted)) as pieces:
            async for piece in pieces:
                async for ready in self._taken(cutter.feed(piece)):
                    yield ready
        self.nothing_found = cutter.said_nothing_found
        async for ready in self._taken(cutter.finish()):
            yield ready
        for one in await self._mended():
            yield self._out(one)

    async def _taken(self, statements: Sequence[str]) -> AsyncIterator[str]:
        for statement in statements:
            if not self.told and not self._held and (is_no_answer(statement) or _echoes(statement, self._request)):
                raise ModelFailed(CallOutcome.MALFORMED)
            judged = await self._judge.judged(statement)
            if judged is None:
                self.left_out += 1
            elif self._held or judged.is_unsupported:
                self._held.append(judged)
            else:
                yield self._out(judged)

    def _out(self, judged: Judged) -> str:
        text = judged.text if self.said else judged.text.lstrip()
        self.told.append(judged)
        self.said += text
        return text

    async def _mended(self) -> list[Judged]:
        """What was held, the unsupported statements written anew where that makes them supported, marked where not."""
        language, doubtful = self._request.language, [one for one in self._held if one.is_unsupported]
        anew: dict[int, Judged] = {}
        if doubtful and self._profile.mends:
            told = unsupported(self._request, [one.text.strip() for one in doubtful], self._profile)
            question = Question("mend", language, told, MendedShape, _MENDING_TOKENS, _SHARE)
            try:
                reply = await ask(self._ladder, question)
            except ModelFailed as failure:
                note_downgrade(f"mend: {failure.outcome}, marked")
            else:
                for one in reply.statements:
                    if 1 <= one.n <= len(doubtful) and one.text.strip():
                        old = doubtful[one.n - 1].text
                        around = old[: len(old) - len(old.lstrip())], old[len(old.rstrip()) :]
                        better = await self._judge.judged(f"{around[0]}{one.text.strip()}{around[1]}")
                        if better is not None and not better.is_unsupported:
                            anew[id(doubtful[one.n - 1])] = better
        return [
            anew.get(id(one)) or (one.marked(language) if one.is_unsupported else one) for one in self._held
        ]  # fmt: skip

    @property
    def support(self) -> tuple[Support, ...]:
        """Of every statement that states something, in order."""
        return tuple(one.support for one in self.told if one.support is not None)

    @property
    def cited(self) -> list[Passage]:
        """The passages behind the evidence."""
        urls = {one.url for one in self._judge.evidence}
        return [quote.passage for quote in self._judge.read if quote.passage.address in urls]

    def confidence(self, by_rule: Composition) -> float:
        """How sure the answer is: what the sources are to its statements, and whether the reader reads the same."""
        judged = [one for one in self.told if one.support is not None and one.support.kind != "draft"]
        stated = [one.chance * (not one.is_unsupported) for one in judged]
        sure = sum(stated) / len(stated) if stated else 0.0
        best = {quote.passage.address for one in self._request.findings if one.found for quote in one.quotes[:1]}
        agrees = by_rule.outcome != "not_found" and any(one.address in best for one in self.cited)
        sure *= (1.0 if agrees else _ALONE) * (_FAILED if self._request.failed_agents else 1.0)
        undecided = any(not point.decided for point in self._request.conflicts)
        return round(min(sure, _UNDECIDED if undecided else _MOST_SURE), 4)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the numbers of the answer cite."""
        return tuple(self._judge.evidence)


def _composition(request: ComposeRequest, by_rule: Composition, draft: _Draft) -> Composition:
    return by_rule.model_copy(
        update={
            "answer": draft.said, "outcome": _outcome(request, draft.support),
            "reasoning": _reasoning(by_rule, draft, request), "confidence": draft.confidence(by_rule),
            "evidence": draft.evidence, "support": draft.support,
        }
    )  # fmt: skip


def _outcome(request: ComposeRequest, support: Sequence[Support]) -> Outcome:
    if any(not point.decided for point in request.conflicts):
        return "conflict"
    lacks = request.failed_agents or request.refusals or any(one.kind == "unsupported" for one in support)
    return "partial" if lacks else "answered"


def _echoes(statement: str, request: ComposeRequest) -> bool:
    """Whether a statement is the question once again."""
    said = words(statement)
    return bool(said) and any(said == words(asked) for asked in (request.query, request.asked))


def _reasoning(by_rule: Composition, draft: _Draft, request: ComposeRequest) -> str:
    """The rules say that they quote; a model does not. Where something was decided, they say why."""
    if any(point.decided for point in request.conflicts) or not draft.cited:
        return by_rule.reasoning
    titles = ", ".join(f"“{title}”" for title in dict.fromkeys(one.title for one in draft.cited))
    return sentence("written", request.language, titles=titles)


async def _instead(
    request: ComposeRequest, by_rule: Composition, draft: _Draft, outcome: CallOutcome
) -> AsyncIterator[str | Composition]:
    """The end of an answer whose model failed."""
    said = draft.said
    if outcome is CallOutcome.REFUSAL and not said.strip():
        note_downgrade(f"compose: {outcome}")
        text = sentence("refused", request.language)
        yield text
        yield Composition(answer=text, outcome="refused", reasoning="", confidence=0.0, follow_up_questions=())
        return
    note_downgrade(f"compose: {outcome}, done by rules")
    if not said.strip():
        yield by_rule.answer
        yield by_rule
        return
    rest = f"\n\n{sentence('stopped', request.language)}\n\n{by_rule.answer}"
    yield rest
    urls = {one.url for one in draft.evidence}
    evidence = (*draft.evidence, *(one for one in request.evidence if one.url not in urls))
    told = {"answer": said + rest, "evidence": evidence, "support": draft.support}
    yield by_rule.model_copy(update={**told, "outcome": "conflict" if by_rule.outcome == "conflict" else "partial"})


async def _by_rules(rules: Reasoner, request: ComposeRequest) -> Composition:
    last: str | Composition | None = None
    async for piece in rules.compose(request):
        last = piece
    if not isinstance(last, Composition):
        raise RuntimeError("the composer ended without a composition")
    return last
