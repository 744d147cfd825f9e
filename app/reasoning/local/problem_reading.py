"""Word problems in English, read: the numbers, what each counts, and what happens to it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.reasoning.local.cues import word_list
from app.text.language import normalise

Deed = Literal["have", "gain", "lose", ""]
"""What the verb beside a number does; empty for a verb that is not known."""

_TOKEN = re.compile(r"\$ ?\d[\d,]*(?:\.\d+)?|\d[\d,]*(?:\.\d+)?%?|[^\W\d_]+(?:['’-][^\W\d_]+)*|[.?!;,]")
_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
"""“One” is left out: it stands for a thing far more often."""
_LOSE, _GAIN, _HAVE = (word_list(f"problems.{deed}") for deed in ("lose", "gain", "have"))
_BOUNDARY, _MANY = word_list("problems.boundary"), word_list("problems.many")
_SKIPPED = frozenset({"more", "other", "new", "old", "additional", "extra", "different", "fewer", "less"})
_ELLIPTICAL = frozenset({"one", "ones", "of"})
_MONEY = frozenset({"dollars", "dollar", "bucks"})
_STOPS = frozenset(".?!;")
_PLURAL_ES = re.compile(r"(?:ss|sh|ch|x|z|o)es$")
_MAX_NOUN_WORDS = 4
_WENT_OFF = re.compile(r"\b(?:gets?|got) (?:off|down)\b")
_WHOLES = frozenset({"total", "box", "bag", "collection", "stack", "set", "pack"})
_BE = frozenset({"are", "is", "were", "was"})
_HAVING = frozenset({"have", "has", "had", "there"})


@dataclass(frozen=True, slots=True)
class Noun:
    """What is counted."""

    head: str
    """Singular; ``$`` for money, empty where it is not said (“he ate 36 more”)."""
    marks: frozenset[str] = frozenset()
    """Words that tell it from others of its kind: ``green``, ``action``."""

    def covers(self, other: "Noun") -> bool:
        """Whether everything of the other kind is of this one: peaches cover green peaches."""
        return self.head == other.head and self.marks <= other.marks


@dataclass(frozen=True, slots=True)
class Mention:
    """A number of a problem."""

    value: str
    """As a calculator reads it."""
    noun: Noun
    deed: Deed
    sentence: int
    at: int
    """Place of its word in the sentence."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, read."""

    sentences: tuple[tuple[str, ...], ...]
    """The words of each statement, in lower case; the question is not among them."""
    asked: tuple[str, ...]
    """The words of the question from “how” on."""
    noun: Noun
    mentions: tuple[Mention, ...]
    names: frozenset[str]
    """Names of people, in lower case."""

    def words_near(self, mention: Mention) -> tuple[str, ...]:
        """The words of a number's own part of its sentence: up to the next number, from the start for the first."""
        places = [one.at for one in self.mentions if one.sentence == mention.sentence]
        words, index = self.sentences[mention.sentence], places.index(mention.at)
        start = 0 if index == 0 else mention.at
        return words[start : places[index + 1] if index + 1 < len(places) else len(words)]

    def verb_of(self, mention: Mention) -> str:
        """The known verb nearest before a number; empty where there is none."""
        words = self.sentences[mention.sentence][: mention.at]
        return next((word for word in reversed(words) if deed_of([word])), "")

    def words_of(self, mention: Mention) -> tuple[str, ...]:
        """The sentence of a number."""
        return self.sentences[mention.sentence]

    @property
    def words(self) -> frozenset[str]:
        """Every word, of the question too."""
        return frozenset((*self.asked, *(word for sentence in self.sentences for word in sentence)))


def read_problem(text: str) -> Problem | None:
    """The problem; None when nothing is told before it asks how many or how much, or numbers stand in the question."""
    tokens = _TOKEN.findall(_WENT_OFF.sub("lost", normalise(text)))
    start = next((at for at in range(len(tokens) - 1, -1, -1) if _asks(tokens, at)), None)
    if start is None or start == 0 or any(char.isdigit() for token in tokens[start:] for char in token):
        return None
    statements = _sentences(tokens[:start])
    asked = tuple(token.lower() for token in tokens[start:] if token not in _STOPS)
    mentions = [mention for at, words in enumerate(statements) for mention in _mentions(words, at)]
    if not mentions:
        return None
    noun = _asked_noun(asked, mentions)
    names = frozenset(token.lower() for token in _names(tokens))
    lower = tuple(tuple(word.lower() for word in words) for words in statements)
    return Problem(lower, asked, noun, tuple(mentions), names)


def deed_of(words: Sequence[str]) -> Deed:
    """What the last known verb of some words does."""
    for word in reversed(words):
        if word in _LOSE:
            return "lose"
        if word in _GAIN:
            return "gain"
        if word in _HAVE:
            return "have"
    return ""


def singular(word: str) -> str:
    """The word without its plural ending."""
    if word in _MONEY:
        return "$"
    if word in _MANY or len(word) <= 3 or not word.endswith("s") or word.endswith("ss"):
        return {"children": "child", "men": "man", "women": "woman", "mice": "mouse"}.get(word, word)
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if _PLURAL_ES.search(word) else word[:-1]


def noun_after(words: Sequence[str], at: int) -> Noun:
    """What the words from a place on count: the first plural, with the words before it."""
    before: list[str] = []
    for place in range(at, min(len(words), at + _MAX_NOUN_WORDS + 1)):
        word = words[place]
        if word in _SKIPPED and not before:
            continue
        if word in _BOUNDARY or word == "," or _is_verb(word) or word in _ELLIPTICAL or word[0].isdigit():
            break
        if _is_plural(word):
            of = words[place + 2] if words[place + 1 : place + 2] == ("of",) and place + 2 < len(words) else ""
            marks = {*before, *([singular(of)] if of and of not in _BOUNDARY else [])}
            return Noun(singular(word), frozenset(marks))
        before.append(word)
    return Noun(singular(before[-1]), frozenset(before[:-1])) if before else Noun("")


def _asks(tokens: Sequence[str], at: int) -> bool:
    following = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
    return tokens[at].lower() == "how" and following in ("many", "much")


def _sentences(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    found: list[list[str]] = [[]]
    for token in tokens:
        if token in _STOPS:
            found.append([])
        else:
            found[-1].append(token)
    return [tuple(words) for words in found if words]


def _mentions(words: Sequence[str], sentence: int) -> list[Mention]:
    lower = tuple(word.lower() for word in words)
    found = []
    for at, word in enumerate(lower):
        value = _value(lower, at)
        if value:
            is_money = word.startswith("$")
            noun = Noun("$") if is_money else noun_after(lower, at + 1)
            found.append(Mention(value, noun, _deed(lower, at), sentence, at))
    return found


def _value(words: Sequence[str], at: int) -> str:
    word = words[at]
    if word in _NUMBER_WORDS:
        return _NUMBER_WORDS[word]
    bare = word.lstrip("$ ").replace(",", "")
    return bare if bare[:1].isdigit() else ""


def _deed(words: Sequence[str], at: int) -> Deed:
    """The nearest known verb before a number; where there is none, the one behind it."""
    before = deed_of([word for place, word in enumerate(words[:at]) if words[place - 1 : place] != ("to",)])
    if before:
        is_part = words[at - 1] == "of" and words[at - 2] not in _WHOLES
        return "" if is_part or words[at - 1] == "with" else before
    after = [word for word in words[at + 1 :] if word in _LOSE or word in _GAIN or word in _HAVE]
    return deed_of(after[:1]) or ("have" if _BE & set(words[at + 1 :]) else "")


def _asked_noun(asked: Sequence[str], mentions: Sequence[Mention]) -> Noun:
    """What “how many” counts; money where nothing is named and money was spoken of."""
    noun = noun_after(asked, 2)
    if noun.head == "money" or (asked[1] == "much" and any(one.noun.head == "$" for one in mentions)):
        return Noun("$")
    return noun


def _names(tokens: Sequence[str]) -> list[str]:
    """Words with a capital in the middle of a sentence, and those that begin one and are met so elsewhere."""
    inside = {t for at, t in enumerate(tokens) if at and t[0].isupper() and tokens[at - 1] not in _STOPS}
    first = {tokens[0], *(t for at, t in enumerate(tokens) if at and tokens[at - 1] in _STOPS)}
    known = _BOUNDARY | {"how", "later", "there"}
    return [t for t in inside | first if t[0].isupper() and t.lower() not in known and not t.lower().endswith("s")]


def _is_verb(word: str) -> bool:
    return word in _LOSE or word in _GAIN or (word.endswith("ed") and len(word) > 4)


def _is_plural(word: str) -> bool:
    return word in _MANY or word in _MONEY or (word.endswith("s") and not word.endswith(("ss", "us", "is")))


def deed_asked(problem: Problem) -> Deed:
    """What the verb of the question does; “have” only where there is no other."""
    asked = [word for word in problem.asked if word != "there" or _BE & set(problem.asked)]
    return deed_of([word for word in asked if word not in _HAVING]) or deed_of(asked)


def values_of(used: Sequence[Mention]) -> list[str]:
    """The numbers, in order."""
    return [one.value for one in used]
