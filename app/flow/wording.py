"""The few sentences the flow itself says, in both languages."""

from datetime import date

from app.domain.knowledge import Language, Passage

_FACTOR_REASONS: dict[Language, dict[str, str]] = {
    "vi": {
        "domain": "thuộc đúng bộ phận chuyên trách ({department})",
        "scope": "là nguồn nội bộ hẹp hơn (phạm vi {scope})",
        "recency": "được cập nhật gần đây hơn (hiệu lực từ {since})",
        "relevance": "sát câu hỏi hơn",
    },
    "en": {
        "domain": "it comes from the responsible department ({department})",
        "scope": "it is the more specific internal source (scope {scope})",
        "recency": "it is more recent (in force since {since})",
        "relevance": "it is closer to the question",
    },
}
_EVEN: dict[Language, str] = {
    "vi": "hai nguồn có trọng số gần như nhau",
    "en": "both sources weigh nearly the same",
}
_TOLD_DIFFERENCE = 0.05
"""A factor is named as a reason when it differs at least this much."""


def reason_for(winner: dict[str, float], loser: dict[str, float], passage: Passage, language: Language) -> str:
    """Why one source beat the other: the factors in which it leads, the largest lead first."""
    leads = sorted(((winner[name] - loser[name], name) for name in winner), reverse=True)
    since = passage.effective_from or passage.created_at.date()
    told = [
        _FACTOR_REASONS[language][name].format(department=passage.department, scope=passage.scope, since=since)
        for lead, name in leads
        if lead >= _TOLD_DIFFERENCE
    ]
    return ", ".join(told) or _EVEN[language]


def as_of_lead(day: date, language: Language) -> str:
    """The line above an answer from the documents of another day."""
    if language == "vi":
        return f"Theo các tài liệu có hiệu lực ngày {day:%d/%m/%Y}:"
    return f"According to the documents in force on {day.day} {day:%B %Y}:"


def failure_message(agent: str, tool: str) -> str:
    """The seed's error sentence (§6)."""
    return f"{agent.upper() if len(agent) <= 2 else agent.capitalize()} agent failed to execute {tool}"


DEADLINE_MESSAGE = "The run did not end within its deadline"
