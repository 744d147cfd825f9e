"""Vietnamese and English text: cleaning, canonical spelling, folding, words, tokens, and which of the two it is.

One Vietnamese word has several spellings (NFC or NFD, hoà or hòa, or hoa): what compares text goes through `normalise`
or `fold` on both sides.
"""

import math
import re
import unicodedata
from pathlib import Path

from app.domain.knowledge import Language


def word_set(listed: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(listed.split())


def _listed(name: str) -> frozenset[str]:
    """The words of one list of ``stop_words.txt``."""
    lists = (Path(__file__).parent / "stop_words.txt").read_text(encoding="utf-8")
    return word_set(lists.partition(f"[{name}]")[2].partition("#")[0])


VIETNAMESE_STOP_WORDS, FOLDED_STOP_WORDS = _listed("VIETNAMESE_STOP_WORDS"), _listed("FOLDED_STOP_WORDS")
"""Function words; folded: of Vietnamese typed without diacritics."""
ENGLISH_STOP_WORDS = _listed("ENGLISH_STOP_WORDS")
"""With the pieces that are left of contractions (``don't`` is two words)."""
ENGLISH_LOOKALIKES, LOANWORDS = _listed("ENGLISH_LOOKALIKES"), _listed("LOANWORDS")
"""English words that prove nothing either way: they look like folded Vietnamese, or stand in its office talk."""
DOCUMENT_WORDS = _listed("DOCUMENT_WORDS")
"""Folded words of both languages that say nothing of which part of a document is meant: rule, policy, chính sách."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
"""Controls, zero-width and bidirectional marks, tag characters, lone surrogates: nobody sees them, models read them."""
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_SPACES = re.compile(r"\s+")
_MARKS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+")
_PLAIN_D = str.maketrans("đĐ", "dD")

_TONES = "\u0300\u0301\u0303\u0309\u0323"
"""Grave, acute, tilde, hook above, dot below."""


def _toned(vowels: str) -> str:
    return "".join(unicodedata.normalize("NFC", vowel + tone) for vowel in vowels for tone in _TONES)


_LATE_TONE = re.compile(
    rf"([oO])([{_toned('aAeE')}])(?!\w)|(?<![qQ])([uU])([{_toned('yY')}])(?!\w)"  # hoà, xoè, thuý
)
_EARLY_TONE = re.compile(
    rf"([{_toned('oO')}])([aAeE])(?=\w)|([{_toned('uU')}])([yY])(?=\w)|(?<=[qQ])([{_toned('uU')}])([aAeEyY])"
)
"""hòan, hùynh, qúy: the tone stands on the glide although it belongs on the vowel after it."""


def clean(text: str) -> str:
    """`text` in NFC, without anything invisible (NUL, controls, zero-width, lone surrogates); lines end in ``\\n``."""
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text)))


def normalise(text: str) -> str:
    """The one spelling used for comparing: `clean`, tones on their canonical vowel (hòa), single spaces. Keeps case."""
    spelt = _EARLY_TONE.sub(_tone_to_second, _LATE_TONE.sub(_tone_to_first, clean(text)))
    return _SPACES.sub(" ", spelt).strip()


def fold(text: str) -> str:
    """`text` without diacritics, đ as d: what somebody types who does not write accents. Keeps case."""
    bare = _MARKS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", bare).translate(_PLAIN_D)


def words(text: str) -> list[str]:
    """The words of `text` in order: lower case, normalised; digits count as words, punctuation does not."""
    return _WORD.findall(normalise(text).lower())


def content_words(text: str) -> list[str]:
    """The words that say what `text` is about: `words` without the function words of either language."""
    found = words(text)
    stops = FOLDED_STOP_WORDS if is_unaccented_vietnamese(text) else VIETNAMESE_STOP_WORDS | ENGLISH_STOP_WORDS
    return [word for word in found if word not in stops]


def guess_language(text: str) -> Language:
    """Vietnamese (with or without diacritics) or English; English when nothing tells."""
    spelt = normalise(text)
    vietnamese, english = 0.0, 0.0
    for position, token in enumerate(_WORD.findall(spelt)):
        word = token.lower()
        # A name in the middle of a sentence says little about the sentence.
        weight = 0.4 if position and token[0].isupper() else 1.0
        if not word.isascii() and is_syllable(fold(word)):
            vietnamese += weight
        elif word in ENGLISH_STOP_WORDS:
            english += 1.0
        elif word.isascii() and word.isalpha() and not is_syllable(word):
            english += 0.4 * weight
    if vietnamese > english or (not english and vietnamese):
        return "vi"
    return "vi" if is_unaccented_vietnamese(spelt) else "en"


def is_unaccented_vietnamese(text: str) -> bool:
    """Whether `text` is Vietnamese typed without diacritics; one accented word in five is let pass."""
    tokens = [token for token in _WORD.findall(normalise(text)) if not any(map(str.isdigit, token))]
    if not tokens:
        return False
    marked = sum(not token.isascii() for token in tokens)
    if marked * 5 > len(tokens):
        return False
    plain = [token for token in tokens if token.isascii()]
    return sum(map(_unaccented_evidence, plain)) > 0.6


def _unaccented_evidence(token: str) -> float:
    """How much a word without diacritics speaks for Vietnamese (positive) or English (negative)."""
    word = token.lower()
    if word in ENGLISH_STOP_WORDS and word not in _SHARED_WORDS:
        return -1.5
    if word in LOANWORDS:
        return 0.0
    if word in ENGLISH_LOOKALIKES or word in _SHARED_WORDS:
        return 0.1
    if not is_syllable(word):
        # Acronyms and product names stand in questions of both languages.
        return -0.2 if token.isupper() else -0.8
    return 1.5 if word in FOLDED_STOP_WORDS or _DISTINCTIVE.search(word) else 0.7


def is_syllable(word: str) -> bool:
    """Whether a word in lower case without diacritics is spelt as a Vietnamese syllable may be."""
    return bool(_SYLLABLE.fullmatch(word))


def _tone_to_first(match: re.Match[str]) -> str:
    first, second = (match[1], match[2]) if match[1] else (match[3], match[4])
    apart = unicodedata.normalize("NFD", second)
    return unicodedata.normalize("NFC", first + apart[1]) + apart[0]


def _tone_to_second(match: re.Match[str]) -> str:
    first, second = next((match[at], match[at + 1]) for at in (1, 3, 5) if match[at])
    apart = unicodedata.normalize("NFD", first)
    return apart[0] + unicodedata.normalize("NFC", second + apart[1])


_SHARED_WORDS = frozenset({"do", "the", "no", "so", "to", "me", "may", "can", "an", "am", "a", "i", "on", "in", "at"})
"""Words both languages use all the time once the diacritics are gone."""

_ONSET = "ngh|ng|nh|n|gh|gi|g|kh|k|qu|q|ch|c|ph|p|th|tr|t|b|d|h|l|m|r|s|v|x"
_RHYME = (
    "a|ac|ach|ai|am|an|ang|anh|ao|ap|at|au|ay|e|ec|ech|em|en|enh|eo|ep|et|eu|i|ia|ich|iec|iem|ien|ieng|iep|iet|ieu|"
    "im|in|inh|ip|it|iu|o|oa|oac|oach|oai|oam|oan|oang|oanh|oao|oat|oay|oc|oe|oen|oeo|oet|oi|om|on|ong|ooc|op|ot|u|"
    "ua|uan|uat|uay|uc|ue|uech|uenh|ui|um|un|ung|uo|uoc|uoi|uom|uon|uong|uop|uot|uou|up|ut|uu|uy|uya|uych|uyen|uyet|"
    "uynh|uyt|uyu|y|yem|yen|yet|yeu"
)
_SYLLABLE = re.compile(f"(?:{_ONSET})?(?:{_RHYME})")
"""A Vietnamese syllable without diacritics."""
_DISTINCTIVE = re.compile(
    "^(?:ngh?[aeiouy]|nh[aeiou]|kh[aeiouy]|x[aeiou]|gi[aeou]|quy|tr[uo][ocn]|th[iu]$|ph[aeiou]|vi[ec]|d[iu]$)"
    "|(?:uo[cimnpt]|uong|ie[cmpt]|ieng|ieu|uyen|uyet|oai|oan|[aei]nh|[aei]ch|uu|uat|uan)$"
)
"""Spellings English hardly has."""


BYTES_PER_TOKEN = 3.0
"""UTF-8 bytes a token: low for English (about 4), about right for Vietnamese, so that a text rarely takes more."""


def estimated_tokens(text: str) -> int:
    """How many tokens a text has, rounded up."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)
