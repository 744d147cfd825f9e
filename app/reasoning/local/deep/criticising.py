"""The critic: can the plan be carried out, is the research about its task, does the answer stand recomputation."""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from app.domain.deep import Critique, Research, Working
from app.domain.plan import FILES_TOOL, RAG_TOOL
from app.reasoning.deep import CritiqueRequest
from app.reasoning.local.deep.arithmetic import evaluated, operands_of
from app.reasoning.local.deep.carrying_out import expression_in
from app.reasoning.local.deep.formats import bare_number
from app.reasoning.local.deep.inquiry import Inquiry, read_inquiry
from app.reasoning.local.deep.phrases import FEEDBACK
from app.reasoning.local.deep.planning import is_self_contained, telling_terms, topic_of
from app.reasoning.local.number_words import spelt_numbers
from app.reasoning.local.numbers import numbers_of
from app.reasoning.local.terms import bag_of, coverage

_CONVERSIONS = frozenset(map(Fraction, (*range(13), 24, 30, 52, 60, 100, 365, 1000)))
_ON_TOPIC = 0.15
_TRIES = 2
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_MOST_STEPS = 6


def criticise(request: CritiqueRequest) -> Critique:
    """The verdict on one piece of work, with what to do differently."""
    inquiry = read_inquiry(request.asked, date.min)
    if request.research is not None:
        feedback, step = _of_research(request, inquiry, request.research), request.research.step
    elif request.working is not None:
        feedback, step = _of_working(request, inquiry, request.working), 0
    else:
        feedback, step = _of_plan(request, inquiry), 0
    return Critique(of=request.of, approved=not feedback, feedback=feedback, step=step)


def _of_plan(request: CritiqueRequest, inquiry: Inquiry) -> str:
    said = FEEDBACK[inquiry.language]
    offered = {tool.name for tool in request.tools}
    can_research = bool(offered - {FILES_TOOL}) and (
        RAG_TOOL in offered or any(name.endswith("_tool") for name in offered)
    )
    if request.plan.research and offered and not can_research:
        return said["needless"]
    if len(request.plan.research) > _MOST_STEPS:
        return said["too_many"].format(most=_MOST_STEPS)
    if not request.plan.research and RAG_TOOL in offered and not inquiry.files and not is_self_contained(inquiry):
        return said["no_research"].format(topic=topic_of(inquiry) or inquiry.text)
    return ""


def _of_research(request: CritiqueRequest, inquiry: Inquiry, research: Research) -> str:
    """Nothing found is let pass once it was asked for in several ways: the expert says what is missing."""
    said = FEEDBACK[inquiry.language]
    terms = ", ".join(term.text for term in telling_terms(inquiry.terms))
    may_try = len({one.query for one in research.observations}) < _TRIES and bool(terms)
    if not research.found:
        return said["not_found"].format(terms=terms) if may_try else ""
    quotes = [quote for finding in research.findings for quote in finding.quotes]
    if not quotes:
        return ""
    best = max(
        _about(inquiry, f"{quote.passage.title} {quote.passage.section} {quote.passage.text}") for quote in quotes
    )
    return said["off_topic"].format(terms=terms) if best < _ON_TOPIC and may_try else ""


def _about(inquiry: Inquiry, text: str) -> float:
    terms = inquiry.terms
    return coverage(terms, [term.weight for term in terms], bag_of(text, inquiry.is_bare)) if terms else 1.0


def _of_working(request: CritiqueRequest, inquiry: Inquiry, working: Working) -> str:
    """An honest “cannot be worked out” is let pass: asking again finds no further rule."""
    said = FEEDBACK[inquiry.language]
    if not working.solved:
        return ""
    if not working.answer.strip():
        return said["nothing"]
    for expression in [
        one for one in map(expression_in, (o.query for o in working.observations if not o.failed)) if one
    ]:
        wrong = _wrong_sum(expression, inquiry, working, said["wrong_sum"])
        if wrong:
            return wrong
        stray = next(iter(_strays(expression, request, working)), None)
        if stray is not None:
            return said["ungrounded"].format(operand=_shown(stray))
    return _wrong_form(inquiry, working, said["form"])


def _wrong_sum(expression: str, inquiry: Inquiry, working: Working, told: str) -> str:
    """The calculation once more; a cap, a floor or rounding that the working names may change its result."""
    value, number = evaluated(expression), _number_of(working.answer)
    if value is None or number is None or len(working.steps) == 0:
        return ""
    shown = _number_of(bare_number(value, inquiry.form, ""))
    whole = _number_of(bare_number(value, inquiry.form, "VND"))
    is_bounded = any(str(_shown(number)) in re.sub(r"[.,](?=\d{3}\b)", "", line) for line in working.steps[-2:])
    if number in (value, shown, whole) or is_bounded:
        return ""
    return told.format(expression=expression, value=_shown(value), answer=working.answer)


def _strays(expression: str, request: CritiqueRequest, working: Working) -> Iterator[Fraction]:
    """Operands that neither question, quotes nor tools state."""
    texts = [request.asked.question]
    for finding in (*working.findings, *(f for one in request.earlier for f in one.findings)):
        texts += [quote.passage.text for quote in (*finding.quotes, *finding.counterparts)]
    texts += [f"{one.text} {one.value}" for one in working.observations if expression_in(one.query) != expression]
    known = {Fraction(value) for text in texts for language in ("vi", "en") for value in numbers_of(text, language)}
    known |= {
        Fraction(one.written)
        for one in spelt_numbers(request.asked.question, request.asked.language)
        if not one.is_share
    }
    known |= {Fraction(mark.replace(",", ".")) for text in texts for mark in _NUMBER.findall(text)}
    known |= {100 * one for one in known} | {one / 100 for one in known}
    for operand in operands_of(expression):
        if operand not in known and operand not in _CONVERSIONS and request.asked.files == ():
            yield operand


def _wrong_form(inquiry: Inquiry, working: Working, told: str) -> str:
    form = inquiry.form
    if form.is_bare and _number_of(working.answer) is None and inquiry.wanted not in ("date", "text"):
        return told.format(form=form.words)
    if (
        form.day
        and form.day != "written"
        and not re.fullmatch(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}", working.answer.strip())
    ):
        return told.format(form=form.words)
    return ""


def _number_of(text: str) -> Fraction | None:
    try:
        return Fraction(Decimal(text.strip().replace(" ", "")))
    except (InvalidOperation, ValueError, OverflowError):
        return None


def _shown(value: Fraction) -> str:
    return str(int(value)) if value.denominator == 1 else str(float(value))
