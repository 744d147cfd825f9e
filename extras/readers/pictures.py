"""PNG, JPEG and TIFF as documents: each picture is recognised as a page of a PDF is."""

import io
import time
import warnings
from collections.abc import Iterator

from PIL import Image, ImageOps

from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure, WarningCode
from app.ingestion.parsing.pdf import ReadPage, write_pages
from extras.readers.tesseract import DPI, MOST_PIXELS, Raster

_FORMATS = ("PNG", "JPEG", "TIFF")
# Pillow loads its formats when the first file comes; in the reading process nothing can be opened then.
Image.init()
_MOST_DECODED = 64_000_000
"""Pixels of a picture as it comes: A4 at 800 dpi."""
_MOST_SIDE = 32_000
_TRUSTED_DPI, _FINE_DPI, _SCREEN_DPI = (100, 1_200), 250, 100
_LONG_SIDE, _PAGE_INCHES = 2_200, 11.7
"""In pixels: what does not say how fine it is and is shorter is taken for a screen, else for a page of A4."""
_CPU_SHARE = 0.7


def read_picture(content: bytes, draft: Draft) -> None:
    """Fill the draft from a picture, of a TIFF with each of its pages. Raises `ParseFailed`, and what Pillow raises."""
    if draft.recognise is None:
        raise ParseFailed(ParseFailure.NO_RECOGNITION)
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(content), formats=_FORMATS) as image:
            pages = [ReadPage(draft.recognise(raster), []) for raster in _rasters(image, draft)]
    except Image.DecompressionBombError as error:
        raise ParseFailed(ParseFailure.MEMORY_LIMIT, "too many pixels") from error
    write_pages(pages, {}, draft)


def _rasters(image: Image.Image, draft: Draft) -> Iterator[Raster]:
    """Its pages in order, until time runs out."""
    at = 0
    while _has_page(image, at):
        if at >= draft.limits.pages:
            raise ParseFailed(ParseFailure.TOO_MANY_PAGES)
        if time.process_time() > draft.limits.cpu_seconds * _CPU_SHARE:
            draft.warn(WarningCode.TRUNCATED_PAGES, getattr(image, "n_frames", at + 1) - at)
            return
        yield _raster(image)
        at += 1


def _has_page(image: Image.Image, at: int) -> bool:
    try:
        image.seek(at)
    except EOFError:
        return False
    # Some JPEGs of cameras hold a small one beside the picture.
    return at == 0 or image.format == "TIFF"


def _raster(image: Image.Image) -> Raster:
    if image.width * image.height > _MOST_DECODED or max(image.size) > _MOST_SIDE:
        raise ParseFailed(ParseFailure.MEMORY_LIMIT, "too many pixels")
    dpi = _dpi(image)
    wanted = DPI / dpi if dpi < _FINE_DPI else 1.0
    scale = min(wanted, (MOST_PIXELS / (image.width * image.height)) ** 0.5)
    grey = _grey(image)
    if scale != 1.0:
        size = (max(1, round(grey.width * scale)), max(1, round(grey.height * scale)))
        grey = grey.resize(size, Image.Resampling.LANCZOS)
    return Raster(grey.tobytes(), grey.width, grey.height, grey.width, max(70, round(dpi * scale)))


def _grey(image: Image.Image) -> Image.Image:
    """Black on white, upright; what is transparent is white."""
    if image.mode.startswith("I"):
        return ImageOps.exif_transpose(image.convert("I").point(lambda value: value / 256).convert("L"))
    if image.has_transparency_data:
        shown = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown)
    return ImageOps.exif_transpose(image.convert("L"))


def _dpi(image: Image.Image) -> float:
    """Dots an inch, as it says where that can be, else as it is likely."""
    said = image.info.get("dpi", (0, 0))[0]
    least, most = _TRUSTED_DPI
    if least <= said <= most:
        return float(said)
    longest = max(image.size)
    return _SCREEN_DPI if longest < _LONG_SIDE else longest / _PAGE_INCHES
