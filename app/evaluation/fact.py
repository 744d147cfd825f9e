"""Read what stands in an answer: its sentences and notes, words, amounts, days; and what must not stand there."""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Self

import re2
from pydantic import Field, StringConstraints, model_validator

from app.domain.record import Record
from app.text.amounts import DATE, DAY_OF_YEAR, UNIT_WORDS, amounts_in
from app.text.language import fold, normalise, words

_EITHER_CASE = re2.Options()
_EITHER_CASE.case_sensitive, _EITHER_CASE.log_errors = False, False
_MARKUP = re.compile(r"\*\*|__|`")
"""Marks of bold and code, which no reader sees."""
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


class Fact(Record):
    """One spelling of a fact: exactly one of `text`, `regex`, `number`. A plain string in the file is a `text`."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=2_000)] | None = None
    """Contained as whole words, in either case, in any of the spellings `normalise` makes equal."""
    regex: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    """RE2, in either case, over the normalised answer."""
    number: Decimal | None = None
    """With `unit`: an amount of the answer has this value, however it is written."""
    unit: Annotated[str, StringConstraints(min_length=1, max_length=30)] | None = None
    """In either language: ``ngày``, ``days``, ``VND``, ``%``."""
    tolerance: Decimal = Field(Decimal(0), ge=0)
    """How far the amount may be off, in the same unit."""

    @model_validator(mode="before")
    @classmethod
    def _read_string(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(kind is not None for kind in (self.text, self.regex, self.number)) != 1:
            raise ValueError("a fact is one of text, regex and number")
        if (self.number is None) != (self.unit is None):
            raise ValueError("number and unit belong together")
        if self.unit is not None and unit_named(self.unit) is None:
            raise ValueError(f"there is no unit {self.unit!r}; units are {', '.join(sorted(_UNITS))}")
        if self.regex is not None:
            _compiled(self.regex)
        return self

    @property
    def told(self) -> str:
        """For people."""
        if self.number is not None:
            return f"{self.number:f} {self.unit}"
        return self.text if self.text is not None else f"/{self.regex}/"


class Alternatives(Record):
    """Spellings of one fact, of which one is enough; in the file a fact, or a list of facts."""

    any_of: tuple[Fact, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _read_short_forms(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {"any_of": value}
        return value if isinstance(value, dict) and "any_of" in value else {"any_of": [value]}

    @property
    def told(self) -> str:
        """For people."""
        return " | ".join(fact.told for fact in self.any_of)


_UNITS = frozenset(UNIT_WORDS.values())


def unit_named(word: str) -> str | None:
    """The unit a word stands for in either language (``ngày`` → ``day``); None for none that is compared."""
    if word in _UNITS:
        return word
    first, *_ = [*fold(normalise(word)).lower().split(), ""]
    return UNIT_WORDS.get(first)


def missing_facts(text: str, facts: Iterable[Alternatives]) -> list[Alternatives]:
    """The facts that do not stand in `text`."""
    shown = _readable(text)
    return [fact for fact in facts if not any(_stands(one, shown) for one in fact.any_of)]


def missing_dates(text: str, days: Iterable[date]) -> list[date]:
    """The days `text` does not name; one told without its year counts as named."""
    told = {(amount.unit, int(amount.value)) for amount in amounts_in(_readable(text))}
    return [
        day
        for day in days
        if (DATE, day.year * 10_000 + day.month * 100 + day.day) not in told
        and (DAY_OF_YEAR, day.month * 100 + day.day) not in told
    ]


def contains_words(text: str, words: str) -> bool:
    """Whether `words` stand in `text` as whole words: ``2 ngày`` not in ``12 ngày``, ``1.000`` not in ``1.000.000``."""
    return bool(_whole_words(normalise(words).lower()).search(normalise(text).lower()))


def without_words(text: str, spellings: Iterable[str]) -> str:
    """`text` normalised, in lower case and without these spellings, where they stand as whole words."""
    rest = _readable(text).lower()
    for spelling in spellings:
        rest = _whole_words(normalise(spelling).lower()).sub(" ", rest)
    return rest


def leaked(texts: Iterable[tuple[str, str]], canaries: Iterable[str]) -> list[tuple[str, str]]:
    """(canary, where) for each canary that is contained in one of the named texts, in any case, accents or none."""
    wanted = [(canary, _bare(canary)) for canary in canaries]
    shown = [(where, _bare(text)) for where, text in texts] if wanted else []
    return [(canary, where) for canary, bare in wanted for where, text in shown if bare in text]


def _bare(text: str) -> str:
    return fold(normalise(text)).lower()


def _readable(text: str) -> str:
    return normalise(_MARKUP.sub("", text))


def _stands(fact: Fact, shown: str) -> bool:
    if fact.text is not None:
        return contains_words(shown, fact.text)
    if fact.regex is not None:
        return _compiled(fact.regex).search(shown) is not None
    assert fact.number is not None and fact.unit is not None
    unit = unit_named(fact.unit)
    return any(
        amount.unit == unit and abs(amount.value - fact.number) <= fact.tolerance for amount in amounts_in(shown)
    )


@lru_cache(maxsize=2_000)
def _whole_words(words: str) -> re.Pattern[str]:
    before = (r"(?<!\w)" if words[:1].isalnum() else "") + (r"(?<!\d[.,:])" if words[:1].isdigit() else "")
    after = (r"(?!\w)" if words[-1:].isalnum() else "") + (r"(?![.,:]\d)" if words[-1:].isdigit() else "")
    return re.compile(f"{before}{re.escape(words)}{after}")


@lru_cache(maxsize=2_000)
def _compiled(expression: str) -> Any:
    """Raises `ValueError`."""
    try:
        return re2.compile(expression, _EITHER_CASE)
    except (re2.error, UnicodeEncodeError) as refused:
        raise ValueError("regex: RE2 cannot use it") from refused


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
    text = _ITEM.sub("", _MARKUP.sub("", line))
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
