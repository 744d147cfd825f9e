"""The planner: what has to be found out, one piece of information a step, and what to do with it."""

import re
from collections.abc import Iterator, Sequence

from app.domain.deep import DeepPlan
from app.domain.plan import FILES_TOOL, RAG_TOOL
from app.reasoning.deep import DecomposeRequest, ToolOffer
from app.reasoning.local.deep.days import days_in
from app.reasoning.local.deep.inquiry import Inquiry, read_inquiry, subject_terms
from app.reasoning.local.deep.lookups import sides_of
from app.reasoning.local.deep.own_sums import own_solution
from app.reasoning.local.deep.phrases import ASKING, BY_SENIORITY, FORMULA_OF, HOURLY, LOGIC, PERCENT_OF, RESEARCH_TOPIC
from app.reasoning.local.deep.puzzles import puzzle_of
from app.reasoning.local.deep.quantities import quantities_in
from app.reasoning.local.deep.sayings import Saying, words_of
from app.reasoning.local.terms import Term
from app.reasoning.local.wording import Part

RULES_NAMED = Saying(
    "theo (?:quy định|chính sách|quy chế|nội quy|hướng dẫn|thông báo)",
    "quy định",
    "chính sách",
    "quy chế",
    "policy",
    "policies",
    "rules?",
    "according to (?:the )?(?:policy|rules?|handbook)",
    "công ty",
    "acme",
    "globex",
    "company",
)
_ONLY_FILE = Saying(
    "trong (?:tệp|file|bảng)",
    "(?:tệp|file|bảng|danh sách) (?:\\w+ ){0,4}(?:đính kèm|kèm theo)",
    "attached",
    "in the (?:file|table|list)",
)
_LEAVE = Saying("phép", "nghỉ phép", "leave", "holiday entitlement", "vacation")
_PAY = Saying("lương", "salary", "earns?", "tiền", "pay", "paid", "£")
_MOST_TERMS = 7
_SPLIT = re.compile(r"(?<=[.?!])\s+|,\s+(?:và|and|còn)\s|;\s+|,\s+(?!\d)|\s(?:và|and)\s", re.IGNORECASE)
_SELF_CONTAINED = 1.0
_MOST_PARTS = 4
_EMPTY = words_of(
    "how who what when which tiền ngày giờ đồng tổng cộng tổng cộng năm tháng pounds pound vnd total "
    "altogether bao nhiêu tiền days hours amount last first ordinary her his she he my our their tinh "
    "tien ngay gio dong tong cong nam thang the"
)


def decompose(request: DecomposeRequest) -> DeepPlan:
    """The plan of a question."""
    inquiry = read_inquiry(request.asked, request.today)
    research = _research(inquiry, request) if needs_research(inquiry, request) else ()
    return DeepPlan(
        question=request.asked.question.strip() or "?",
        research=tuple(research)[: request.max_research_steps],
        logic=tuple(_logic(inquiry, research)),
        answer_format=inquiry.form.words,
    )


def needs_research(inquiry: Inquiry, request: DecomposeRequest) -> bool:
    """Whether anything has to be found out: not where the question says all, or a table of its own does."""
    if not _can_research(request.researcher) or is_self_contained(inquiry):
        return False
    return not inquiry.files or _names_rules(inquiry.text)


def is_self_contained(inquiry: Inquiry) -> bool:
    """Whether the question can be worked out of itself."""
    return puzzle_of(inquiry) is not None or own_solution(inquiry) is not None


def _names_rules(text: str) -> bool:
    """Whether rules are named beside a file, not only the file itself."""
    return _ONLY_FILE.sub(" ", text) in RULES_NAMED


def _can_research(tools: Sequence[ToolOffer]) -> bool:
    return any(tool.name != FILES_TOOL for tool in tools)


def _research(inquiry: Inquiry, request: DecomposeRequest) -> list[str]:
    steps = list(_requests(inquiry))
    if request.feedback and request.previous:
        steps = [*request.previous.research, *[step for step in steps if step not in request.previous.research]]
    has_documents = any(tool.name == RAG_TOOL for tool in request.researcher)
    return _distinct(steps) if has_documents else _distinct(steps)[:1]


def _requests(inquiry: Inquiry) -> Iterator[str]:
    """The question itself, then each of its parts that is a matter of its own, then formulas it will need."""
    text = inquiry.text
    yield text
    yield from _parts(inquiry)
    has_salary = any(q.kind == "money" for q in inquiry.quantities) and text in _PAY
    if inquiry.wanted == "money" and has_salary and inquiry.of_kind("hour", "day", "week", "year", "minute"):
        hours = inquiry.of_kind("hour", "minute")
        if hours:
            yield HOURLY[inquiry.language]
        for one in hours[:2]:
            yield PERCENT_OF[inquiry.language].format(
                topic=_capital(" ".join(one.around.replace(one.text, " ").split()).rstrip(" từ"))
            )
        if not hours:
            yield FORMULA_OF[inquiry.language].format(topic=asked_topic(inquiry))
    if text in _LEAVE and inquiry.of_kind("year", "month") and inquiry.wanted in ("money", "day"):
        yield BY_SENIORITY[inquiry.language]


def _parts(inquiry: Inquiry) -> Iterator[str]:
    """Each thing that is set side by side or counted on its own, as a request of its own."""
    if inquiry.operation == "difference" and (sides := sides_of(inquiry)):
        yield from (request_for(inquiry, side) for side in sides)
        return
    pieces = [piece for piece in _SPLIT.split(inquiry.text) if piece and Part.of(piece).weight >= _SELF_CONTAINED]
    telling = [piece for piece in pieces if len(_subjects(inquiry, piece)) > 1]
    if len(pieces) < 2:
        return
    for piece in telling[:_MOST_PARTS]:
        yield request_for(inquiry, piece)


def _subjects(inquiry: Inquiry, part: str) -> list[Term]:
    """What a part names that can be searched for: no units, no names of people, no asking words."""
    terms = subject_terms(
        part,
        quantities_in(part, inquiry.language, inquiry.today),
        days_in(part, inquiry.today),
        is_bare=inquiry.is_bare,
        in_days=False,
    )
    return [
        term for term in telling_terms(terms) if term.text not in _EMPTY and not (term.is_name and not term.concepts)
    ]


def request_for(inquiry: Inquiry, part: str) -> str:
    """A part of a question as a request that stands alone."""
    said = " ".join(term.text for term in _subjects(inquiry, part)) or part.strip(" ?.")
    return asked_about(inquiry, said)


def asked_about(inquiry: Inquiry, topic: str) -> str:
    """A topic with the asking words of the kind of figure that is wanted."""
    asking = ASKING[inquiry.language]
    words = asking["who"] if inquiry.kind == "who" else asking.get(inquiry.wanted, asking[""])
    return _capital(RESEARCH_TOPIC[inquiry.language].format(topic=topic, asking=words))


def asked_topic(inquiry: Inquiry) -> str:
    """What the sentence that asks is about."""
    parts = re.split(r"(?<=[.?!])\s+", inquiry.text)
    asking = next((part for part in reversed(parts) if "?" in part), parts[-1])
    said = " ".join(term.text for term in _subjects(inquiry, asking))
    return said or topic_of(inquiry)


def topic_of(inquiry: Inquiry) -> str:
    """What a question is about, in its own words and order; the heaviest terms."""
    return " ".join(term.text for term in _subjects(inquiry, inquiry.text)) or inquiry.text


def telling_terms(terms: Sequence[Term]) -> list[Term]:
    """The terms that say most, in order."""
    most = sorted(terms, key=lambda term: -term.weight)[:_MOST_TERMS]
    return [term for term in terms if term in most and term.weight > 0.16 and term.text not in _EMPTY]


def _distinct(steps: Sequence[str]) -> list[str]:
    found: dict[str, str] = {}
    for step in steps:
        found.setdefault(" ".join(sorted(set(step.lower().strip(" ?.").split()))), step)
    return list(found.values())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _logic(inquiry: Inquiry, research: Sequence[str]) -> Iterator[str]:
    said = LOGIC[inquiry.language]
    given = ", ".join(q.text for q in inquiry.quantities)
    if given:
        yield said["given"].format(given=given)
    if inquiry.files:
        yield said["file"].format(files=", ".join(inquiry.files))
    if research:
        yield said["rule"]
    elif not inquiry.files:
        yield said["puzzle"]
    yield said.get(
        inquiry.operation if inquiry.operation in ("difference", "total") else inquiry.wanted, said["compute"]
    )
    if inquiry.form.words:
        yield said["form"].format(form=inquiry.form.words)
