"""Tesseract through its C interface: the letters on a picture, with where they stand and how sure it is of them.

Library and languages are loaded once, before anything hostile comes. Recognising opens no file and starts no process:
it runs where all files are read, in a forked process that can do nothing else. Debian calls the packages tesseract-ocr
and tesseract-ocr-vie; they are used where they are found.
"""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lxml import html

_NAMES = (
    "libtesseract.so.5",
    "libtesseract.so.4",
    "/opt/homebrew/lib/libtesseract.dylib",
    "/usr/local/lib/libtesseract.dylib",
)
_UNPACKED = Path(sys.prefix) / "tesseract" / "usr"
"""Where `make test` lays the packages without installing them."""
_WANTED = (b"vie", b"eng")
_ROUNDS = 4
"""Libraries that need one another are loaded in whatever order works."""
_NUMBERS = re.compile(r"(bbox|x_size|x_wconf) ([-\d. ]+)")
_LINES = "ocr_line ocr_header ocr_caption ocr_textfloat"


DPI, MOST_PIXELS = 300, 12_000_000
"""How fine pages are recognised, and of how many pixels one is at most: A4 at 350 dpi."""


class Raster(NamedTuple):
    """A grey picture: one byte a pixel, `stride` bytes a row."""

    pixels: bytes
    width: int
    height: int
    stride: int
    dpi: int


class Word(NamedTuple):
    """A word as it was recognised; `confidence` is 0–100."""

    text: str
    confidence: float


class SeenLine(NamedTuple):
    """A line of words; measures in pixels, y grows downwards."""

    words: tuple[Word, ...]
    left: float
    top: float
    right: float
    bottom: float
    size: float
    """From the lowest to the highest a letter of its font reaches."""


class Tesseract:
    """One recogniser with its languages in memory. Not safe for threads; forked copies are independent."""

    def __init__(self) -> None:
        """Load library and languages. Raises `OSError` when they are not on this machine."""
        self._library = _library()
        folder = _trained()
        self._handle = ctypes.c_void_p(self._library.TessBaseAPICreate())
        if self._library.TessBaseAPIInit3(self._handle, os.fsencode(folder), b"+".join(_WANTED)):
            raise OSError("Tesseract does not take the languages")

    def lines(self, raster: Raster) -> Iterator[SeenLine]:
        """The lines on a picture in reading order."""
        self._library.TessBaseAPISetImage(
            self._handle, raster.pixels, raster.width, raster.height, 1, raster.stride
        )  # fmt: skip
        self._library.TessBaseAPISetSourceResolution(self._handle, raster.dpi)
        written = self._library.TessBaseAPIGetHOCRText(self._handle, 0)
        if not written:
            return
        markup = ctypes.string_at(written)
        self._library.TessDeleteText(ctypes.c_void_p(written))
        for line in html.fromstring(markup, parser=html.HTMLParser(encoding="utf-8", huge_tree=True)).iter("span"):
            if line.get("class", "") in _LINES.split():
                measures = _measures(line)
                words = [
                    Word(_text(word), _measures(word)["x_wconf"][0]) for word in line.iter("span") if _is_word(word)
                ]
                kept = tuple(word for word in words if word.text)
                if kept:
                    left, top, right, bottom = measures["bbox"]
                    yield SeenLine(kept, left, top, right, bottom, measures["x_size"][0])


def _is_word(element: html.HtmlElement) -> bool:
    return bool(element.get("class") == "ocrx_word")


def _text(element: html.HtmlElement) -> str:
    return "".join(str(element.text_content()).split())


def _measures(element: html.HtmlElement) -> dict[str, list[float]]:
    return {name: [*map(float, values.split())] for name, values in _NUMBERS.findall(element.get("title", ""))}


def _library() -> ctypes.CDLL:
    """The library, as the system knows it or as it was unpacked. Raises `OSError`."""
    for name in chain(_NAMES, _unpacked()):
        with suppress(OSError):
            return _declared(ctypes.CDLL(name))
    raise OSError("no libtesseract on this machine")


def _unpacked() -> Iterator[str]:
    """The path of the unpacked library, when what it needs beside it is loaded."""
    found = sorted(_UNPACKED.glob("lib/*/*.so.*"))
    for _ in range(_ROUNDS):
        for path in found:
            with suppress(OSError):
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    yield from (str(path) for path in found if path.name in _NAMES)


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    for name in ("TessBaseAPICreate", "TessBaseAPIGetHOCRText"):
        getattr(library, name).restype = ctypes.c_void_p
    library.TessBaseAPISetImage.argtypes = [ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4]
    return library


def _trained() -> Path:
    """The folder with what is known of the languages. Raises `OSError` when there is none with all of them."""
    places = [Path(path).parents[1] for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path.count("/") > 2]
    for root in (*places, _UNPACKED, *map(Path, ("/usr", "/usr/local", "/opt/homebrew"))):
        for folder in (*sorted(root.glob("share/tesseract-ocr/*/tessdata")), root / "share" / "tessdata"):
            if all((folder / f"{one.decode()}.traineddata").is_file() for one in _WANTED):
                return folder
    raise OSError("no trained data for vie and eng on this machine")
