"""A log search told in a few sentences: how many lines, which sources and levels, which kinds of message, examples."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from decimal import Decimal
from pathlib import Path

from app.domain.knowledge import Language
from app.text.dates import VIETNAM, Period, write_day, zone_of
from app.text.numbers import format_number
from app.tools.base import Sentences
from extras.logs.lines import LogLine
from extras.logs.reading import LogCounts, LogFilter, LogKind
from extras.logs.regex import Regex
from extras.logs.search import Looked

sentence = Sentences(Path(__file__).with_name("sentences.toml"))

_SECRET_NAME = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|(?:api|access|account|private|signing|encryption)[_-]?key"
    r"|credential|authorization|cookie|signature)"
)
_SECRETS = (
    re.compile(
        rf"(?P<kept>{_SECRET_NAME}[\w-]{{0,40}}[\"']?\s?(?:=|:)\s?(?:bearer\s|basic\s)?)"
        r"(?P<secret>\"[^\"]{0,200}\"|'[^']{0,200}'|[^\s\"',;&]+)",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<kept>\bbearer\s)(?P<secret>[\w.~+/=-]{8,})", re.IGNORECASE),
    re.compile(r"(?P<kept>\bbasic\s)(?P<secret>(?=[a-z+/]{0,80}[0-9=+/])[\w+/]{8,}={0,2})", re.IGNORECASE),
    re.compile(
        r"(?P<kept>-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)(?P<secret>.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z))",
        re.DOTALL,
    ),
    re.compile(r"(?P<kept>[?&](?:sig|key|code|auth)=)(?P<secret>[^\s&\"']{8,})", re.IGNORECASE),
    re.compile(r"(?P<kept>mật khẩu\s?(?:=|:|là)\s?)(?P<secret>\S+)", re.IGNORECASE),
    re.compile(r"(?P<kept>://[^\s/:@]{0,80}:)(?P<secret>[^\s/@]{1,200})(?=@)"),
    re.compile(r"(?P<kept>)(?P<secret>\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"),
    re.compile(
        r"(?P<kept>)(?P<secret>\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bgl[a-z]{2,5}-[\w-]{16,}"
        r"|\b[sr]k[-_][\w-]{16,}|\bxox[abeoprs]-[\w-]{10,}|\bxapp-[\w-]{10,}|\bAIza[\w-]{30,}|\bya29\.[\w-]{10,}"
        r"|\bnpm_\w{30,}|\bpypi-[\w-]{30,}|\bhf_\w{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bdop_v1_\w{30,}|\bAGE-SECRET-KEY-\w+)"
    ),
)
"""Name and value, HTTP authorization, private keys, addresses with a password or signature, JWTs, known shapes."""
_VARIABLES = (
    re.compile(r"\b[0-9a-f#]{8}-[0-9a-f#]{1,4}-[0-9a-f#]{1,4}-[0-9a-f#]{1,4}-[0-9a-f#]{1,12}\b", re.IGNORECASE),
    re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"),
    re.compile(r"\b(?=[a-f#]{0,40}[0-9#])[0-9a-f#]{12,}\b", re.IGNORECASE),
    re.compile(r"(?<=\buser )[\w.#-]+"),
    re.compile(r"#(?:[.:,/-]#)+|[0-9]+(?:[.:,/-][0-9]+)*"),
)
"""Ids, mail addresses, hex, users, numbers (which may already be ``#``) with their separators."""
HIDDEN = "***"


def mask_secrets(text: str) -> str:
    """`text` with passwords, tokens and keys replaced by `HIDDEN`."""
    for pattern in _SECRETS:
        text = pattern.sub(rf"\g<kept>{HIDDEN}", text)
    return text


def mask_variables(text: str) -> str:
    """The kind of message `text` is: everything that differs from line to line as ``#``."""
    for pattern in _VARIABLES:
        text = pattern.sub("#", text)
    return text


SAMPLE_LINES = 3
TOP_PATTERNS = 3
_TOP_SOURCES = 5
_MESSAGE_CHARS = 200
_READ_CHARS = 2_000
_SEVERE = ("FATAL", "CRITICAL", "ERROR", "WARN", "WARNING")
"""Gravest first."""


@dataclass(frozen=True)
class LogQuestion:
    """Which lines are looked for, and how that is told to the asker."""

    wanted: LogFilter = field(default_factory=LogFilter)
    regex: Regex | None = None
    not_understood: str = ""
    """A span of time nobody could make sense of; all times were searched instead."""

    @property
    def is_filtered(self) -> bool:
        """Whether anything besides words narrows the lines."""
        return bool(self.wanted.levels or self.wanted.source or self.wanted.since or self.wanted.until)


@dataclass(frozen=True)
class LogResult:
    """What a search came to."""

    counts: LogCounts
    kinds: tuple[LogKind, ...] = ()
    """Most lines first."""
    samples: tuple[LogLine, ...] = ()
    partly: bool = False
    """No line holds all the terms; these hold at least one."""
    examined: int = 0
    """Without a match: how many lines of that time and source were looked through."""
    looked: Looked | None = None
    """How far a search by a regular expression got."""


def write_report(asked: LogQuestion, result: LogResult, language: Language, zone: tzinfo | None = None) -> str:
    """The whole answer, what is most frequent right after how many; without a match, the one sentence that says so."""
    sentences = [_first_sentence(asked, result, language, zone or zone_of(language))]
    if result.counts.total:
        if patterns := merged_patterns(result.kinds):
            told = "; ".join(_pattern(text, lines, language) for text, lines in patterns)
            sentences.append(sentence("log", "patterns", language, patterns=told))
        sentences.append(sentence("log", "by_level", language, counts=_counts(result.counts.by_level, language)))
        sentences.append(
            sentence("log", "by_source", language, counts=_counts(_cut(result.counts.by_source, language), language))
        )
        sentences += [
            sentence("log", "example", language, line=write_line(line, language, zone)) for line in result.samples[:1]
        ]
    if result.looked and result.looked.is_cut:
        lines, of = (_number(count, language) for count in result.looked)
        sentences.append(sentence("log", "cut", language, lines=lines, of=of))
    if asked.not_understood:
        sentences.append(sentence("log", "not_understood", language, phrase=asked.not_understood))
    return ". ".join(sentences) + "."


def _pattern(text: str, lines: int, language: Language) -> str:
    name = "pattern" if lines > 1 else "single_pattern"
    return sentence("log", name, language, text=text, lines=_number(lines, language))


def merged_patterns(kinds: Sequence[LogKind]) -> list[tuple[str, int]]:
    """The most frequent kinds of message with their lines; users, addresses and ids count as one kind."""
    merged: Counter[str] = Counter()
    for kind in kinds:
        merged[pattern_of(kind.newest)] += kind.lines
    return merged.most_common(TOP_PATTERNS)


def pattern_of(line: LogLine) -> str:
    """What lines of the kind of `line` have in common, as it may be shown."""
    return shown_message(mask_variables(mask_secrets(_beginning(line.message))))


def choose_samples(kinds: Sequence[LogKind]) -> tuple[LogLine, ...]:
    """The lines shown as evidence: the newest of the most frequent pattern, then of others, severe ones first."""
    ranked = sorted(enumerate(kinds), key=lambda each: (_severity(each[1].newest.level), each[0]))
    first = next(iter(merged_patterns(kinds)), ("", 0))[0]
    by_pattern: dict[str, LogLine] = {}
    for line in (*(each.newest for each in kinds if pattern_of(each.newest) == first), *(k.newest for _, k in ranked)):
        by_pattern.setdefault(pattern_of(line), line)
    return tuple(by_pattern.values())[:SAMPLE_LINES]


def _severity(level: str) -> int:
    return _SEVERE.index(level) if level in _SEVERE else len(_SEVERE)


def write_line(line: LogLine, language: Language, zone: tzinfo | None = None) -> str:
    """One line for a person, without secrets: ``12/11/2026 09:09:00 vpn-gw-01 ERROR automatic block … failed``."""
    moment = _moment(line.logged_at, language, zone or zone_of(language))
    return f"{moment} {line.source} {line.level} {shown_message(line.message)}"


def shown_message(message: str) -> str:
    """A message as it may be shown: secrets masked, on one line, at most `_MESSAGE_CHARS` characters."""
    text = " ".join(mask_secrets(_beginning(message)).split())
    return text if len(text) <= _MESSAGE_CHARS else f"{text[: _MESSAGE_CHARS - 1]}…"


def _beginning(message: str) -> str:
    """Enough of a message to show a part of it; the last word is left out, as a secret is known by its whole."""
    return message if len(message) <= _READ_CHARS else message[:_READ_CHARS].rpartition(" ")[0]


def _first_sentence(asked: LogQuestion, result: LogResult, language: Language, zone: tzinfo) -> str:
    counts = result.counts
    told = _asked(asked, language, zone, partly=result.partly)
    if not counts.total:
        examined = _number(result.examined, language)
        beside = sentence("log", "of_examined", language, examined=examined) if result.examined else ""
        return sentence("log", "none", language, asked=told) + beside
    name = "one_line" if counts.total == 1 else "lines"
    text = sentence("log", name, language, total=_number(counts.total, language), asked=told)
    if counts.first and counts.last:
        first, last = _moment(counts.first, language, zone), _moment(counts.last, language, zone)
        name = sentence("log", "home_zone", language) if zone is VIETNAM else str(zone)
        text += f"{sentence('log', 'span', language, first=first, last=last)} ({name})"
    return text


def _asked(asked: LogQuestion, language: Language, zone: tzinfo, *, partly: bool) -> str:
    wanted = asked.wanted
    told = sentence("log", "level", language, level=wanted.levels[0]) if wanted.levels else ""
    if wanted.terms:
        told += sentence("log", "any_term" if partly else "term", language, terms=" ".join(wanted.terms))
    if asked.regex:
        told += sentence("log", "regex", language, regex=shown_message(asked.regex.text))
    if wanted.source:
        told += sentence("log", "source", language, source=wanted.source)
    if period := Period(wanted.since, wanted.until).written(language, zone):
        told += f" {period}"
    return told


def _cut(by_source: dict[str, int], language: Language) -> dict[str, int]:
    """The sources with the most lines; the rest in one."""
    ranked = list(by_source.items())
    rest = sum(lines for _, lines in ranked[_TOP_SOURCES:])
    others = {sentence("log", "others", language): rest} if rest else {}
    return dict(ranked[:_TOP_SOURCES]) | others


def _counts(counts: dict[str, int], language: Language) -> str:
    return ", ".join(f"{name} {_number(lines, language)}" for name, lines in counts.items())


def _number(count: int, language: Language) -> str:
    return format_number(Decimal(count), language)


def _moment(moment: datetime, language: Language, zone: tzinfo) -> str:
    local = moment.astimezone(zone)
    return f"{write_day(local, language)} {local:%H:%M:%S}"
