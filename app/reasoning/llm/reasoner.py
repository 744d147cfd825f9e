"""`ModelReasoner`: the port of everything that needs a mind, asked of a language model, with the rules behind it.

Two calls a question: a plan, before any document is read, held against what this caller may use; then the answer,
written from the best passages of all departments (``model``), or literal quotes read by the model a query (``strict``).
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import date
from typing import Any, Literal, Protocol

from app.domain.knowledge import Finding, Language
from app.domain.plan import RAG_TOOL, Plan
from app.domain.tasks import Message
from app.links import LinkGuard
from app.reasoning import (
    AgentOffer,
    AnswerRequest,
    Arguments,
    Assignment,
    Classification,
    ComposeRequest,
    Composition,
    PlanRequest,
    Reasoner,
    Supporter,
)
from app.reasoning.llm import answering, telling
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.material import FULL, SMALL
from app.reasoning.llm.shapes import PlanShape
from app.reasoning.llm.structured import Question, ask, or_else
from app.reasoning.llm.writing import written
from app.reasoning.sentences import digest
from app.text.language import clean

AnswerMode = Literal["model", "strict"]
_PLAN_TOKENS = 600
_PLAN_SHARE = 0.4
_CONFIDENCE = 0.9
_MAX_QUERIES = 8
_AROUND_ADDRESS = ".,;:!?()[]<>\"'"


class ReaderAndRules(Reasoner, Supporter, Protocol):
    """A mind that needs no model, and reads what passages say."""


class ModelReasoner:
    """Implements `Reasoner`. Every method may do I/O; none raises for what a model says or fails to say."""

    def __init__(
        self, ladder: Ladder, rules: ReaderAndRules, *, answer_mode: AnswerMode = "model",
        is_order: Callable[[str], bool] = lambda _: False, is_small: bool = False,
    ):  # fmt: skip
        """`rules` does what no model is asked and what no model could do; `is_order` knows sentences that give orders
        to whoever reads them. A model that `is_small` writes the answer, from little, and is asked nothing else."""
        self._ladder, self._rules, self.answer_mode, self._is_order = ladder, rules, answer_mode, is_order
        self._is_small = is_small
        self.review_plan, self.review_finding, self.summarise = rules.review_plan, rules.review_finding, rules.summarise

    @property
    def identity(self) -> str:
        """Models, prompts and mode, and the rules behind them."""
        models = "+".join(self._ladder.models)
        return f"llm/{models}/{digest()}/{self.answer_mode}{'/small' * self._is_small}/{self._rules.identity}"

    async def classify(
        self, query: str, history: Sequence[Message], agents: Sequence[AgentOffer], *, today: date | None = None,
        department: str = "",
    ) -> Classification:  # fmt: skip
        """One call: small talk or question, the question made complete, and who is asked what."""
        by_rule = await self._rules.classify(query, history, agents, today=today)
        if self._is_small:
            return by_rule
        told = telling.question(query, history, today=today, department=department)
        asked = classified(self._ladder, told, query, history, agents, by_rule)
        refused = by_rule.model_copy(update={"kind": "refused"})
        return await or_else("plan", asked, lambda failure: refused if failure.is_refusal else by_rule)

    async def plan(self, request: PlanRequest) -> Plan:
        """Tiers by rule over the assignments of `classify`; a plan that was refused is proposed anew by the model."""
        if request.feedback and request.classification.assignments:
            again = proposed_again(self._ladder, request)
            unassigned = request.classification.model_copy(update={"assignments": ()})
            classification = await or_else("plan", again, lambda _: unassigned)
            request = request.model_copy(update={"classification": classification})
        return await self._rules.plan(request)

    async def answer(self, request: AnswerRequest) -> Finding:
        """The reader's answer, with all it has read for who writes; in mode ``strict`` the model's quotes."""
        by_rule = await self._rules.answer(request.model_copy(update={"keeps_read": not self._is_strict(request)}))
        if self._is_small or not self._is_strict(request) or not request.passages:
            return by_rule
        return await or_else(
            "answer",
            answering.answered(self._ladder, request, by_rule),
            lambda failure: by_rule.emptied() if failure.is_refusal else by_rule,
        )

    async def arguments(
        self, tool: str, query: str, findings: Sequence[Finding], language: Language,
        schema: Mapping[str, Any] | None = None, refused: str = "",
    ) -> Arguments:  # fmt: skip
        """The rules' arguments; where they find none, with a schema not all, or were refused, the model's."""
        by_rule = await self._rules.arguments(tool, query, findings, language, schema)
        complete = bool(by_rule.values) if schema is None else not by_rule.missing
        if (complete and not refused) or self._is_small:
            return by_rule
        asked = answering.arguments_read(self._ladder, tool, query, findings, language, schema, refused)
        return await or_else("arguments", asked, lambda _: by_rule)

    async def compose(self, request: ComposeRequest) -> AsyncIterator[str | Composition]:
        """The model's text as it comes, in whole statements; in mode ``strict`` the quotes, as the rules tell them."""
        profile = SMALL if self._is_small else FULL
        by_model = written(self._ladder, self._rules, self._rules, request, self._is_order, profile)
        async for piece in self._rules.compose(request) if self._is_strict(request) else by_model:
            yield piece

    def _is_strict(self, request: AnswerRequest | ComposeRequest) -> bool:
        return self.answer_mode == "strict" or request.is_strict


async def classified(
    ladder: Ladder, told: str, query: str, history: Sequence[Message], agents: Sequence[AgentOffer],
    by_rule: Classification,
) -> Classification:  # fmt: skip
    """The model's classification of what it is told; language and day stay as the rules read them. Raises
    `ModelFailed`."""
    has_answer = any(message.role == "assistant" for message in history)
    reply = await _proposed(ladder, told, agents, by_rule, has_answer=has_answer)
    tidied = _tidier((query, *(message.content for message in history if message.role == "user")), by_rule.language)
    if reply.kind == "chitchat":
        return by_rule.model_copy(
            update={
                "kind": "chitchat", "refined_query": "", "sub_queries": (), "confidence": _CONFIDENCE, "as_of": None,
                "chitchat_response": clean(reply.chitchat_response).strip(), "is_follow_up": False,
            }
        )  # fmt: skip
    assignments = _assignments(reply, tidied)
    queries = tuple(dict.fromkeys(query for one in assignments for query in one.queries))
    plain = len(queries) == 1 and len(assignments) == 1 and assignments[0].tools == (RAG_TOOL,)
    return by_rule.model_copy(
        update={
            "kind": "simple" if plain else "task", "refined_query": tidied(reply.refined_query) or queries[0],
            "sub_queries": queries, "chitchat_response": "", "assignments": assignments, "confidence": _CONFIDENCE,
            "edits": reply.kind == "edit", "is_follow_up": by_rule.is_follow_up or reply.kind == "edit",
        }
    )  # fmt: skip


async def proposed_again(ladder: Ladder, request: PlanRequest) -> Classification:
    """The question's assignments after a plan was refused. Raises `ModelFailed`."""
    known = request.classification
    told = telling.question(known.refined_query or request.query, (), request.feedback)
    reply = await _proposed(ladder, told, request.agents, known, must_ask=True, has_answer=known.edits)
    tidied = _tidier((request.query, known.refined_query), known.language)
    return known.model_copy(update={"assignments": _assignments(reply, tidied)})


async def _proposed(
    ladder: Ladder, told: str, agents: Sequence[AgentOffer], by_rule: Classification, *, must_ask: bool = False,
    has_answer: bool = False,
) -> PlanShape:  # fmt: skip
    offered = {agent.name: frozenset(agent.tools) for agent in agents}

    question = Question(
        "plan", by_rule.language, told, PlanShape, _PLAN_TOKENS, _PLAN_SHARE, telling.offers(agents, by_rule.language),
        lambda reply: _wrong(reply, offered, must_ask=must_ask, has_answer=has_answer),
    )  # fmt: skip
    return await ask(ladder, question)


def _wrong(reply: PlanShape, offered: dict[str, frozenset[str]], *, must_ask: bool, has_answer: bool) -> list[str]:
    """What cannot be carried out: names that are not on offer, and a question nobody is asked."""
    if reply.kind == "chitchat":
        if must_ask:
            return ["kind: this is a question"]
        return [] if reply.chitchat_response.strip() else ["chitchat_response: is empty"]
    errors = ["kind: there is no answer to edit"] if reply.kind == "edit" and not has_answer else []
    errors += [f"agent {one.agent!r} is not on the list" for one in reply.agents if one.agent not in offered]
    for one in reply.agents:
        unknown = set(one.tools) - offered.get(one.agent, frozenset(one.tools))
        errors += [f"{one.agent} has no tool {tool!r}" for tool in sorted(unknown)]
    if not any(clean(query).strip() for one in reply.agents for query in one.queries):
        errors.append("agents: nobody is asked anything")
    return errors


def _tidier(asked: Sequence[str], language: Language) -> Callable[[str], str]:
    """Takes addresses that the asker did not name out of what the model made of the question: a plan is shown, and
    what it asks counts as the asker's words from then on."""
    words = [word for text in asked for word in text.split()]
    named = {*words, *(word.strip(_AROUND_ADDRESS) for word in words)}
    guard = LinkGuard(named, language=language, known_text="\n".join(asked))
    return lambda text: guard.clean(clean(text)).strip()


def _assignments(reply: PlanShape, tidied: Callable[[str], str]) -> tuple[Assignment, ...]:
    """By agent, in the reply's order; an agent that is named twice is asked everything at once."""
    queries: dict[str, list[str]] = {}
    tools: dict[str, list[str]] = {}
    for one in reply.agents:
        asked = [query for query in map(tidied, one.queries[:_MAX_QUERIES]) if query]
        if asked:
            queries.setdefault(one.agent, []).extend(asked)
            tools.setdefault(one.agent, []).extend(one.tools or [RAG_TOOL])
    return tuple(
        Assignment(agent=agent, queries=tuple(dict.fromkeys(asked)), tools=tuple(dict.fromkeys(tools[agent])))
        for agent, asked in queries.items()
    )
