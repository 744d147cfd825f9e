"""Attached files as they are read: tables cell by cell, images and archives described, hostile ones refused by code."""

import io
import struct
import zipfile
from collections.abc import AsyncIterator

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from app.domain.attachments import FileContent
from app.ingestion.attached import READING, content_of
from app.ingestion.parsing import (
    DescribedFile,
    DescribedKind,
    ParsedFile,
    ParseFailed,
    ParseFailure,
    ParseLimits,
    Parser,
)
from app.ingestion.parsing.reading import read_file
from app.storage.attachments import content_of as stored
from tests.cases import each_case

pytestmark = pytest.mark.slow

CSV = "Phòng;Chi phí (đ)\nIT;1.000.000\nKế toán;2.500.000\n"


def image(form: str, width: int, height: int, **fields: bytes) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (width, height)).save(written, form, **fields)
    return written.getvalue()


PNG = image("PNG", 640, 480)


def exif(taken: bytes = b"2026:04:01 08:00:00\0") -> bytes:
    """A TIFF with the date of taking and a place."""
    main = struct.pack("<HHHIIHHIII", 2, 0x8769, 4, 1, 38, 0x8825, 4, 1, 76, 0)
    own = struct.pack("<HHHIII", 1, 0x9003, 2, len(taken), 56, 0)
    where = struct.pack(
        "<HHHI4sHHIIHHI4sHHIII", 4, 1, 2, 2, b"N\0\0\0", 2, 5, 3, 130, 3, 2, 2, b"E\0\0\0", 4, 5, 3, 154, 0
    )
    places = struct.pack("<6I", 10, 1, 46, 1, 30, 1) + struct.pack("<6I", 106, 1, 42, 1, 0, 1)
    return b"II*\0" + struct.pack("<I", 8) + main + own + taken + where + places


def workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Quý 2"
    for row in (["BÁO CÁO CHI PHÍ"], ["Phòng", "Chi phí", "Tỷ lệ"], ["IT", 1234567.891, 0.125], ["HR", 0.1 + 0.2, 0.3]):
        sheet.append(row)
    for cells in sheet.iter_rows(min_row=3):
        cells[1].number_format, cells[2].number_format = '#,##0 "₫"', "0%"
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def archive(**files: str) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name.replace("__", "/"), text)
    return written.getvalue()


@pytest.fixture(scope="module")
async def parser() -> AsyncIterator[Parser]:
    opened = Parser(READING)
    yield opened
    await opened.aclose()


async def content(parser: Parser, data: bytes, name: str) -> FileContent:
    return content_of(await parser.parse_attached(data, name), name)


class TestParseAttached:
    async def test_keeps_the_rows_of_a_csv_file(self, parser: Parser) -> None:
        (table,) = (await content(parser, CSV.encode(), "chi_phi.csv")).tables
        assert table.header == ("Phòng", "Chi phí (đ)")
        assert table.rows == (("IT", "1.000.000"), ("Kế toán", "2.500.000"))

    async def test_keeps_numbers_of_sheets_unrounded_with_their_units(self, parser: Parser) -> None:
        (table,) = (await content(parser, workbook(), "a.xlsx")).tables
        assert (table.name, table.page) == ("Quý 2 – BÁO CÁO CHI PHÍ", 1)
        assert table.rows == (("IT", 1234567.891, 12.5), ("HR", 0.3, 30))
        assert table.units == ("", "đ", "%")

    async def test_takes_tables_of_texts_as_they_stand(self, parser: Parser) -> None:
        text = "# Lương\n\n| Bậc | Lương |\n|---|---|\n| A \\| B | 5.000.000 |\n\nHết."
        read = await content(parser, text.encode(), "luong.md")
        assert [(one.name, one.header, one.rows) for one in read.tables] == [
            ("Lương", ("Bậc", "Lương"), (("A | B", "5.000.000"),))
        ]
        assert read.sections

    async def test_cuts_tables_that_are_too_large(self) -> None:
        parser = Parser(ParseLimits(table_cells=4))
        try:
            parsed = await parser.parse_attached(("a,b\n" + "1,2\n" * 50).encode(), "a.csv")
        finally:
            await parser.aclose()
        assert isinstance(parsed, ParsedFile)
        (table,) = parsed.tables
        assert (len(table.rows), table.is_cut) == (2, True)

    async def test_documents_are_parsed_without_their_tables(self, parser: Parser) -> None:
        plain = Parser()
        try:
            assert (await plain.parse(CSV.encode(), "a.csv")).tables == ()
            with pytest.raises(ParseFailed):
                await plain.parse(PNG, "a.png")
        finally:
            await plain.aclose()

    async def test_describes_images(self, parser: Parser) -> None:
        read = await content(parser, image("JPEG", 640, 480, exif=b"Exif\0\0" + exif()), "a.jpg")
        assert read.facts == {
            "format": "JPEG", "width": "640", "height": "480", "taken_at": "2026:04:01 08:00:00",
            "latitude": "10.77500", "longitude": "106.70000",
        }  # fmt: skip
        assert (await content(parser, PNG, "x")).facts["width"] == "640"
        gif = await content(parser, image("GIF", 3, 4), "a.gif")
        assert gif.facts == {"format": "GIF", "width": "3", "height": "4"}

    async def test_lists_archives_without_unpacking_them(self, parser: Parser) -> None:
        read = await content(parser, archive(a__b="hello", c="x" * 100), "a.zip")
        assert [(one.name, one.byte_count) for one in read.entries] == [("a/b", 5), ("c", 100)]

    @each_case(
        ("data", "name", "code"),
        [
            (archive(**{"..__etc__passwd": "x"}), "a.zip", ParseFailure.ARCHIVE_UNSAFE),
            (archive(bomb="0" * 60_000_000), "a.zip", ParseFailure.ARCHIVE_BOMB),
            (archive(a="x")[:-10], "a.zip", ParseFailure.DAMAGED),
            (PNG[:20], "a.png", ParseFailure.DAMAGED),
            (b"\x00\x01\x02" * 50, "a.bin", ParseFailure.UNSUPPORTED),
            (b"\x7fELF" + b"\0" * 99, "a.csv", ParseFailure.UNSUPPORTED),
        ],
        # An archive holds the time it was made; names must be the same in every process.
        ids=["a path upwards", "a bomb", "a cut archive", "a cut image", "unknown", "a program"],
    )
    async def test_refuses_hostile_files_by_code(
        self, parser: Parser, data: bytes, name: str, code: ParseFailure
    ) -> None:
        with pytest.raises(ParseFailed) as failure:
            await parser.parse_attached(data, name)
        assert failure.value.code is code

    @given(st.binary(max_size=300))
    def test_images_of_any_bytes_end_in_facts_or_a_code(self, data: bytes) -> None:
        photo = image("JPEG", 1, 1, exif=b"Exif\0\0" + exif())
        for head in (b"", PNG[:16], b"\xff\xd8\xff\xe1", b"GIF89a", b"RIFF____WEBP", photo[:60]):
            try:
                described = read_file(head + data, DescribedKind.IMAGE, ParseLimits())["described"]
                assert all(value.isprintable() for value in described["facts"].values())
            except ParseFailed as failure:
                assert failure.code in (ParseFailure.DAMAGED, ParseFailure.UNSUPPORTED)

    async def test_content_is_stored_and_read_alike(self, parser: Parser) -> None:
        for data, name in ((workbook(), "a.xlsx"), (CSV.encode(), "a.csv"), (PNG, "a.png")):
            read = await content(parser, data, name)
            assert stored(read.model_dump_json()) == read

    async def test_what_is_described_has_no_text(self, parser: Parser) -> None:
        assert isinstance(await parser.parse_attached(PNG, "a.png"), DescribedFile)
