"""Pictures of text are read with page numbers, doubtful words are not told as certain, and hostile pictures end in a
named way; without Tesseract every such file says what to install."""

import struct
import zlib
from collections.abc import AsyncIterator

import pytest
from PIL import Image

from app.ingestion.parsing import FileKind, ParsedFile, ParseFailed, ParseFailure, ParseLimits, Parser, WarningCode
from app.ingestion.parsing.outcome import MEBIBYTE
from tests.cases import each_case
from tests.extras.readers.scanned import LEAVE, SHIFT, as_file, needs_tesseract, page, smeared
from tests.unit.ingestion.parsing.hostile_pdf import many_pages
from tests.unit.ingestion.parsing.rawpdf import page_with, pages_with, text_at

READER = "extras.readers.scanning:read_scan"
PICTURE = b"q 500 0 0 700 50 50 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"


def codes(parsed: ParsedFile) -> dict[str, int]:
    return {one.code: one.count for one in parsed.warnings}


async def ending(parser: Parser, content: bytes, name: str) -> str:
    try:
        return "partial" if (await parser.parse(content, name)).is_partial else "ok"
    except ParseFailed as failure:
        return failure.code.value


def bomb(width: int, height: int) -> bytes:
    """A PNG whose few bytes unfold to that many pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        sum_of = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + sum_of

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1_000))) + chunk(b"IEND", b"")
    )


@pytest.fixture(scope="module")
async def parser() -> AsyncIterator[Parser]:
    opened = Parser()
    yield opened
    await opened.aclose()


@needs_tesseract
class TestScans:
    @each_case("kind", ["PNG", "JPEG", "TIFF"])
    async def test_a_picture_says_what_stands_on_it(self, parser: Parser, kind: str) -> None:
        parsed = await parser.parse(as_file([page(LEAVE, SHIFT)], kind), "a.bin")
        assert (parsed.kind, parsed.pages, parsed.is_partial) == (FileKind.PICTURE, (0,), False)
        assert " ".join(parsed.text.split()) == f"{LEAVE} {SHIFT}"
        assert codes(parsed) == {"PAGES_RECOGNISED": 1}

    @each_case("kind", ["TIFF", "PDF"])
    async def test_each_page_is_counted(self, parser: Parser, kind: str) -> None:
        parsed = await parser.parse(as_file([page(LEAVE), page(SHIFT)], kind), "a.bin")
        assert parsed.text.index(SHIFT) == parsed.pages[1]
        assert (parsed.text.startswith(LEAVE), codes(parsed)) == (True, {"PAGES_RECOGNISED": 2})

    async def test_pages_with_letters_are_not_recognised(self, parser: Parser) -> None:
        contents = [text_at(72, 700, "A page with a sentence on it."), PICTURE]
        parsed = await parser.parse(pages_with(contents), "scan.pdf")
        assert (parsed.text, codes(parsed)) == ("A page with a sentence on it.", {"PAGES_WITHOUT_TEXT": 1})

    async def test_what_is_too_unclear_is_left_out_and_said(self, parser: Parser) -> None:
        parsed = await parser.parse(as_file([page(LEAVE), smeared(LEAVE, SHIFT)], "PDF"), "a.pdf")
        assert (parsed.text, parsed.is_partial) == (LEAVE, True)
        assert codes(parsed) == {"PAGES_RECOGNISED": 1, "PAGES_UNCLEAR": 1}
        assert await ending(parser, as_file([smeared(LEAVE, SHIFT)], "PNG"), "a.png") == "NO_TEXT"

    async def test_what_is_transparent_is_white(self, parser: Parser) -> None:
        shown = page(SHIFT)
        image = shown.convert("RGBA")
        image.putalpha(shown.point(lambda value: 255 - value))
        assert (await parser.parse(as_file([image.point(lambda value: value)], "PNG"), "a.png")).text == SHIFT


@needs_tesseract
class TestHostileScans:
    @each_case(
        ("content", "name", "expected"),
        [
            (bomb(60_000, 60_000), "a.png", {"MEMORY_LIMIT"}),
            (bomb(1_000_000, 1), "a.png", {"MEMORY_LIMIT"}),
            (bomb(2_000, 2_000), "a.png", {"DAMAGED"}),
            (b"II*\0" + b"\xff" * 200, "a.tif", {"DAMAGED"}),
            (
                many_pages(10_000, 10_000).replace(b"(A sentence everybody can read) Tj", b""),
                "a.pdf",
                {"TOO_MANY_PAGES"},
            ),
        ],
        ids=["vast", "long", "little", "cut", "pages"],
    )
    async def test_end_in_a_named_way(self, parser: Parser, content: bytes, name: str, expected: set[str]) -> None:
        assert await ending(parser, content, name) in expected

    async def test_a_cut_tiff_is_damaged(self, parser: Parser) -> None:
        whole = as_file([page(LEAVE, SHIFT)], "TIFF", compression="tiff_lzw")
        assert {await ending(parser, whole[: len(whole) * part // 4], "a.tif") for part in (1, 3)} == {"DAMAGED"}

    async def test_time_that_runs_out_keeps_the_pages_before(self) -> None:
        hurried = Parser(ParseLimits(cpu_seconds=1, memory_bytes=700 * MEBIBYTE), 1, READER)
        try:
            parsed = await hurried.parse(as_file([page(LEAVE, SHIFT)] * 12, "PDF"), "a.pdf")
        finally:
            await hurried.aclose()
        assert parsed.is_partial and LEAVE in parsed.text
        assert codes(parsed)["PAGES_RECOGNISED"] + codes(parsed)["TRUNCATED_PAGES"] == 12


class TestWithoutTesseract:
    async def test_says_what_to_install_and_is_never_empty(self) -> None:
        bare = Parser(ParseLimits(), 1, "tests.extras.readers.without_tesseract:read_scan")
        try:
            for content, name in ((as_file([Image.new("L", (90, 90))], "PNG"), "a.png"), (page_with(PICTURE), "a.pdf")):
                with pytest.raises(ParseFailed) as failure:
                    await bare.parse(content, name)
                assert failure.value.code is ParseFailure.NO_RECOGNITION
                assert "apt-get install tesseract-ocr tesseract-ocr-vie" in failure.value.advice
            some = await bare.parse(pages_with([text_at(72, 700, "A page with a sentence on it."), b""]), "a.pdf")
            assert some.text == "A page with a sentence on it."
        finally:
            await bare.aclose()

    async def test_a_page_without_letters_is_told_beside_the_others(self) -> None:
        bare = Parser()
        bare._scans = Parser(ParseLimits(), 1, "tests.extras.readers.without_tesseract:read_scan")
        try:
            contents = [text_at(72, 700, "A page with a sentence on it."), PICTURE]
            parsed = await bare.parse(pages_with(contents), "scan.pdf")
        finally:
            await bare.aclose()
        assert parsed.is_partial and codes(parsed) == {WarningCode.PAGES_WITHOUT_TEXT: 1}
