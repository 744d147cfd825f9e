"""Bytes to characters: what a byte order mark says, else UTF-8 where it fits, else the best guess.

Also Vietnamese from before Unicode: TCVN 5712 (the ".VnTime" fonts) and VNI, where a letter is one or two Western
characters. A file in them is legible only with its own fonts; it is recognised by what its words look like.
"""

import codecs
import encodings
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from pkgutil import iter_modules
from typing import NamedTuple

from charset_normalizer import from_bytes
from charset_normalizer.constant import IANA_SUPPORTED

from app.ingestion.parsing.sniff import wide_encoding
from app.text.language import clean

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The longer marks before those they begin with."""
_ESCAPE = b"\x1b"
_TRICKY = {"utf-7", "idna", "hz"}
_BELIEVED = frozenset(codecs.lookup(name.removesuffix("_codec")).name for name in IANA_SUPPORTED) - _TRICKY
"""Names a file may give for its own encoding."""
for _module in iter_modules(encodings.__path__):
    # Loaded now, all of them: later, when a library is told a strange name, there is no opening of files.
    with suppress(LookupError):
        codecs.lookup(_module.name)
_SAMPLE_BYTES = 64 * 1024
_CONTROLS = bytes(range(0x80, 0xA1))
"""No letters in TCVN."""
_SURE_GUESS = 0.75
_MAX_BROKEN_SHARE = 0.005
"""Of the bytes: UTF-8 with a few broken sequences is still UTF-8."""


class Decoded(NamedTuple):
    """A text with where its encoding is known from."""

    text: str
    is_guessed: bool


def decode(content: bytes, declared: str = "") -> Decoded:
    """The characters of a text file. `declared`: an encoding the file names itself, believed when it fits.

    What cannot be decoded becomes U+FFFD; never raises.
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return Decoded(content[len(mark) :].decode(name, "replace"), False)
    if name := wide_encoding(content[:_SAMPLE_BYTES]):
        return Decoded(content.decode(name, "replace"), True)
    if _ESCAPE in content and declared.lower().startswith("iso-2022-") and (told := _declared(content, declared)):
        return told
    try:
        return Decoded(content.decode("utf-8"), False)
    except UnicodeDecodeError:
        return _declared(content, declared) or _almost_utf8(content) or _guessed(content)


def _declared(content: bytes, name: str) -> Decoded | None:
    try:
        is_believed = codecs.lookup(name).name in _BELIEVED if name else False
        return Decoded(content.decode(name), False) if is_believed else None
    except (LookupError, ValueError):
        return None


def _almost_utf8(content: bytes) -> Decoded | None:
    text = content.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    has_others = broken * 4 < sum(not char.isascii() for char in text[:_SAMPLE_BYTES])
    return Decoded(text, False) if has_others and broken <= 1 + len(content) * _MAX_BROKEN_SHARE else None


def _guessed(content: bytes) -> Decoded:
    sample = content[:_SAMPLE_BYTES]
    western = sample.decode("cp1252", "replace")
    readings = {"cp1258": sample.decode("cp1258", "replace"), "vni": from_vni(western)}
    if sample.translate(None, _CONTROLS) == sample:
        readings["tcvn"] = from_tcvn(sample.decode("latin-1"))
    shares = {name: vietnamese_share(text)[0] for name, text in readings.items() if "\ufffd" not in text}
    best = max(shares, key=lambda name: shares[name], default="")
    if best and shares[best] >= max(_SURE_GUESS, vietnamese_share(western)[0] + 0.1):
        return Decoded(_in_legacy(content, best), True)
    match = from_bytes(sample).best()
    name = "cp1252" if match is None or _is_western(sample, western) else match.encoding
    return Decoded(content.decode(name, "replace"), True)


def _in_legacy(content: bytes, name: str) -> str:
    if name == "tcvn":
        return from_tcvn(content.decode("latin-1"))
    return from_vni(content.decode("cp1252", "replace")) if name == "vni" else content.decode(name, "replace")


def _is_western(sample: bytes, western: str) -> bool:
    """Whether Windows-1252 explains the bytes: few letters beyond ASCII, each between or after plain ones."""
    high = sum(byte > 0x7F for byte in sample)
    letters = sum(not char.isascii() and char.isalpha() for char in western)
    signs = sum(char in "‘’“”–—…€£§°·«»•©®" for char in western)
    return high * 5 < len(sample) and letters + signs >= high * 0.98


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
