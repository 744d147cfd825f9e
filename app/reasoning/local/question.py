"""What kind of answer a question wants: a number of something, a time, a person, steps, a list, yes or no."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

from app.domain.knowledge import Language
from app.reasoning.local.cues import alternatives, cue
from app.reasoning.local.numbers import amounts_in
from app.reasoning.local.sentences import Unit
from app.reasoning.local.terms import Bag, Term, bag_of, terms_of
from app.text.language import guess_language, is_unaccented_vietnamese, normalise, words

Kind = Literal[
    "compare", "formula", "quantity", "when", "who", "where", "how_to", "consequence", "list", "yes_no", "definition",
    "why", "open",
]  # fmt: skip
Measure = Literal["duration", "money", "percent", "clock", "date", "times", "count", "phone"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with everything the answer is measured against."""

    text: str
    language: Language
    folded: bool
    """Typed in Vietnamese without diacritics: compare folded text only."""
    kind: Kind
    measures: frozenset[Measure]
    """What kinds of figure would answer it; empty when none is asked for."""
    terms: tuple[Term, ...]
    bag: Bag


_KINDS: tuple[tuple[Kind, str], ...] = (
    ("compare", "compare"), ("formula", "formula"), ("list", "enumeration"), ("how_to", "how_to"),
    ("consequence", "consequence"), ("quantity", "quantity"), ("when", "when"), ("who", "who"), ("where", "where"),
    ("why", "why"), ("list", "list"), ("yes_no", "yes_no"), ("definition", "definition"),
)  # fmt: skip
"""Kinds by the sections of cues that name them, in the order they are tried."""
_CUES = tuple((kind, cue(f"question.{section}")) for kind, section in _KINDS)
_MEASURES: tuple[Measure, ...] = ("percent", "money", "clock", "times", "duration", "date", "count")
_MEASURE_CUES = tuple((measure, cue(f"measure.{measure}")) for measure in _MEASURES)
_ASKING, _PHONE_ASKED, _FIGURE_ASKED = cue("question.asking"), cue("question.phone"), cue("question.figure")
_ACRONYM = re.compile(r"\bAI\b")
_SCENE, _FIGURE = 0.35, 0.15


@lru_cache(maxsize=1024)
def read_question(text: str, language: Language | None = None) -> Question:
    """Read a question; `language` overrides the guess."""
    spelt = normalise(text)
    folded = is_unaccented_vietnamese(spelt)
    asked = _without_acronyms(_asked_part(spelt))
    kind = _kind_of(asked, folded)
    return Question(
        text=spelt,
        language=language or guess_language(spelt),
        folded=folded,
        kind=kind,
        measures=_measures_of(asked, folded) if kind in ("quantity", "when", "who", "where") else frozenset(),
        terms=_framed_terms(spelt, folded),
        bag=bag_of(spelt, folded),
    )


def _without_acronyms(text: str) -> str:
    """The text with acronyms that look like asking words taken out of their way: AI is not “ai” (who)."""
    return text if text.isupper() else _ACRONYM.sub("•", text)


def _asked_part(text: str) -> str:
    """What stands after “scene: ”; the whole text when there is no scene."""
    frame, colon, rest = text.partition(": ")
    return rest if colon and rest and not asks(frame) else text


def _framed_terms(text: str, folded: bool) -> tuple[Term, ...]:
    """The terms; what stands before a colon only sets the scene and weighs less."""
    rest = _asked_part(text)
    asked = terms_of(rest, folded)
    known = {term.stems for term in asked}
    scene = (term for term in terms_of(text.removesuffix(rest), folded) if term.stems not in known)
    told = _without_amounts(text, _without_asked_figure(rest, folded, asked))
    return (*(replace(term, weight=term.weight * _SCENE) for term in scene), *told)


def _without_asked_figure(text: str, folded: bool, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """“What share”, “giá trị nào” ask for a figure: the figure answers, whether or not its name stands beside it."""
    named = {word for asked in _FIGURE_ASKED[folded].findall(text) for word in words(asked)}
    return tuple(replace(t, weight=min(t.weight, _FIGURE)) if set(words(t.text)) <= named else t for t in terms)


def _without_amounts(text: str, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Figures of amounts (“7 năm”, “£8,000”) hardly count as words: ranges and equal amounts are compared instead."""
    stated = {digits for amount in amounts_in(text) if amount.unit for digits in words(amount.text) if digits.isdigit()}
    return tuple(replace(term, weight=_FIGURE, is_name=False) if set(term.stems) <= stated else term for term in terms)


def asks(text: str) -> bool:
    """Whether the text holds any asking word or a question mark."""
    spelt = normalise(text)
    folded = is_unaccented_vietnamese(spelt)
    return (
        "?" in spelt
        or bool(_ASKING[folded].search(spelt))
        or any(pattern[folded].search(spelt) for _, pattern in _CUES)
    )


def _kind_of(text: str, folded: bool) -> Kind:
    return next((kind for kind, pattern in _CUES if pattern[folded].search(text)), "open")


def _measures_of(text: str, folded: bool) -> frozenset[Measure]:
    if _PHONE_ASKED[folded].search(text):
        return frozenset({"phone"})
    found = [measure for measure, pattern in _MEASURE_CUES if pattern[folded].search(text)]
    # “bao nhiêu” alone counts anything; a named measure says more.
    return frozenset(found) if found == ["count"] else frozenset(found) - {"count"}


_FIGURES = {measure: re.compile(alternatives(f"figure.{measure}"), re.IGNORECASE) for measure in get_args(Measure)}
_NAMED = {
    kind: re.compile(alternatives(f"question.{section}"), re.IGNORECASE)
    for kind, section in (("who", "person"), ("where", "place"), ("why", "reason"))
}
_FORMULAS = (
    (1.0, re.compile(r"[^\W\d]{2}[^=\n]*=[^=\n]*[^\W\d]{2}[^=\n]*[/×*÷+][^=\n]*\w", re.IGNORECASE)),
    (0.5, re.compile(r"\d[^=\n]{0,40}[/×*÷][^=\n]{0,40}=\s*[£$€]?\d", re.IGNORECASE)),
    (0.2, re.compile(r"công thức|formula|nhân với|chia cho|multipl|divid", re.IGNORECASE)),
)
"""A formula in words, a worked example, a mention; with what each is worth."""
_STEP_OF_CALCULATION = 0.3
_NONE = re.compile(alternatives("question.none"), re.IGNORECASE)
"""“Nobody gets any” answers “how many” too."""
_SANCTION = re.compile(alternatives("shapes.sanction"), re.IGNORECASE)
_VERDICT = re.compile(r"^(?:có|không|được|yes|no|only|chỉ)\b[,.: ]", re.IGNORECASE)
_ENUMERATION = re.compile(r":[^:,]+,[^,]+(?:,| và | and )|,[^,]+,[^,]+ (?:và|and) ")


def fits(question: Question, unit: Unit) -> float:
    """How well the shape of a piece answers the question's kind: 1 it does, 0 nothing to say, -1 it cannot."""
    if question.measures:
        return _fits_measures(question, unit.text)
    match question.kind:
        case "who" | "where" | "why":
            return 1.0 if _NAMED[question.kind].search(unit.text) else -0.5
        case "consequence":
            return 1.0 if _SANCTION.search(unit.text) else 0.0
        case "formula":
            worth = next((worth for worth, pattern in _FORMULAS if pattern.search(unit.text)), -1.0)
            return worth + _STEP_OF_CALCULATION if unit.kind == "step" and worth > 0 else worth
        case "how_to":
            return 0.6 if unit.kind == "step" else 0.0
        case "list":
            return 0.6 if unit.kind != "sentence" or _ENUMERATION.search(unit.text) else -0.3
        case "yes_no":
            return 1.0 if _VERDICT.match(unit.text) else 0.0
        case _:
            return 0.0


def _fits_measures(question: Question, text: str) -> float:
    if any(_FIGURES[measure].search(text) for measure in question.measures):
        return 1.0
    if _NONE.search(text):
        return 0.0
    return -1.0 if question.kind == "quantity" else -0.5
