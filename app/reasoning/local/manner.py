"""How an utterance is said, as numbers: its letters and words without diacritics, and the cues of small talk and work.

Vectors of meaning say little about Vietnamese typed without diacritics or in shorthand; spelling says a good deal.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from app.reasoning.local.chitchat import is_small_talk
from app.reasoning.local.cues import alternatives
from app.reasoning.local.intents import intents_of
from app.reasoning.local.wording import Part
from app.text.language import fold, normalise

Numbers = npt.NDArray[np.float32]

BUCKETS = 4096
"""Columns into which words, neighbouring words and runs of letters are hashed."""
LONGEST_REMARK = 300
"""Characters that are looked at: nobody's small talk is longer."""
_RUN_LENGTHS, _RUN_WEIGHT = (3, 4), 0.5
_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")
_YOU = re.compile(rf"\b(?:{alternatives('manner.you')})\b")
_ME = re.compile(rf"\b(?:{alternatives('manner.me')})\b")
_OWN_AFFAIR = re.compile(alternatives("manner.own_affair"), re.IGNORECASE)
_ORDER = re.compile(rf"^(?:please )?(?:{alternatives('manner.order')})\b", re.IGNORECASE)
_SUBJECT, _HEAVY, _LONG = 0.9, 4.0, 14


def spelling_of(texts: Sequence[str]) -> Numbers:
    """Shape (texts, `BUCKETS`): how often each word, pair of words and run of letters stands in a text."""
    counted = np.zeros((len(texts), BUCKETS), dtype=np.float32)
    for row, text in zip(counted, texts, strict=True):
        for gram, times in Counter(_grams(text)).items():
            row[zlib.crc32(gram.encode()) % BUCKETS] += times * (_RUN_WEIGHT if gram[0] == "~" else 1.0)
    return counted


def cues_of(texts: Sequence[str]) -> Numbers:
    """Shape (texts, cues), values 0–1: does it ask, of whom does it speak, what does it name, is work wanted."""
    return np.array([_cues(normalise(text[:LONGEST_REMARK])) for text in texts], dtype=np.float32)


def _grams(text: str) -> Iterator[str]:
    words = _WORD.findall(fold(normalise(text[:LONGEST_REMARK])).lower())
    yield from words
    yield from (f"{first} {second}" for first, second in pairwise(["^", *words, "$"]))
    line = f" {' '.join(words)} "
    for length in _RUN_LENGTHS:
        yield from (f"~{line[at : at + length]}" for at in range(len(line) - length + 1))


def _cues(text: str) -> list[float]:
    part, bare = Part.of(text), fold(text).lower()
    addressed = bool(_YOU.search(bare))
    return [
        part.asks,
        addressed,
        addressed and part.asks,
        bool(_ME.search(bare)),
        bool(_OWN_AFFAIR.search(text)),
        bool(_ORDER.match(text)),
        any(term.concepts and term.weight >= _SUBJECT for term in part.terms),
        any(term.is_name for term in part.terms),
        min(part.weight, _HEAVY) / _HEAVY,
        min(len(bare.split()), _LONG) / _LONG,
        bool(intents_of(text)),
        is_small_talk(text),
        bool(_DIGIT.search(bare)),
        1.0,
    ]
