"""Which agent is asked, through the reasoner's real plan."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.progress import track

from app.agents.registry import AgentRegistry
from app.domain.plan import MATH_TOOL
from app.domain.principal import SCOPES
from app.reasoning import AgentOffer, PlanRequest, Probe
from app.reasoning.local import LocalReasoner
from bench.corpora import reader
from bench.intent.report import LANGUAGES, Section, against
from bench.intent.rows import DEPARTMENTS, Utterance

AIM = 0.90
TOOL = "tool"
"""Label of rows that a calculator, a clock or a dictionary would answer: of no department."""
TENANT = "acme"
Probing = Callable[[Sequence[str]], Awaitable[Sequence[dict[str, float]]]]
"""Relevance by department of each query."""


class Routed(NamedTuple):
    """A question, the agents asked, best first, and whether the calculator is among the tools."""

    said: Utterance
    agents: tuple[str, ...]
    calculates: bool

    @property
    def first(self) -> str:
        """Who is asked first."""
        return self.agents[0]


def built_in() -> tuple[AgentOffer, ...]:
    """The agents every installation has."""
    return AgentRegistry.load(None).offers_for(reader(TENANT), None)


def of_strangers() -> tuple[AgentOffer, ...]:
    """The same and three departments with five exemplars each."""
    departments = {"legal", "finance", "facilities"}
    asker = reader(TENANT)
    widened = asker.model_copy(update={"departments": asker.departments | departments})
    return AgentRegistry.load(DEPARTMENTS).offers_for(widened, None)


async def nothing_known(queries: Sequence[str]) -> list[dict[str, float]]:
    """Probes of an empty house: only the look of a question tells whose it is."""
    return [{} for _ in queries]


async def route(
    reasoner: LocalReasoner, offers: Sequence[AgentOffer], said: Sequence[Utterance], probe: Probing, out: Console
) -> list[Routed]:
    """Classify, probe and plan as the flow does."""
    found: list[Routed] = []
    for one in track([one for one in said if one.department], "routing", console=out, transient=True):
        classification = await reasoner.classify(one.text, [], offers)
        queries = classification.sub_queries or (one.text,)
        relevance = zip(queries, await probe(queries), strict=True)
        request = PlanRequest(
            query=one.text,
            classification=classification,
            agents=tuple(offers),
            probes=tuple(Probe(query=query, relevance_by_department=by) for query, by in relevance),
            user_access=SCOPES,
            max_queries_per_agent=10,
        )
        plan = await reasoner.plan(request)
        tools = {planned.step.tool for planned in plan.steps}
        found.append(Routed(one, tuple(plan.agents), MATH_TOOL in tools))
    return found


def table(title: str, routed: Sequence[Routed], note: str) -> Section:
    """Accuracy of the first agent by language, how often the right one is asked at all, and where questions go."""
    rows: list[tuple[str, ...]] = []
    for language in LANGUAGES:
        due = [one for one in routed if one.said.language == language and one.said.department != TOOL]
        if due:
            first = sum(one.first == one.said.department for one in due) / len(due)
            asked = sum(one.said.department in one.agents for one in due) / len(due)
            number = sum(len(one.agents) for one in due) / len(due)
            rows.append((language, str(len(due)), against(first, AIM), f"{asked:.3f}", f"{number:.2f}"))
    head = ("language", "questions", "asked first", "asked at all", "agents a question")
    return Section(title, head, rows, note)


def confusion(title: str, routed: Sequence[Routed]) -> Section:
    """Department by first agent."""
    counted: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in routed:
        department = one.said.department or ""
        first = "calculator" if department == TOOL and one.calculates else one.first
        counted[one.said.language, department][first] += 1
    names = sorted({name for counter in counted.values() for name in counter})
    ordered = sorted(counted, key=lambda key: (LANGUAGES.index(key[0]), key[1]))
    rows = [(*key, *(str(counted[key][name] or "·") for name in names)) for key in ordered]
    return Section(title, ("language", "department", *names), rows)
