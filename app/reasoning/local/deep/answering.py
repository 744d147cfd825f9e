"""An answer with its working, in the form that was asked for; or why there is none."""

from collections.abc import Sequence
from datetime import date
from fractions import Fraction

from app.domain.deep import Observation, Working
from app.domain.knowledge import Finding, Language
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.formats import amount_told, bare_number, joined, written_day
from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.phrases import BECAUSE, CAPPED, GIVEN, MISSING, NO_RULE, ROUNDED_UP, RULE, SENTENCE
from app.reasoning.local.deep.solving import confidence_of

_OWN_SURE = 0.93
_UNCHECKED = 0.6
_MOST_QUOTES = 4
_MAX_QUOTE_CHARS = 300


def answered(
    inquiry: Inquiry,
    way: Derivation,
    findings: Sequence[Finding],
    observations: Sequence[Observation],
    *,
    made: Observation | None = None,
    is_checked: bool = True,
) -> Working:
    """The answer of a way that was gone to its end."""
    day = _day(made.value if made else "") if way.unit == "date" or way.tool.startswith("date.") else None
    if way.unit == "date" and day is None:
        return unsolved(NO_RULE[inquiry.language], findings, observations)
    value = way.result
    if value is not None and way.round_up:
        value = rounded_up(value, way.round_up)
    short = _short(inquiry, way, value, day)
    told = _told(inquiry, way, value, day)
    steps = tuple(_steps(inquiry, way, value, told, made))
    sure = _OWN_SURE if way.route == "own" else confidence_of(way)
    return Working(
        answer=short,
        text=_sentence(inquiry.language, told, steps, way),
        solved=bool(short),
        steps=steps,
        confidence=sure if is_checked else min(sure, _UNCHECKED),
        findings=_resting_on(way, findings),
        observations=tuple(observations),
    )


def unsolved(
    why: str,
    findings: Sequence[Finding],
    observations: Sequence[Observation],
    *,
    missing: Sequence[str] = (),
    language: Language = "vi",
) -> Working:
    """Why there is no answer."""
    text = MISSING[language].format(missing=", ".join(missing)) if missing else why
    return Working(
        answer="", text=text, solved=False, findings=tuple(findings)[:_MOST_QUOTES], observations=tuple(observations)
    )


def rounded_up(value: Fraction, step: Fraction) -> Fraction:
    """The next multiple of a step."""
    count = value / step
    return -(-count.numerator // count.denominator) * step


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None


def _short(inquiry: Inquiry, way: Derivation, value: Fraction | None, day: date | None) -> str:
    """The bare answer."""
    if way.label:
        as_day = _day(way.label) if len(way.label) == 10 else None
        if as_day and inquiry.wanted == "date":
            return written_day(as_day, inquiry.form, inquiry.language)
        return (
            way.label
            if not inquiry.form.is_list
            else joined([part.strip() for part in way.label.split(",")], inquiry.form)
        )
    if day is not None:
        return written_day(day, inquiry.form, inquiry.language)
    if value is None:
        return ""
    return bare_number(value, inquiry.form, way.unit)


def _told(inquiry: Inquiry, way: Derivation, value: Fraction | None, day: date | None) -> str:
    """The answer with its unit, for people."""
    if way.label or day is not None or value is None:
        return _short(inquiry, way, value, day)
    if inquiry.form.words and not inquiry.form.with_unit:
        return bare_number(value, inquiry.form, way.unit)
    unit = way.unit if way.unit != "money" else ("VND" if inquiry.language == "vi" else "")
    return amount_told(value, unit, inquiry.language, noun=way.noun)


def _steps(inquiry: Inquiry, way: Derivation, value: Fraction | None, told: str, made: Observation | None) -> list[str]:
    language = inquiry.language
    lines = []
    if way.given:
        lines.append(GIVEN[language].format(given="; ".join(dict.fromkeys(one.text for one in way.given))))
    lines += [
        RULE[language].format(title=piece.passage.title, text=piece.unit.text[:_MAX_QUOTE_CHARS])
        for piece in way.quoted
    ]
    if way.expression:
        shown = way.expression.replace(" * ", " × ")
        result = (
            amount_told(way.value, way.unit if way.unit != "date" else "", language) if way.value is not None else told
        )
        lines.append(f"{shown} = {result}")
    elif made is not None and made.text:
        lines.append(made.text.strip().partition("\n")[0][:_MAX_QUOTE_CHARS])
    if way.cap is not None and way.value is not None and way.value > way.cap:
        cap = amount_told(way.cap, way.unit, language)
        lines.append(CAPPED[language].format(value=amount_told(way.value, way.unit, language), cap=cap))
    if way.round_up and value is not None and value != way.result:
        lines.append(ROUNDED_UP[language].format(value=amount_told(value, way.unit, language)))
    return lines


def _sentence(language: Language, told: str, steps: Sequence[str], way: Derivation) -> str:
    working = next((line for line in reversed(steps) if "=" in line), "")
    parts = [SENTENCE[language].format(answer=told.rstrip("."))]
    if working and way.expression:
        parts.append(BECAUSE[language].format(working=working))
    return " ".join(parts)


def _resting_on(way: Derivation, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings whose passages the way uses; their quotes cut down to what it rests on."""
    chunks = {piece.passage.chunk_id for piece in way.quoted}
    used = [
        one for one in findings if any(quote.passage.chunk_id in chunks for quote in (*one.quotes, *one.counterparts))
    ]
    return tuple(dict.fromkeys(used))[:_MOST_QUOTES]
