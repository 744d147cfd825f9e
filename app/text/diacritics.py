"""Restoring the accents of Vietnamese typed without them, by how often syllables stand side by side.

`training/text/diacritics.py` makes ``diacritics.npz`` and names what it read; docs/diacritics.md is its card.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.text.language import fold, is_unaccented_vietnamese

PATH = Path(__file__).with_name("diacritics.npz")
DIGEST = "3e867f7f5e1fcd494341aaeeac080628e8bb49dcdb9080887e15dc0af207da50"
"""SHA-256 of the file."""
SPECIAL = (UNKNOWN, NUMBER, EDGE) = ("<word>", "<number>", "<edge>")
"""What stands in the counts for a word that is no known syllable, for digits, and for where a sentence begins."""
STEP = 1 / 16
"""Natural logarithms are stored as bytes, in steps of this."""
_CANDIDATES = 8
"""The most frequent accented spellings of a syllable that are weighed."""
_WORD = re.compile(r"[^\W_]+")
_ENDS = re.compile(r"[.?!;:\n|()]")

Logs = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


class Model:
    """A pruned trigram model of Vietnamese syllables in backoff form."""

    def __init__(self, stored: Mapping[str, npt.NDArray[np.uint8]]):
        """`stored` as `training.text.diacritics` writes it."""
        self.vocabulary = stored["syllables"].tobytes().decode().split(" ")
        self.ids = {syllable: at for at, syllable in enumerate(self.vocabulary)}
        self._chances = [_logs(stored[f"chance{size}"]) for size in (1, 2, 3)]
        self._backoffs = [_logs(stored[f"backoff{size}"]) for size in (1, 2)]
        self._pairs, self._triples = (_unpacked(stored[f"keys{size}"]) for size in (2, 3))
        self._spellings: dict[str, list[int]] = {}
        frequent = np.argsort(-self._chances[0], kind="stable").tolist()
        for at in frequent:
            if self.vocabulary[at] not in SPECIAL:
                self._spellings.setdefault(fold(self.vocabulary[at]), []).append(at)

    def spellings(self, word: str) -> Ids:
        """What a word in lower case may stand for: itself where it has accents, else the syllables that fold to it."""
        if not word.isascii() or word not in self._spellings:
            return np.array([self.ids.get(word, self.ids[NUMBER if word.isdigit() else UNKNOWN])])
        return np.array(self._spellings[word][:_CANDIDATES])

    def best(self, choices: Sequence[Ids]) -> list[int]:
        """The likeliest way through the choices of a sentence, one id a word (Viterbi)."""
        before = now = np.array([self.ids[EDGE]])
        score: npt.NDArray[np.float32] = np.zeros((1, 1), np.float32)
        backs = []
        for after in choices:
            ways = score[:, :, None] + self._chance(before, now, after)
            backs.append(ways.argmax(axis=0))
            score, before, now = ways.max(axis=0), now, after
        last, current = np.unravel_index(int(score.argmax()), score.shape)
        path = []
        for after, back in zip(reversed(choices), reversed(backs), strict=True):
            path.append(int(after[current]))
            last, current = back[last, current], last
        return path[::-1]

    def _chance(self, one: Ids, two: Ids, three: Ids) -> Logs:
        """Log chance of each of `three` after each pair of `one` and `two`."""
        size = len(self.vocabulary)
        pairs = two[:, None] * size + three
        single = self._backoffs[0][two][:, None] + self._chances[0][three]
        at, found = places(self._pairs, pairs)
        double = np.where(found, self._chances[1][at], single)
        contexts = one[:, None] * size + two
        at, found = places(self._pairs, contexts)
        chance = np.where(found, self._backoffs[1][at], 0)[:, :, None] + double
        if found.any():
            at, known = places(self._triples, contexts[:, :, None] * size + three)
            chance = np.where(known, self._chances[2][at], chance)
        return chance


def restored(text: str) -> str:
    """`text` with the likeliest accents where it is Vietnamese typed without them, else unchanged.

    Only letters of Vietnamese syllables change: without its accents the result is what `text` is without its own.
    """
    return "".join(rewritten(_model(), text)) if is_unaccented_vietnamese(text) else text


def sentences(text: str) -> Iterator[list[re.Match[str]]]:
    """The words of each sentence or other piece of `text` that ends in punctuation."""
    found: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        if found and _ENDS.search(text, found[-1].end(), match.start()):
            yield found
            found = []
        found.append(match)
    if found:
        yield found


def rewritten(model: Model, text: str) -> Iterator[str]:
    """The pieces of `text`, whatever it is, with the likeliest accents."""
    text, end = unicodedata.normalize("NFC", text), 0
    shouted = text.isupper()
    for sentence in sentences(text):
        choices = [
            # A word in capitals among others is an abbreviation.
            model.spellings(word.lower() if shouted or len(word) == 1 or not word.isupper() else "")
            for word in (match[0] for match in sentence)
        ]
        for match, best in zip(sentence, model.best(choices), strict=True):
            yield text[end : match.start()]
            yield _spelt(match[0], model.vocabulary[best])
            end = match.end()
    yield text[end:]


def _spelt(word: str, syllable: str) -> str:
    """`syllable` in the capitals of `word`, which stays where it is not one."""
    if not word.isascii() or fold(syllable) != word.lower():
        return word
    return "".join(new.upper() if old.isupper() else new for old, new in zip(word, syllable, strict=True))


@cache
def _model() -> Model:
    with np.load(PATH, allow_pickle=False) as stored:
        return Model(dict(stored))


def _logs(stored: npt.NDArray[np.uint8]) -> Logs:
    return (stored * -STEP).astype(np.float32)


def packed(keys: Ids) -> npt.NDArray[np.uint8]:
    """Ascending keys as the bytes of their differences, the lowest bytes first: nearly all others are 0."""
    return np.ascontiguousarray(np.diff(keys, prepend=0).astype("<u8").view(np.uint8).reshape(-1, 8).T)


def _unpacked(stored: npt.NDArray[np.uint8]) -> Ids:
    return np.cumsum(np.ascontiguousarray(stored.T).view("<u8").ravel().astype(np.int64))


def places(keys: Ids, wanted: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Where each wanted key would stand, and whether it does."""
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return at, keys[at] == wanted
