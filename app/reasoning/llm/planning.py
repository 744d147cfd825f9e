"""The plan call: one reply that tells small talk from questions, completes the question and says who is asked what.

It is made before any document is read, and what it chooses is checked against what this caller may use.
"""

from collections.abc import Callable, Sequence

from app.domain.knowledge import Language
from app.domain.plan import RAG_TOOL
from app.domain.tasks import Message
from app.links import LinkGuard
from app.reasoning import AgentOffer, Assignment, Classification, PlanRequest
from app.reasoning.llm import telling
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import PlanShape
from app.reasoning.llm.structured import Question, ask
from app.text.language import clean

_MAX_TOKENS = 600
_SHARE = 0.4
_CONFIDENCE = 0.9
_MAX_QUERIES = 8
_AROUND_ADDRESS = ".,;:!?()[]<>\"'"


async def classified(
    ladder: Ladder, query: str, history: Sequence[Message], agents: Sequence[AgentOffer], by_rule: Classification
) -> Classification:
    """The model's classification; language and day stay as the rules read them. Raises `ModelFailed`."""
    reply = await _proposed(ladder, telling.question(query, history), agents, by_rule)
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
        }
    )  # fmt: skip


async def proposed_again(ladder: Ladder, request: PlanRequest) -> Classification:
    """The question's assignments after a plan was refused. Raises `ModelFailed`."""
    known = request.classification
    told = telling.question(known.refined_query or request.query, (), request.feedback)
    reply = await _proposed(ladder, told, request.agents, known, must_ask=True)
    tidied = _tidier((request.query, known.refined_query), known.language)
    return known.model_copy(update={"assignments": _assignments(reply, tidied)})


async def _proposed(
    ladder: Ladder, told: str, agents: Sequence[AgentOffer], by_rule: Classification, *, must_ask: bool = False
) -> PlanShape:
    offered = {agent.name: frozenset(agent.tools) for agent in agents}

    question = Question(
        "plan", by_rule.language, told, PlanShape, _MAX_TOKENS, _SHARE, telling.offers(agents, by_rule.language),
        lambda reply: _wrong(reply, offered, must_ask=must_ask),
    )  # fmt: skip
    return await ask(ladder, question)


def _wrong(reply: PlanShape, offered: dict[str, frozenset[str]], *, must_ask: bool) -> list[str]:
    """What cannot be carried out: names that are not on offer, and a question nobody is asked."""
    if reply.kind == "chitchat":
        if must_ask:
            return ["kind: this is a question"]
        return [] if reply.chitchat_response.strip() else ["chitchat_response: is empty"]
    errors = [f"agent {one.agent!r} is not on the list" for one in reply.agents if one.agent not in offered]
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
