"""Vietnamese from before Unicode: TCVN 5712 (the ".VnTime" fonts) and VNI, recognised by what the words look like.

In these encodings a Vietnamese letter is one or two Western characters. A file in them is legible only with its own
fonts; without, it is read as Western text that no question will ever match.
"""

import re
import unicodedata
from collections.abc import Sequence

from app.text.language import clean

SOFT_HYPHEN = "\u00ad"
KEPT_SOFT_HYPHEN = "\uf0ad"
"""Stands for a soft hyphen, which TCVN spells ư with, until it is known which of the two is meant."""

_TCVN = str.maketrans(
    dict(
        zip(
            [chr(code) for code in range(0xA1, 0x100)],
            "ĂÂÊÔƠƯĐăâêôơưđẰ\u0300\u0309\u0303\u0301\u0323àảãáạẲằẳẵắẴẮẦẨẪẤỀặầẩẫấậèỂẻẽéẹềểễếệìỉỄẾỒĩíịò"
            "ỔỏõóọồổỗốộờởỡớợùỖủũúụừửữứựỳỷỹýỵỐ",
            strict=True,
        )
    )
    | {KEPT_SOFT_HYPHEN: "ư"}
)

_VNI_SINGLES = str.maketrans("ñÑôÔöÖæÆóÓòÒîÎ", "đĐơƠưƯỉỈĩĨịỊỵỴ")
_GRAVE, _ACUTE, _HOOK, _TILDE, _DOT, _CIRCUMFLEX, _BREVE = "\u0300\u0301\u0309\u0303\u0323\u0302\u0306"
_VNI_MARKS = {
    "ø": _GRAVE, "ù": _ACUTE, "û": _HOOK, "õ": _TILDE, "ï": _DOT,
    "â": _CIRCUMFLEX, "à": _CIRCUMFLEX + _GRAVE, "á": _CIRCUMFLEX + _ACUTE, "å": _CIRCUMFLEX + _HOOK,
    "ã": _CIRCUMFLEX + _TILDE, "ä": _CIRCUMFLEX + _DOT,
    "ê": _BREVE, "è": _BREVE + _GRAVE, "é": _BREVE + _ACUTE, "ú": _BREVE + _HOOK, "ü": _BREVE + _TILDE,
    "ë": _BREVE + _DOT,
}  # fmt: skip
"""What a Western letter stands for behind a vowel."""
_VNI_LETTER = re.compile(f"([aeouyôöAEOUYÔÖ])([{''.join(_VNI_MARKS)}{''.join(_VNI_MARKS).upper()}])|[ñÑôÔöÖæÆóÓòÒîÎ]")

_WORD = re.compile(r"[^\W\d_]+")
_NUCLEUS = (
    "a|ă|â|e|ê|i|o|ô|ơ|u|ư|y|ai|ao|au|ay|âu|ây|eo|êu|ia|iê|iêu|iu|oa|oai|oao|oay|oă|oe|oeo|oi|oo|ôi|ơi|ua|uâ|uây|uê|ui|"
    "uô|uôi|uơ|uy|uya|uyê|uyu|ưa|ưi|ươ|ươi|ươu|ưu|yê|yêu"
)
_SYLLABLE = re.compile(f"(?:ngh?|nh|[ckpt]h|tr|gh|gi|qu|[bcdđghklmnpqrstvx])?(?:{_NUCLEUS})(?:ch|ng|nh|[cmnpt])?")
"""A Vietnamese syllable without its tone."""
_TONES = frozenset((_GRAVE, _ACUTE, _HOOK, _TILDE, _DOT))
_SURE_SHARE, _SURE_WORDS, _CLEARLY_MORE = 0.8, 5, 0.25
_SAMPLE_CHARS = 20_000


def from_tcvn(text: str) -> str:
    """TCVN 5712 that was read as Latin-1, as Unicode."""
    return unicodedata.normalize("NFC", text.translate(_TCVN))


def from_vni(text: str) -> str:
    """VNI that was read as Windows-1252, as Unicode."""
    return unicodedata.normalize("NFC", _VNI_LETTER.sub(_vni_letter, text))


def vietnamese_share(text: str) -> tuple[float, int]:
    """Which share of the different words with diacritics could be Vietnamese (0–1), and how many such words."""
    words = {word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", text[:_SAMPLE_CHARS]))}
    marked = [word for word in words if not word.isascii()]
    return (sum(map(_is_syllable, marked)) / len(marked) if marked else 0.0), len(marked)


def from_legacy_fonts(texts: Sequence[str]) -> tuple[list[str], bool]:
    """The texts of one file as Unicode, and whether they had been TCVN or VNI; only changed when that is certain."""
    sample = "\n".join(texts)[:_SAMPLE_CHARS]
    as_it_is = vietnamese_share(_without_kept(sample))[0]
    for decode in (from_tcvn, from_vni) if as_it_is < _SURE_SHARE and not sample.isascii() else ():
        share, words = vietnamese_share(decode(sample))
        if share >= max(_SURE_SHARE, as_it_is + _CLEARLY_MORE) and words >= _SURE_WORDS:
            return [clean(decode(text)) for text in texts], True
    return [_without_kept(text) for text in texts], False


def _without_kept(text: str) -> str:
    return text.replace(KEPT_SOFT_HYPHEN, "") if KEPT_SOFT_HYPHEN in text else text


def _is_syllable(word: str) -> bool:
    apart = unicodedata.normalize("NFD", word)
    toneless = "".join(mark for mark in apart if mark not in _TONES)
    return len(apart) - len(toneless) <= 1 and bool(_SYLLABLE.fullmatch(unicodedata.normalize("NFC", toneless)))


def _vni_letter(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0].translate(_VNI_SINGLES)
    return unicodedata.normalize("NFC", found[1].translate(_VNI_SINGLES) + _VNI_MARKS[found[2].lower()])
