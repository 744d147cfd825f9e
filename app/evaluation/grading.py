"""The grade of an answer, which of its sentences do not belong into it, and which superseded values it tells."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from app.evaluation.fact import MARKUP, Alternatives, missing_facts, without_words
from app.evaluation.observed import Observation
from app.evaluation.question import Expected
from app.text.language import guess_language, words

Grade = Literal[
    "right", "partly", "wrong_answered", "wrong_hedged", "wrongly_refused", "rightly_refused", "failed"
]  # fmt: skip
GIVEN = frozenset({"answered", "partial", "conflict"})
"""Outcomes that tell something as an answer."""
BELONGS = 0.5
"""The overlap with a passage from which on a sentence belongs."""
_RUN = 3
"""Words in a row that count as common; shorter runs stand in any two sentences of one company."""
_HEADING = re.compile(r"^(\*\*|__)[^*_]+\1$|^#+ ")
_SOURCE = re.compile(r"^(?:Theo|According to) (?:[“\"][^”\"]*[”\"](?:, | và | and )?)+:\s*")
_NOTE = re.compile(r"(?:^|(?<=[.!?…;”)] ))(?:Lưu ý|Note): ?", re.IGNORECASE)
_ABOUT_THE_SEARCH = re.compile(
    r"^(?:Chưa tìm thấy|Not found in|Agent .{1,80} chưa trả lời|The .{1,80} agent could not answer)"
)
_GREETING = re.compile(r"^(?:xin chào|chào|dạ|kính gửi|hello|hi|dear)\b", re.IGNORECASE)
_ITEM = re.compile(r"^(?:[-*•–>]|\d{1,2}[.)])\s+")
_ENDS = re.compile(r"(?<=[.!?…])[”\")]?\s+(?=[“\"(]?[^\W_])")


class Parts(NamedTuple):
    """An answer taken apart."""

    sentences: tuple[str, ...]
    """Those that tell something; list items and table rows are sentences."""
    notes: str
    """What stands in parts that begin with “Lưu ý:” or “Note:”, up to the next empty line."""


def split_answer(answer: str) -> Parts:
    """Split an answer into sentences and notes.

    Left out are headings (“Theo “…”:”, a line in bold, a line that ends in a colon, the first row of a table),
    greetings, what is said about the search, and a bare yes or no.
    """
    sentences: list[str] = []
    notes: list[str] = []
    is_note = False
    lines = [line.strip() for line in answer.split("\n")]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not line:
            is_note = False
        if is_note:
            notes.append(line)
            continue
        body, *noted = _NOTE.split(line, maxsplit=1)
        notes += noted
        is_note = bool(noted)
        is_table_head = line.startswith("|") and re.fullmatch(r"[|\s:-]+", following)
        if body and not is_table_head and not _HEADING.match(body):
            sentences += _sentences(body)
    return Parts(tuple(sentences), "\n".join(notes))


def _sentences(line: str) -> Iterator[str]:
    text = _ITEM.sub("", MARKUP.sub("", line))
    text = _SOURCE.sub("", text).strip()
    if text.endswith(":") or _ABOUT_THE_SEARCH.match(text):
        return
    for sentence in _ENDS.split(text):
        found = words(sentence)
        has_figure = any(character.isdigit() for character in sentence)
        is_greeting = _GREETING.match(sentence) and len(found) <= 6 and not has_figure
        if (len(found) >= 3 or has_figure) and not is_greeting:
            yield sentence


def overlap(sentence: str, passage: str) -> float:
    """Measure how far one text is a piece of the other: words in common runs, in order, ÷ words of the shorter, 0–1.

    A run has three words or more, or is the whole shorter text. So a quotation of half a passage has 1, a table row
    told with its column names most of it, and two sentences that share only subject and phrases little.
    """
    one, other = words(sentence), words(passage)
    shorter = min(len(one), len(other))
    if not shorter:
        return 0.0
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size >= min(_RUN, shorter)) / shorter


def extra_sentences(parts: Parts, expected: Expected, language: str) -> list[str]:
    """List the sentences that overlap no passage of `belongs` and hold no fact.

    A sentence in the asker's `language` is let pass where no passage is in it: it may be a translation.
    """
    is_translated = all(guess_language(passage) != language for passage in expected.belongs)
    return [
        sentence
        for sentence in parts.sentences
        if len(missing_facts(sentence, expected.facts)) == len(expected.facts)
        and all(overlap(sentence, passage) < BELONGS for passage in expected.belongs)
        and not (is_translated and guess_language(sentence) == language)
    ]


def stale_told(parts: Parts, outcome: str, expected: Expected) -> list[Alternatives]:
    """List the superseded values that a sentence tells as current.

    A value is let pass where the outcome is `conflict`, where a note names it, where the sentence quotes a passage
    that belongs and names it (“14 instead of 12 days”), and where it is only a part of a fact.
    """
    if outcome == "conflict":
        return []
    return [
        value
        for value in expected.stale
        if missing_facts(parts.notes, [value]) and any(_tells(one, value, expected) for one in parts.sentences)
    ]


def _tells(sentence: str, value: Alternatives, expected: Expected) -> bool:
    spellings = [fact.text for group in expected.facts for fact in group.any_of if fact.text]
    if missing_facts(without_words(sentence, spellings), [value]):
        return False
    return not any(
        overlap(sentence, passage) >= BELONGS and not missing_facts(passage, [value]) for passage in expected.belongs
    )


def grade_of(
    expected: Expected, observation: Observation, missing: int, *, is_stale: bool, cites: bool
) -> Grade | None:
    """Grade an answer that lacks `missing` facts and days; None where no outcome, fact or source is expected.

    `cites` tells whether every expected document is cited; it counts only where no fact is expected.
    """
    first = expected.outcome[0] if expected.outcome else None
    parts = len(expected.facts) + len(expected.dates)
    if first is None and not parts and not expected.evidence:
        return None
    outcome = observation.outcome
    if observation.error or outcome == "failed":
        return "failed"
    fits = not expected.outcome or outcome in expected.outcome
    if first is not None and first not in GIVEN:
        if fits:
            return "rightly_refused"
        return "wrong_answered" if outcome == "answered" else "wrong_hedged"
    if outcome not in GIVEN:
        return "wrongly_refused"
    if not parts and expected.evidence:
        parts, missing = 1, int(not cites)
    if parts and missing == parts:
        return "wrong_answered" if outcome == "answered" else "wrong_hedged"
    return "partly" if missing or is_stale or not fits else "right"
