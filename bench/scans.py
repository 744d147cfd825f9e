"""How well scans are read: our own documents, set as pages, drawn at 200 dpi and recognised: ``python -m bench.scans``.

Every page is drawn black on white in a font with Vietnamese letters, and once more as a worn copy: turned by half a
degree, softened, with noise. Each goes through the service's parser as a PNG. Counted are the characters that have
to be put in, taken out or changed, white space and the length of dashes aside; limit: 3 in 1,000 of the clean pages.
Ends with 1 when that is missed.
"""

import argparse
import asyncio
import io
import re
import sys
import time
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from app.ingestion.parsing import ParseFailed, Parser
from app.text.language import guess_language

DPI, WIDTH, HEIGHT, MARGIN = 200, 1654, 2339, 200
"""A4."""
POINTS, HEADING_POINTS, LEADING = 11, 15, 1.4
LIMIT = 0.003
_FONTS = ("/usr/share/fonts/truetype/dejavu", f"{sys.prefix}/tesseract/usr/share/fonts/truetype/dejavu")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
_MARKUP = re.compile(r"[*_`|]+|^> ?|^ *- ", re.M)
_RULE = re.compile(r"^\|[-:| ]+$", re.M)


class Row(NamedTuple):
    """One page as it was read; `errors` of `characters`, None = it was left out as too unclear."""

    language: str
    way: str
    characters: int
    errors: int | None
    seconds: float


def font_path(name: str = "DejaVuSerif.ttf") -> Path | None:
    """A font with Vietnamese letters; None where there is none."""
    return next((path for folder in _FONTS if (path := Path(folder) / name).is_file()), None)


def pages_of(text: str, font: Path) -> Iterator[tuple[Image.Image, str]]:
    """The pages a Markdown text takes, each with what stands on it."""
    fonts = {size: ImageFont.truetype(str(font), round(size * DPI / 72)) for size in (POINTS, HEADING_POINTS)}
    page, lines, at = _blank(), list[str](), float(MARGIN)
    for line, size in _lines(text, fonts):
        if at + size * DPI / 72 * LEADING > HEIGHT - MARGIN:
            yield page, "\n".join(lines)
            page, lines, at = _blank(), [], float(MARGIN)
        ImageDraw.Draw(page).text((MARGIN, at), line, font=fonts[size], fill=0)
        lines.append(line)
        at += size * DPI / 72 * LEADING
    if lines:
        yield page, "\n".join(lines)


def _blank() -> Image.Image:
    return Image.new("L", (WIDTH, HEIGHT), 255)


def _lines(text: str, fonts: dict[int, ImageFont.FreeTypeFont]) -> Iterator[tuple[str, int]]:
    for line in _RULE.sub("", _FRONT_MATTER.sub("", unicodedata.normalize("NFC", text))).splitlines():
        size = HEADING_POINTS if line.startswith("#") else POINTS
        words = _MARKUP.sub("", line.lstrip("# ")).split()
        shown = ""
        for word in words:
            longer = f"{shown} {word}".strip()
            if shown and fonts[size].getlength(longer) > WIDTH - 2 * MARGIN:
                yield shown, size
                longer = word
            shown = longer
        yield shown, size


def worn(page: Image.Image) -> Image.Image:
    """A page as it comes from an old copier."""
    turned = page.rotate(0.5, resample=Image.Resampling.BICUBIC, fillcolor=255).filter(ImageFilter.GaussianBlur(1.0))
    return ImageChops.add(turned, Image.effect_noise(turned.size, 30), 1, -128)


def errors_in(read: str, written: str) -> tuple[int, int]:
    """(edits, characters), white space aside; edits from above: each run that differs counts by its longer side."""
    written, read = _letters(written), _letters(_MARKUP.sub("", read.replace("#", "")))
    found = SequenceMatcher(None, written, read, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for kind, a, b, c, d in found if kind != "equal"), len(written)


def _letters(text: str) -> str:
    return "".join(unicodedata.normalize("NFC", text).replace("–", "-").split())


async def measure(documents: list[Path], font: Path) -> list[Row]:
    """Read the first page of each document, clean and worn."""
    parser, rows = Parser(), list[Row]()
    try:
        for path in documents:
            page, written = next(pages_of(path.read_text("utf-8"), font))
            for way, shown in (("clean", page), ("worn", worn(page))):
                target = io.BytesIO()
                shown.save(target, "PNG", dpi=(DPI, DPI))
                started = time.perf_counter()
                errors: int | None = None
                try:
                    parsed = await parser.parse(target.getvalue(), "page.png")
                    errors, _ = errors_in(parsed.text, written)
                except ParseFailed as failure:
                    print(f"{path}: {failure.code}", file=sys.stderr)
                language = str(guess_language(written))
                rows.append(Row(language, way, len(_letters(written)), errors, time.perf_counter() - started))
    finally:
        await parser.aclose()
    return rows


def report(rows: list[Row]) -> tuple[str, bool]:
    """The table, and whether the clean pages stay within the limit."""
    lines = [
        "| language | pages | characters | left out | errors in 1,000 | seconds a page |",
        "|---|---|---|---|---|---|",
    ]
    for way in ("clean", "worn"):
        for language in ("vi", "en"):
            some = [row for row in rows if (row.way, row.language) == (way, language)]
            read = [row for row in some if row.errors is not None]
            if some:
                rate = 1000 * sum(row.errors or 0 for row in read) / max(sum(row.characters for row in read), 1)
                seconds = sum(row.seconds for row in some) / len(some)
                counts = f"{len(some)} | {sum(row.characters for row in some)} | {len(some) - len(read)}"
                lines.append(f"| {language}, {way} | {counts} | {rate:.2f} | {seconds:.1f} |")
    clean = [row for row in rows if row.way == "clean"]
    errors = sum(row.characters if row.errors is None else row.errors for row in clean)
    return "\n".join(lines), errors <= LIMIT * max(sum(row.characters for row in clean), 1)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--documents", type=Path, nargs="*", default=[Path("seed_data"), Path("bench/companies")])
    arguments.add_argument("--pages", type=int, default=40)
    given = arguments.parse_args()
    font = font_path()
    if font is None:
        sys.exit("no font with Vietnamese letters here: install fonts-dejavu-core")
    found = sorted(path for folder in given.documents for path in folder.rglob("*.md") if path.name != "README.md")
    table, is_within = report(asyncio.run(measure(found[:: max(1, len(found) // given.pages)][: given.pages], font)))
    print(table)
    sys.exit(0 if is_within else 1)


if __name__ == "__main__":
    main()
