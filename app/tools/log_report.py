"""A log search told in a few sentences: how many lines, which sources and levels, which kinds of message, examples."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from app.domain.knowledge import Language
from app.storage.logs import LogCounts, LogLine, LogPattern
from app.tools.masking import mask_secrets, mask_variables
from app.tools.numbers import format_number
from app.tools.periods import Period, write_day, zone_of

SAMPLE_LINES = 3
TOP_PATTERNS = 3
_TOP_SOURCES = 5
_MESSAGE_CHARS = 200


@dataclass(frozen=True)
class LogQuestion:
    """What was looked for, as it is told to the asker."""

    terms: tuple[str, ...] = ()
    level: str = ""
    source: str = ""
    period: Period = field(default_factory=Period)
    not_understood: str = ""
    """A span of time nobody could make sense of; all times were searched instead."""


@dataclass(frozen=True)
class LogResult:
    """What a search came to."""

    counts: LogCounts
    patterns: tuple[LogPattern, ...] = ()
    samples: tuple[LogLine, ...] = ()
    partly: bool = False
    """No line holds all the terms; these hold at least one."""
    examined: int = 0
    """Without a match: how many lines of that time and source were looked through."""


_WORDS: dict[Language, dict[str, str]] = {
    "vi": {
        "lines": "Có {total} dòng log{asked}",
        "span": ", dòng đầu lúc {first}, dòng cuối lúc {last}",
        "none": "Không có dòng log nào{asked}",
        "of_examined": " trong số {examined} dòng đã xem",
        "term": " chứa “{terms}”",
        "any_term": " chứa ít nhất một từ trong “{terms}”",
        "level": " mức {level}",
        "source": " của {source}",
        "zone": " (giờ Việt Nam)",
        "by_level": "Theo mức: {counts}",
        "by_source": "Theo nguồn: {counts}",
        "patterns": "Thường gặp nhất: {patterns}",
        "pattern": "“{text}” ({lines} dòng)",
        "example": "Ví dụ: {line}",
        "others": "nguồn khác",
        "not_understood": "Không hiểu khoảng thời gian “{phrase}” nên đã xem log ở mọi thời điểm",
    },
    "en": {
        "lines": "{total} log lines{asked}",
        "span": ", the first at {first}, the last at {last}",
        "none": "No log line{asked}",
        "of_examined": " among the {examined} lines looked through",
        "term": " with “{terms}”",
        "any_term": " with at least one word of “{terms}”",
        "level": " of level {level}",
        "source": " from {source}",
        "zone": " (UTC)",
        "by_level": "By level: {counts}",
        "by_source": "By source: {counts}",
        "patterns": "Most frequent: {patterns}",
        "pattern": "“{text}” ({lines} lines)",
        "example": "Example: {line}",
        "others": "other sources",
        "not_understood": "The time “{phrase}” was not understood, so lines of all times were searched",
    },
}


def write_report(asked: LogQuestion, result: LogResult, language: Language) -> str:
    """The whole answer; without a match, the one sentence that says so."""
    words = _WORDS[language]
    sentences = [_first_sentence(asked, result, language)]
    if result.counts.total:
        sentences.append(words["by_level"].format(counts=_counts(result.counts.by_level, language)))
        sentences.append(words["by_source"].format(counts=_counts(_cut(result.counts.by_source, language), language)))
        if patterns := merged_patterns(result.patterns):
            told = (words["pattern"].format(text=text, lines=_number(lines, language)) for text, lines in patterns)
            sentences.append(words["patterns"].format(patterns="; ".join(told)))
        sentences += [words["example"].format(line=write_line(line, language)) for line in result.samples[:1]]
    if asked.not_understood:
        sentences.append(words["not_understood"].format(phrase=asked.not_understood))
    return ". ".join(sentences) + "."


def merged_patterns(patterns: Sequence[LogPattern]) -> list[tuple[str, int]]:
    """The most frequent kinds of message with their lines; users, addresses and ids count as one kind."""
    merged: Counter[str] = Counter()
    for pattern in patterns:
        merged[shown_message(mask_variables(pattern.text))] += pattern.lines
    return merged.most_common(TOP_PATTERNS)


def write_line(line: LogLine, language: Language) -> str:
    """One line for a person, without secrets: ``12/11/2026 09:09:00 vpn-gw-01 ERROR automatic block … failed``."""
    return f"{_moment(line.logged_at, language)} {line.source} {line.level} {shown_message(line.message)}"


def shown_message(message: str) -> str:
    """A message as it may be shown: secrets masked, on one line, at most `_MESSAGE_CHARS` characters."""
    text = " ".join(mask_secrets(message).split())
    return text if len(text) <= _MESSAGE_CHARS else f"{text[: _MESSAGE_CHARS - 1]}…"


def _first_sentence(asked: LogQuestion, result: LogResult, language: Language) -> str:
    words, counts = _WORDS[language], result.counts
    told = _asked(asked, language, partly=result.partly)
    if not counts.total:
        examined = words["of_examined"].format(examined=_number(result.examined, language)) if result.examined else ""
        return words["none"].format(asked=told) + examined
    sentence = words["lines"].format(total=_number(counts.total, language), asked=told)
    if counts.total == 1 and language == "en":
        sentence = sentence.replace("log lines", "log line", 1)
    if counts.first and counts.last:
        sentence += words["span"].format(first=_moment(counts.first, language), last=_moment(counts.last, language))
        sentence += words["zone"]
    return sentence


def _asked(asked: LogQuestion, language: Language, *, partly: bool) -> str:
    words = _WORDS[language]
    told = words["level"].format(level=asked.level) if asked.level else ""
    if asked.terms:
        told += words["any_term" if partly else "term"].format(terms=" ".join(asked.terms))
    if asked.source:
        told += words["source"].format(source=asked.source)
    if period := asked.period.written(language):
        told += f" {period}"
    return told


def _cut(by_source: dict[str, int], language: Language) -> dict[str, int]:
    """The sources with the most lines; the rest in one."""
    ranked = list(by_source.items())
    rest = sum(lines for _, lines in ranked[_TOP_SOURCES:])
    others = {_WORDS[language]["others"]: rest} if rest else {}
    return dict(ranked[:_TOP_SOURCES]) | others


def _counts(counts: dict[str, int], language: Language) -> str:
    return ", ".join(f"{name} {_number(lines, language)}" for name, lines in counts.items())


def _number(count: int, language: Language) -> str:
    return format_number(Decimal(count), language)


def _moment(moment: datetime, language: Language) -> str:
    local = moment.astimezone(zone_of(language))
    return f"{write_day(local, language)} {local:%H:%M:%S}"
