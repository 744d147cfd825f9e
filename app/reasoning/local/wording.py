"""What the local reasoner says itself in both languages, by which words it recognises questions and answers, and small
things about sentences: tidy spelling, listings.

``cues.txt`` holds one regular expression a line, grouped in ``[sections]`` named after the module that uses them; lines
starting with ``#`` are comments. Lines are alternatives, tried from the top; spaces at their ends are written ``\\s``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from app.domain.knowledge import Language
from app.domain.plan import (
    CHANGES_TOOL,
    FILES_TOOL,
    LOG_TOOL,
    MATH_TOOL,
    ORCHESTRATOR,
    RAG_TOOL,
    SUMMARY_TOOL,
    TRANSCRIPT_TOOL,
    WEB_TOOL,
    WIKIPEDIA_TOOL,
    Step,
)
from app.reasoning import AgentOffer
from app.text.language import fold, guess_language, is_unaccented_vietnamese, normalise

_HEAD = re.compile(r"\[([a-z_.]+)\]")
Pair = tuple[re.Pattern[str], re.Pattern[str]]
"""A cue with diacritics, and as it looks without them; indexed by whether the text is folded."""


@cache
def _sections(package: str = __package__) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    own: list[str] | None = None
    for line in files(package).joinpath("cues.txt").read_text("utf-8").splitlines():
        head = _HEAD.fullmatch(line.strip())
        if head:
            own = found.setdefault(head[1], [])
        elif line.strip() and not line.startswith("#"):
            if own is None:
                raise ValueError(f"cues.txt: {line!r} stands in no section")
            own.append(line)
    return {name: tuple(section) for name, section in found.items()}


def alternatives(section: str, package: str = __package__) -> str:
    """The lines of a section as one regular expression, to be put into a group; also of another package's cues."""
    return "|".join(_sections(package)[section])


def lines(section: str, package: str = __package__) -> tuple[str, ...]:
    """The lines of a section, for patterns that are used one by one."""
    return _sections(package)[section]


def cue(section: str) -> Pair:
    """The section as a pattern that begins at a word, in both spellings; case does not matter."""
    written = alternatives(section)
    return re.compile(rf"\b(?:{written})", re.IGNORECASE), re.compile(rf"\b(?:{fold(written)})", re.IGNORECASE)


def word_list(section: str) -> frozenset[str]:
    """The words of a section of plain words."""
    return frozenset(word for line in _sections()[section] for word in line.split())


def named_patterns(section: str, package: str = __package__) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The lines ``name = pattern`` of a section, in order."""
    return tuple((name, re.compile(written)) for name, written in named_lines(section, package))


def named_lines(section: str, package: str = __package__) -> tuple[tuple[str, str], ...]:
    """The same lines for patterns that are put together before they are compiled."""
    parts = (line.partition(" = ") for line in _sections(package)[section])
    return tuple((name, written) for name, _, written in parts)


@cache
def _sentences() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    found: Mapping[str, Mapping[str, Mapping[str, str]]]
    found = json.loads(files(__package__).joinpath("sentences.json").read_text("utf-8"))
    return found


def sentences(section: str, language: Language) -> Mapping[str, str]:
    """What the reasoner says itself, by name, from ``sentences.json``; {…} are filled in."""
    return _sentences()[section][language]


_IMPERATIVE = re.compile(
    rf"^(?:hãy |giúp (?:tôi|mình) |please |can you |could you )?(?:{alternatives('wording.imperative')})\b",
    re.IGNORECASE,
)
_LATE_ALONE = re.compile(r"^(muộn|trễ)(?=\s(?!nhất|hơn))", re.IGNORECASE)
"""Spoken short for “đi muộn”, which the rules say."""
_TRAILING = re.compile(r"[\s?!.,;:…]+$")


def tidy(text: str, *, question: bool) -> str:
    """A sentence with a capital letter and, when it asks, exactly one question mark at its end."""
    bare = _LATE_ALONE.sub(lambda mark: f"đi {mark[1].lower()}", _TRAILING.sub("", normalise(text)))
    if not bare:
        return ""
    ends_asking = question and not (_IMPERATIVE.match(bare) and not text.rstrip().endswith("?"))
    return bare[0].upper() + bare[1:] + ("?" if ends_asking else "")


def lower_first(text: str) -> str:
    """`text` for the middle of a sentence; names and acronyms keep their capital."""
    first = text.split(" ", 1)[0]
    return text if sum(map(str.isupper, first)) > 1 or any(map(str.isdigit, first)) else text[:1].lower() + text[1:]


_WORDS = dict(line.split(" = ") for line in lines("shorthand.words"))
_TOKEN = re.compile(
    rf"(?<![\w.,@/&+-])(?<!\d )(?:{'|'.join(sorted(map(re.escape, _WORDS), key=len, reverse=True))})(?![\w@/&+-])"
)
"""Lower case only, and no part of a name, address, code or figure: “T&C”, “10 k” stay."""


def spelt_out(text: str) -> str:
    """`text` with its shorthand written in full if it is Vietnamese; without diacritics where the text has none."""
    if guess_language(text) != "vi" and not any(char.isalpha() and not char.isascii() for char in text):
        return text
    plain = is_unaccented_vietnamese(text)
    return _TOKEN.sub(lambda mark: fold(_WORDS[mark[0]]) if plain else _WORDS[mark[0]], text)


_ASKS = cue("question.asks")


def asks(text: str) -> bool:
    """Whether the text holds a question mark or asking words: without diacritics a single one may be any word (“may” is
    “mấy” or “máy”), so two that belong together."""
    spelt = normalise(text)
    if "?" in spelt:
        return True
    folded = is_unaccented_vietnamese(spelt)
    marks = (mark[0] for mark in _ASKS[folded].finditer(spelt))
    return any(" " in mark or not folded for mark in marks)


def listed(items: Sequence[str], language: Language) -> str:
    """``a, b và c``."""
    word = sentences("composed", language)["and"]
    return word.join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def titles_of(titles: Sequence[str], language: Language) -> str:
    """Document titles as they stand in a sentence."""
    return listed([f"“{title}”" for title in titles], language)


_ACRONYM = 3
_NAMES = {
    RAG_TOOL: "search", SUMMARY_TOOL: "summary", LOG_TOOL: "log", CHANGES_TOOL: "changes", FILES_TOOL: "files",
    WEB_TOOL: "web", WIKIPEDIA_TOOL: "web", TRANSCRIPT_TOOL: "web",
}  # fmt: skip
"""Tools with a sentence of their own."""
_PURPOSES = {RAG_TOOL: "gather", SUMMARY_TOOL: "digest", MATH_TOOL: "math"}


def shown(agent: str) -> str:
    """An agent's name for people: short names are acronyms."""
    return agent.upper() if len(agent) <= _ACRONYM else agent


def worded_step(agent: str, tool: str, query: str, language: Language, *, purposeful: bool = False) -> Step:
    """One query for one tool of an agent; `purposeful` steps, of a calculation, say what they gather and why."""
    texts, topic = sentences("plan", language), lower_first(query.rstrip(" ?."))
    values = {"agent": shown(agent), "tool": tool, "query": query, "topic": topic}
    if tool == MATH_TOOL or purposeful:
        name, values["query"] = _PURPOSES[tool], query.rstrip(" ?")
        message = texts[f"{name}_message"].format(**values)
        return Step(agent=agent, tool=tool, purpose=texts[name].format(**values), message=message)
    name = "merge" if agent == ORCHESTRATOR else _NAMES.get(tool, "other")
    return Step(agent=agent, tool=tool, message=texts[name].format(**values))


def settled_by(agents: Sequence[AgentOffer], language: Language) -> str:
    """How disagreement will be settled, one sentence."""
    texts, experts = sentences("plan", language), [shown(agent.name) for agent in agents if not agent.is_fallback]
    if len(agents) < 2 or not experts:
        return texts["one"]
    return texts["many"].format(experts=listed(experts, language))
