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
from app.reasoning.local.cues import alternatives
from app.reasoning.local.wording import lower_first
from app.text.language import normalise

TAKEN_FROM: dict[Language, str] = {"vi": "Trích từ {titles}.", "en": "Taken from {titles}."}
NOTHING_FROM: dict[Language, str] = {
    "vi": "Không có tài liệu nào trong phạm vi được xem trả lời câu hỏi này.",
    "en": "No document within reach answers this question.",
}
ACCORDING_TO: dict[Language, str] = {"vi": "Theo {titles}:", "en": "According to {titles}:"}
_AND: dict[Language, str] = {"vi": " và ", "en": " and "}
_OR: dict[Language, str] = {"vi": " hoặc ", "en": " or "}


def quoted(title: str) -> str:
    """A document title in quotation marks."""
    return f"“{title}”"


def listed(items: Sequence[str], language: Language, *, alternative: bool = False) -> str:
    """``a, b và c``; with `alternative` ``a, b hoặc c``."""
    word = (_OR if alternative else _AND)[language]
    return word.join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def titles_of(titles: Sequence[str], language: Language) -> str:
    """Document titles as they stand in a sentence."""
    return listed([quoted(title) for title in titles], language)


COMPOSED: dict[Language, dict[str, str]] = {
    "vi": {
        "according_to": "Theo “{title}”:",
        "computed": "Tính toán: {text}",
        "decided": "Lưu ý: “{loser_title}” nói khác ({loser}); câu trả lời theo “{winner_title}” vì {reason}.",
        "undecided": (
            "Lưu ý: hai tài liệu chưa thống nhất. “{winner_title}”: {winner}. “{loser_title}”: {loser}. "
            "Chưa đủ cơ sở để chọn một bên ({reason}); bạn nên xác nhận với bộ phận ban hành."
        ),
        "missing": "Chưa tìm thấy trong tài liệu bạn được xem: {queries}.",
        "failed": "Agent {agents} chưa trả lời được lúc này nên phần này có thể còn thiếu.",
        "nothing": (
            "Tôi chưa tìm thấy câu trả lời cho “{query}” trong các tài liệu bạn được xem{searched}. "
            "Bạn có thể hỏi trực tiếp bộ phận phụ trách, hoặc nêu rõ hơn tên quy định, đối tượng hay mốc thời gian "
            "để tôi tìm lại."
        ),
        "searched": " (đã tìm ở {agents})",
        "nothing_reason": "Không có đoạn tài liệu nào đủ liên quan để trích dẫn, nên không trả lời phỏng đoán.",
        "preferred": "{preference} Nguồn được theo: “{title}”.",
        "sources": "Câu trả lời trích nguyên văn từ {titles}, là nguồn sát câu hỏi nhất trong các tài liệu được xem.",
        "computed_reason": "Kết quả được tính trực tiếp từ các số liệu trong câu hỏi.",
    },
    "en": {
        "according_to": "According to “{title}”:",
        "computed": "Calculation: {text}",
        "decided": (
            "Note: “{loser_title}” says otherwise ({loser}); the answer follows “{winner_title}” because {reason}."
        ),
        "undecided": (
            "Note: two documents disagree. “{winner_title}”: {winner}. “{loser_title}”: {loser}. "
            "Neither clearly prevails ({reason}); please confirm with the department that issued them."
        ),
        "missing": "Not found in the documents you may read: {queries}.",
        "failed": "The {agents} agent could not answer right now, so this part may be incomplete.",
        "nothing": (
            "I did not find an answer to “{query}” in the documents you may read{searched}. "
            "You can ask the responsible department, or name the rule, the people or the date more exactly "
            "so that I can look again."
        ),
        "searched": " (searched: {agents})",
        "nothing_reason": "No passage bears closely enough on the question to be quoted, and nothing is guessed.",
        "preferred": "{preference} Followed: “{title}”.",
        "sources": "The answer quotes {titles}, the sources closest to the question among the documents you may read.",
        "computed_reason": "The result was computed directly from the figures in the question.",
    },
}  # fmt: skip
"""The sentences of a final answer; {…} are filled in."""


_TEXTS: dict[Language, dict[str, str]] = {
    "vi": {
        "search": "Truy vấn tài liệu {agent}: {query}",
        "gather": "Tìm kiếm và thu thập thông tin về {topic} từ cơ sở dữ liệu công ty",
        "gather_message": "Tìm kiếm {topic} và các quy định liên quan",
        "changes": "So sánh các bản của tài liệu {agent}: {query}",
        "log": "Tra cứu nhật ký hệ thống: {query}",
        "files": "Đọc tệp đính kèm: {query}",
        "web": "Đọc trang web: {query}",
        "other": "{agent} dùng {tool}: {query}",
        "summary": "Tóm tắt các kết quả {agent} đã tìm được",
        "digest": "Phân tích và tóm tắt các quy định đã tìm được để hiểu rõ quyền lợi và điều kiện",
        "digest_message": "Tóm tắt các điểm quan trọng của {topic}",
        "math": "Tính toán theo công thức và số liệu đã tìm được",
        "math_message": "{query}",
        "merge": "Tổng hợp kết quả và trả lời: {query}",
        "one": "Chọn kết quả có độ tin cậy cao nhất và thông tin đầy đủ nhất",
        "many": "So sánh kết quả giữa các agent; ưu tiên {experts} về quy định chuyên môn, rồi đến nguồn mới hơn",
    },
    "en": {
        "search": "Search the {agent} documents: {query}",
        "gather": "Search the company's documents and gather what they say about {topic}",
        "gather_message": "Find {topic} and the rules that go with it",
        "changes": "Compare versions of the {agent} documents: {query}",
        "log": "Look through the system logs: {query}",
        "files": "Read the attached file: {query}",
        "web": "Read on the web: {query}",
        "other": "{agent} uses {tool}: {query}",
        "summary": "Summarise what {agent} found",
        "digest": "Analyse and summarise the rules found, with their conditions",
        "digest_message": "Summarise the main points of {topic}",
        "math": "Calculate with the formula and figures found",
        "math_message": "{query}",
        "merge": "Put the results together and answer: {query}",
        "one": "Take the result with the highest confidence and the most complete information",
        "many": "Compare the agents' results; prefer {experts} on rules of their own field, then the newer source",
    },
}  # fmt: skip
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
        self._texts = _TEXTS[language]

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
_CALCULATION_FIND: dict[Language, str] = {
    "vi": "Tìm chính sách {topic} của công ty",
    "en": "Find the company policy on {topic}",
}
_CALCULATE: dict[Language, str] = {
    "vi": "Tính toán {subject} dựa trên {basis}",
    "en": "Calculate {subject} from {basis}",
}
_PAY_BASIS: dict[Language, str] = {"vi": "lương cơ bản", "en": "the basic salary"}
_OTHER_BASIS: dict[Language, str] = {"vi": "công thức trong tài liệu", "en": "the formula in the documents"}


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
    basis = (_PAY_BASIS if _PAY.search(subject) else _OTHER_BASIS)[language]
    return [
        _CALCULATION_FIND[language].format(topic=topic),
        _CALCULATE[language].format(subject=lower_first(subject), basis=basis),
    ]
