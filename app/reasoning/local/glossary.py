"""Office vocabulary of both languages: phrases that mean the same thing share a concept.

The phrases live in ``glossary.jsonl``, one group a line: Vietnamese, English, and how much the concept tells (1 =
names a subject; 0.15 = stands in every policy). Looking up is plain dictionary work, so it costs no embedding.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from app.reasoning.local.cues import named_lines
from app.text.language import fold, words

_LONGEST = 5
"""Words of a phrase that are looked up together."""
_IRREGULAR = dict(named_lines("glossary.irregular"))
"""Forms no ending can be cut from; to the stem of their word."""
_KEEPS_ITS_S = ("ss", "us", "is", "os")
Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase found in a row of stems."""

    start: int
    end: int
    """Position after the last word."""
    concepts: frozenset[int]


@dataclass(frozen=True)
class Glossary:
    """Phrases by their stems, exact and without diacritics."""

    exact: dict[Phrase, frozenset[int]]
    folded: dict[Phrase, frozenset[int]]
    weights: tuple[float, ...]
    """By concept, 0–1."""

    def matches(self, stems: Sequence[str], *, folded: bool) -> Iterator[Match]:
        """Longest phrases first come, left to right, without overlap. `stems` are folded when `folded`."""
        phrases = self.folded if folded else self.exact
        at = 0
        while at < len(stems):
            begun = (tuple(stems[at:end]) for end in range(min(at + _LONGEST, len(stems)), at, -1))
            longest = next((phrase for phrase in begun if phrase in phrases), ())
            if longest:
                yield Match(at, at + len(longest), phrases[longest])
            at += len(longest) or 1

    def mentioned(self, stems: Sequence[str], *, folded: bool) -> frozenset[int]:
        """Every concept named anywhere, also inside a longer phrase."""
        phrases = self.folded if folded else self.exact
        rows = (tuple(stems[at : at + size]) for at in range(len(stems)) for size in range(1, _LONGEST + 1))
        return frozenset(concept for row in rows for concept in phrases.get(row, ()))

    def weight(self, concepts: frozenset[int]) -> float:
        """The most telling concept counts."""
        return max((self.weights[concept] for concept in concepts), default=1.0)


@cache
def glossary() -> Glossary:
    """The glossary of the package, read once per process."""
    exact: dict[Phrase, set[int]] = {}
    folded: dict[Phrase, set[int]] = {}
    weights: list[float] = []
    for line in files(__package__).joinpath("glossary.jsonl").read_text("utf-8").splitlines():
        group = json.loads(line)
        concept = len(weights)
        weights.append(float(group["weight"]))
        for phrase in (*group["vi"], *group["en"]):
            stems = stemmed(phrase)
            exact.setdefault(stems, set()).add(concept)
            bare = stemmed(fold(phrase))
            # A single bare syllable means too many things: "muon" is late, to want and to borrow.
            if len(bare) > 1 or stems == bare:
                folded.setdefault(bare, set()).add(concept)
    return Glossary(
        {phrase: frozenset(ids) for phrase, ids in exact.items()},
        {phrase: frozenset(ids) for phrase, ids in folded.items()},
        tuple(weights),
    )


def stemmed(text: str) -> Phrase:
    """The words of `text` in order, English endings cut off (policies, policy → polici)."""
    return tuple(stem(word) for word in words(text))


@cache
def stem(word: str) -> str:
    """A light English stem; Vietnamese syllables and numbers stay as they are."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    bare = _without_ending(_singular(word))
    # Four letters may be a Vietnamese syllable: thay is not thai.
    return re.sub(r"y$", "i", bare.removesuffix("e")) if len(bare) > 4 else bare


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(_KEEPS_ITS_S) else word


def _without_ending(word: str) -> str:
    for ending in ("ing", "ied", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and any(vowel in root for vowel in "aeiouy"):
            doubled = root[-1] == root[-2] and root[-1] not in "lsz"
            return root + "y" if ending == "ied" else root[:-1] if doubled else root
    return word
