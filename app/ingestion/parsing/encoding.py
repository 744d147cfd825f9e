"""Bytes to characters: what a byte order mark says, else UTF-8 where it fits, else the best guess."""

import codecs
import encodings
from contextlib import suppress
from pkgutil import iter_modules
from typing import NamedTuple

from charset_normalizer import from_bytes
from charset_normalizer.constant import IANA_SUPPORTED

from app.ingestion.parsing.legacy import from_tcvn, from_vni, vietnamese_share
from app.ingestion.parsing.sniff import wide_encoding

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
_SURE_SHARE = 0.75
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
    if best and shares[best] >= max(_SURE_SHARE, vietnamese_share(western)[0] + 0.1):
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
