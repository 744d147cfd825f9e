"""The wording of everything the local reasoner says itself, Vietnamese and English."""

import re
from collections.abc import Sequence

from app.domain.knowledge import Language
from app.domain.plan import (
    CHANGES_TOOL,
    FILES_TOOL,
    LOG_TOOL,
    MATH_TOOL,
    ORCHESTRATOR,
    RAG_TOOL,
    SUMMARY_TOOL,
    TRANSCRIPT_TOOL,
    WEB_TOOL,
    WIKIPEDIA_TOOL,
    Step,
)
from app.reasoning import AgentOffer
from app.reasoning.local.cues import alternatives, sentences
from app.reasoning.local.wording import lower_first
from app.text.language import normalise


def quoted(title: str) -> str:
    """A document title in quotation marks."""
    return f"“{title}”"


def listed(items: Sequence[str], language: Language, *, alternative: bool = False) -> str:
    """``a, b và c``; with `alternative` ``a, b hoặc c``."""
    word = sentences("composed", language)["or" if alternative else "and"]
    return word.join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def titles_of(titles: Sequence[str], language: Language) -> str:
    """Document titles as they stand in a sentence."""
    return listed([quoted(title) for title in titles], language)


_FIND = re.compile(r"^(?:tìm|find(?: the)?)\s+|\s+của công ty$|^company policy on\s+", re.IGNORECASE)
_ACRONYM = 3
_NAMES = {
    LOG_TOOL: "log", CHANGES_TOOL: "changes", FILES_TOOL: "files", WEB_TOOL: "web", WIKIPEDIA_TOOL: "web",
    TRANSCRIPT_TOOL: "web",
}  # fmt: skip
"""Tools with a sentence of their own."""


def shown(agent: str) -> str:
    """An agent's name for people: short names are acronyms."""
    return agent.upper() if len(agent) <= _ACRONYM else agent


class PlanWording:
    """Makes steps with their texts."""

    def __init__(self, language: Language):
        self._language: Language = language
        self._texts = sentences("plan", language)

    def search(self, agent: str, query: str, *, purposeful: bool) -> Step:
        """Search documents for one query; `purposeful` steps say what they gather and why."""
        if not purposeful:
            return Step(agent=agent, tool=RAG_TOOL, message=self._text("search", agent=shown(agent), query=query))
        topic = self._topic(query)
        purpose, message = self._text("gather", topic=topic), self._text("gather_message", topic=topic)
        return Step(agent=agent, tool=RAG_TOOL, purpose=purpose, message=message)

    def use(self, agent: str, tool: str, query: str) -> Step:
        """Answer one query with any other tool."""
        if tool == MATH_TOOL:
            return self.math(agent, query)
        values = {"agent": shown(agent), "tool": tool, "query": query}
        return Step(agent=agent, tool=tool, message=self._text(_NAMES.get(tool, "other"), **values))

    def summary(self, agent: str, query: str, *, calculates: bool) -> Step:
        """Digest an agent's own findings."""
        if not calculates:
            return Step(agent=agent, tool=SUMMARY_TOOL, message=self._text("summary", agent=shown(agent)))
        message = self._text("digest_message", topic=self._topic(query))
        return Step(agent=agent, tool=SUMMARY_TOOL, purpose=self._text("digest"), message=message)

    def math(self, agent: str, query: str) -> Step:
        """Calculate."""
        message = self._text("math_message", query=query.rstrip(" ?"))
        return Step(agent=agent, tool=MATH_TOOL, purpose=self._text("math"), message=message)

    def merge(self, query: str) -> Step:
        """Put all findings together."""
        return Step(agent=ORCHESTRATOR, tool=SUMMARY_TOOL, message=self._text("merge", query=query))

    def conflict(self, agents: Sequence[AgentOffer]) -> str:
        """How disagreement will be settled, one sentence."""
        experts = [shown(agent.name) for agent in agents if not agent.is_fallback]
        if len(agents) < 2 or not experts:
            return self._text("one")
        return self._text("many", experts=listed(experts, self._language))

    def _topic(self, query: str) -> str:
        topic = _FIND.sub("", _FIND.sub("", query.rstrip(" ?.")))
        return lower_first(topic)

    def _text(self, name: str, **values: str) -> str:
        return self._texts[name].format(**values)


_SUBJECT = re.compile(
    rf"\b(?:tính toán|tính|calculate|compute|work out)\s+(?:{alternatives('calculation.subject')})?(?P<subject>.+)$",
    re.IGNORECASE,
)
_END = re.compile(rf"\s*(?:{alternatives('calculation.end')})", re.IGNORECASE)
_AMOUNT_HEAD = re.compile(
    rf"^(?:(?:the|một|tổng|số|mức|my|our)\s+)*(?:{alternatives('calculation.amount_head')})\s+", re.IGNORECASE
)
_AMOUNT_TAIL = re.compile(r"\s+(?:costs?|pay|amount|payment)$", re.IGNORECASE)
_PAY = re.compile(alternatives("calculation.pay"), re.IGNORECASE)


def calculation_queries(query: str, language: Language) -> list[str]:
    """The queries that find rules and formula: an ordered calculation asks for the policy and for itself."""
    mark = _SUBJECT.search(normalise(query))
    if mark is None:
        return [query]
    end = _END.search(mark["subject"])
    subject = (mark["subject"][: end.start()] if end else mark["subject"]).strip()
    topic = lower_first(_AMOUNT_TAIL.sub("", _AMOUNT_HEAD.sub("", subject)).strip())
    if not topic:
        return [query]
    texts = sentences("plan", language)
    basis = texts["pay_basis" if _PAY.search(subject) else "other_basis"]
    calculate = texts["calculate"].format(subject=lower_first(subject), basis=basis)
    return [texts["find_policy"].format(topic=topic), calculate]
