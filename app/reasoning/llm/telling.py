"""What models are told: the variable part of each prompt, as JSON, so that no text can pretend to be a heading of ours.

Data of documents reaches only calls that choose nothing: answering, arguments, claims, composing.
"""

import json
from collections.abc import Sequence
from typing import Any

from app.domain.knowledge import Finding, Language, Quote
from app.domain.tasks import Message
from app.reasoning import AgentOffer, AnswerRequest, ComposeRequest
from app.reasoning.sentences import sentence

_EARLIER_QUESTIONS = 4
_EARLIER_CHARS = 500
_PASSAGE_CHARS = 1_600
_AROUND_CHARS = 900
"""Of the passage a quote stands in; its middle is the quote."""
_EXEMPLARS = 3


def line(**fields: Any) -> str:
    """One object on one line."""
    return json.dumps(fields, ensure_ascii=False)


def offers(agents: Sequence[AgentOffer], language: Language) -> str:
    """The agents on offer; the same for everybody with the same rights."""
    lines = [
        line(agent=one.name, about=one.description, tools=list(one.tools), examples=list(one.exemplars[:_EXEMPLARS]))
        for one in agents
    ]
    return "\n".join([sentence("agents", language), *lines])


def question(query: str, history: Sequence[Message], feedback: str = "") -> str:
    """The question with the asker's own earlier ones. Earlier answers stay out: they hold text of documents, and this
    call chooses tools."""
    recalled = [message for message in history if message.role == "user" and message.is_recalled]
    last = [message for message in history if message.role == "user" and not message.is_recalled]
    asked = [message.content[:_EARLIER_CHARS] for message in (*recalled, *last[-_EARLIER_QUESTIONS:])]
    told: dict[str, Any] = {"earlier_questions": asked} if asked else {}
    if feedback:
        told["previous_plan_was_refused"] = feedback
    return line(**told, question=query)


def passages(request: AnswerRequest) -> str:
    """Passages numbered from 1, then the question."""
    lines = [
        line(n=number, title=one.title, section=one.section, text=one.text[:_PASSAGE_CHARS])
        for number, one in enumerate(request.passages, 1)
    ]
    return "\n".join([*lines, line(question=request.query)])


def findings(query: str, found: Sequence[Finding], **further: str) -> str:
    """Findings numbered from 1, then the question."""
    lines = [
        line(n=number, query=finding.query, answer=finding.answer, quotes=[quote.text for quote in finding.quotes])
        for number, finding in enumerate(found, 1)
    ]
    return "\n".join([*lines, line(question=query, **further)])


def quotes(quoted: Sequence[tuple[str, Quote]]) -> str:
    """Quotes numbered from 1, each with the question it was found for."""
    return "\n".join(
        line(n=number, question=query, title=quote.passage.title, quote=quote.text[:_PASSAGE_CHARS])
        for number, (query, quote) in enumerate(quoted, 1)
    )


def answer_material(request: ComposeRequest) -> str:
    """Sources with their numbers, what each query found, what was computed and weighed, and the question."""
    numbers = {evidence.url: number for number, evidence in enumerate(request.evidence, 1)}
    lines = [*_sources(request, numbers)]
    for finding in request.findings:
        if finding.found:
            cited = sorted({numbers[q.passage.address] for q in finding.quotes if q.passage.address in numbers})
            lines.append(line(finding=finding.answer, query=finding.query, sources=cited))
        else:
            lines.append(line(finding="", query=finding.query))
    lines += [line(computation=text) for text in request.computations]
    lines += [line(could_not=text) for text in request.refusals]
    lines += [
        line(holds=point.winner, title=point.winner_title, against=point.loser, title_against=point.loser_title,
              why=point.reason, decided=point.decided)
        for point in request.conflicts
    ]  # fmt: skip
    if request.failed_agents:
        lines.append(line(agents_without_answer=list(request.failed_agents)))
    return "\n".join([*lines, line(question=request.query)])


def _sources(request: ComposeRequest, numbers: dict[str, int]) -> list[str]:
    """Each quoted passage once, cut around its first quote; only those the answer may cite."""
    lines: dict[str, str] = {}
    for finding in request.findings:
        for quote in finding.quotes:
            passage, key = quote.passage, str(quote.passage.chunk_id)
            number = numbers.get(passage.address)
            if number is None or key in lines:
                continue
            text = around(passage.text, quote.text, _AROUND_CHARS)
            lines[key] = line(n=number, title=passage.title, section=passage.section, text=text)
    return list(lines.values())


def around(text: str, quoted: str, most: int) -> str:
    """A passage cut around what is quoted of it."""
    start = max(text.find(quoted) - max(most - len(quoted), 0) // 2, 0)
    return text[max(min(start, len(text) - most), 0) :][:most]
