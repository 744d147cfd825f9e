"""The researcher: searches, searches once more in other words, and hands on what bears on its task."""

import re
from collections.abc import Sequence

from app.domain.deep import Observation
from app.domain.knowledge import Finding
from app.domain.plan import FILES_TOOL, LOG_TOOL, RAG_TOOL, TRANSCRIPT_TOOL, WEB_TOOL, WIKIPEDIA_TOOL
from app.reasoning.deep import Action, ActRequest, Found, ToolWish
from app.reasoning.local.deep.inquiry import Inquiry, read_inquiry
from app.reasoning.local.deep.phrases import FOUND_NOTHING
from app.reasoning.local.deep.planning import asked_about, telling_terms
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.intents import intents_of
from app.reasoning.local.terms import terms_of

_LOG = Saying("log", "logs", "nhật ký", "lỗi đăng nhập")
_WIKIPEDIA = Saying("wikipedia", "bách khoa")
_VIDEO = re.compile(r"youtu\.?be|video", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://\S+")
_FILE = Saying("tệp", "file", "đính kèm", "attached", "attachment", "bảng kèm theo")
_MOST_QUERIES = 3
_MOST_CHARS = 1_200


def research(request: ActRequest) -> Action:
    """One more search, or what was found."""
    inquiry = read_inquiry(request.asked, request.today)
    query = _next_query(request, inquiry)
    if query is not None and request.calls_left > 0:
        tool = _tool_for(request)
        if tool:
            return ToolWish(tool=tool, query=query, why=request.task)
    return _concluded(request)


def _next_query(request: ActRequest, inquiry: Inquiry) -> str | None:
    """The task as it stands; then its terms alone; after a refusal once more in the question's own terms."""
    asked = [one.query for one in request.observations]
    candidates = [request.task, *([_in_other_words(request, inquiry)] if request.step <= 1 else [])]
    if request.feedback or not any(one.findings for one in request.observations):
        candidates.append(" ".join(term.text for term in telling_terms(inquiry.terms)))
    left = [one for one in candidates if one and one.lower() not in {query.lower() for query in asked}]
    return left[0] if left and len(asked) < _MOST_QUERIES else None


def _in_other_words(request: ActRequest, inquiry: Inquiry) -> str:
    """The task without its amounts, with the asking words of the kind that is wanted."""
    terms = telling_terms(terms_of(request.task, inquiry.is_bare))
    words = [term.text for term in terms if not any(map(str.isdigit, term.text))]
    return asked_about(inquiry, " ".join(words)) if words else ""


def _tool_for(request: ActRequest) -> str:
    """The tool the task names, else the documents."""
    offered = {tool.name for tool in request.tools}
    text = f"{request.task} {request.asked.question}"
    wishes = [
        (TRANSCRIPT_TOOL, bool(_ADDRESS.search(text) and _VIDEO.search(text))),
        (WEB_TOOL, bool(_ADDRESS.search(text))),
        (WIKIPEDIA_TOOL, text in _WIKIPEDIA),
        (LOG_TOOL, "log" in intents_of(request.task) or text in _LOG),
        (FILES_TOOL, bool(request.asked.files) and request.task in _FILE and RAG_TOOL not in offered),
        (RAG_TOOL, True),
        (FILES_TOOL, bool(request.asked.files)),
    ]
    return next((tool for tool, is_meant in wishes if is_meant and tool in offered), "")


def _concluded(request: ActRequest) -> Found:
    findings = [finding for one in request.observations for finding in one.findings]
    kept = [at for at, finding in enumerate(findings) if finding.found]
    text = "\n".join(dict.fromkeys(findings[at].answer for at in kept if findings[at].answer)).strip()
    if not text:
        text = "\n".join(one.text for one in request.observations if one.text and not one.failed)
    is_found = bool(kept) or any(one.value for one in request.observations)
    told = text[:_MOST_CHARS] if is_found else FOUND_NOTHING[request.asked.language].format(task=request.task)
    return Found(text=told, found=is_found, findings=tuple(kept))


def findings_of(observations: Sequence[Observation]) -> tuple[Finding, ...]:
    """Everything that was found."""
    return tuple(finding for one in observations for finding in one.findings if finding.found)
