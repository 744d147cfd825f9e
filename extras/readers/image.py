"""Images: what their headers say, read by Pillow. Nothing is decoded; pixels are never looked at."""

import io
import warnings
from collections.abc import Mapping
from typing import Any

from PIL import ExifTags, Image, TiffImagePlugin

from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure
from app.ingestion.parsing.sniff import is_image

_FORMATS = {"PNG": "PNG", "JPEG": "JPEG", "GIF": "GIF", "WEBP": "WebP"}
# Pillow loads its formats when the first file comes; in the reading process nothing can be opened then.
Image.init()
_EXIF_READER = TiffImagePlugin
_MAX_TEXT = 64
_WHERE = {"latitude": (1, 2), "longitude": (3, 4)}
"""Tags of the hemisphere and of the angle."""


def read_image(content: bytes, draft: Draft) -> None:
    """Note format, width and height, and where EXIF tells: when, with what and where it was taken. Raises
    `ParseFailed`."""
    if not is_image(content):
        raise ParseFailed(ParseFailure.UNSUPPORTED, "no image")
    with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(content), formats=tuple(_FORMATS)) as image:
        facts = {
            "format": _FORMATS[image.format or ""],
            "width": str(image.width),
            "height": str(image.height),
            **_exif(image),
        }
    draft.facts.update((name, value) for name, value in facts.items() if value)


def _exif(image: Image.Image) -> dict[str, str]:
    """Read EXIF; what is broken in it tells nothing, the image is one all the same."""
    try:
        main = image.getexif()
        own, where = main.get_ifd(ExifTags.IFD.Exif), main.get_ifd(ExifTags.IFD.GPSInfo)
        taken = _text(own, ExifTags.Base.DateTimeOriginal) or _text(main, ExifTags.Base.DateTime)
        camera = " ".join(filter(None, (_text(main, ExifTags.Base.Make), _text(main, ExifTags.Base.Model))))
        return {"taken_at": taken, "camera": camera, **_place(where)}
    except Exception:
        return {}


def _text(fields: Mapping[int, Any], tag: int) -> str:
    value = fields.get(tag, "")
    return "".join(filter(str.isprintable, value[:_MAX_TEXT])).strip() if isinstance(value, str) else ""


def _place(fields: Mapping[int, Any]) -> dict[str, str]:
    found = {}
    for name, (side, angle) in _WHERE.items():
        if angle in fields:
            degrees = sum(float(part) / 60**at for at, part in enumerate(fields[angle][:3]))
            found[name] = f"{'-' if _text(fields, side) in ('S', 'W') else ''}{degrees:.5f}"
    return found
