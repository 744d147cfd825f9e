"""Whatever alphabet a file was saved in, its text comes out right, and a guess is called a guess."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from app.ingestion.parsing import FileKind, Parser, WarningCode, sniff
from app.ingestion.parsing.encoding import decode, from_legacy_fonts, from_tcvn, from_vni
from app.text.language import clean
from tests.cases import each_case

VIETNAMESE = (
    "Điều 113. Nghỉ hằng năm. Người lao động làm việc đủ 12 tháng cho một người sử dụng lao động thì được nghỉ hằng "
    "năm, hưởng nguyên lương theo hợp đồng lao động như sau: 14 ngày đối với người làm nghề, công việc nặng nhọc."
)
TONES = "\u0300\u0301\u0303\u0309\u0323"


def windows_1258(text: str) -> bytes:
    """Letters with their tone as a mark behind them, as that code page has it."""
    apart = (unicodedata.normalize("NFD", char) for char in text)
    parted = ((letter.translate(dict.fromkeys(map(ord, TONES))), "".join(set(letter) & set(TONES))) for letter in apart)
    return "".join(unicodedata.normalize("NFC", base) + tone for base, tone in parted).encode("cp1258")


def reversed_by(decoder: object, letters: str) -> dict[str, str]:
    return {decoder(spelt): spelt for spelt in letters.split()}  # type: ignore[operator]


VNI = reversed_by(
    from_vni,
    "aø aù aû aõ aï aê aè aé aú aü aë aâ aà aá aå aã aä eø eù eû eõ eï eâ eà eá eå eã eä oø où oû oõ oï oâ oà oá oå oã "
    "oä ô ôø ôù ôû ôõ ôï uø uù uû uõ uï ö öø öù öû öõ öï yø yù yû yõ î æ ó ò ñ Ñ AÂ OÂ EÂ",
)
TCVN = reversed_by(from_tcvn, " ".join(map(chr, range(0xA1, 0x100))))


class TestDecode:
    @each_case(
        ("encoded", "is_guessed"),
        [
            (VIETNAMESE.encode(), False),
            (VIETNAMESE.encode("utf-8-sig"), False),
            (VIETNAMESE.encode("utf-16"), False),
            (b"\xfe\xff" + VIETNAMESE.encode("utf-16-be"), False),
            (VIETNAMESE.encode("utf-32"), False),
            (VIETNAMESE.encode("utf-16-le"), True),
            (VIETNAMESE.encode("utf-16-be"), True),
            (VIETNAMESE.encode("utf-32-le"), True),
            (VIETNAMESE.encode("utf-32-be"), True),
            (unicodedata.normalize("NFD", VIETNAMESE).encode(), False),
            (windows_1258(VIETNAMESE), True),
            ("".join(TCVN.get(char, char) for char in VIETNAMESE).encode("latin-1"), True),
            ("".join(VNI.get(char, char) for char in VIETNAMESE).encode("cp1252"), True),
        ],
        ids=["utf-8", "utf-8 mark", "utf-16 mark", "utf-16-be mark", "utf-32 mark", "utf-16-le", "utf-16-be",
             "utf-32-le", "utf-32-be", "nfd", "windows-1258", "tcvn", "vni"],
    )  # fmt: skip
    def test_reads_vietnamese(self, encoded: bytes, is_guessed: bool) -> None:
        decoded = decode(encoded)
        assert clean(decoded.text) == VIETNAMESE
        assert decoded.is_guessed is is_guessed

    @each_case(
        ("text", "name"),
        [
            (
                "Le café est déjà fermé à cette heure ; où êtes-vous allé ? Le garçon a mangé des crêpes – 12 €.",
                "cp1252",
            ),
            ("Die Kündigungsfrist beträgt für Angestellte grundsätzlich sechs Wochen.", "cp1252"),
            ("名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,25,大阪\n", "cp932"),
            ("Сотрудники имеют право на ежегодный оплачиваемый отпуск.", "cp1251"),
        ],
    )
    def test_reads_other_languages(self, text: str, name: str) -> None:
        assert decode(text.encode(name)) == (text, True)

    def test_believes_a_name_that_fits_but_no_odd_one(self) -> None:
        assert decode("Ça va très bien".encode("iso-8859-15"), "iso-8859-15") == ("Ça va très bien", False)
        assert decode("こんにちは".encode("iso-2022-jp"), "ISO-2022-JP") == ("こんにちは", False)
        assert decode(b"+ADw-script+AD4-", "utf-7").text == "+ADw-script+AD4-"
        assert decode(b"\\u0041 plain", "unicode_escape").text == "\\u0041 plain"

    def test_keeps_utf8_with_a_broken_end(self) -> None:
        assert decode((VIETNAMESE * 3).encode()[:-2]).text.startswith(VIETNAMESE)

    @given(st.binary(max_size=400), st.sampled_from(["", "utf-8", "cp037", "rot13", "zip", "x\x00"]))
    def test_never_raises(self, content: bytes, declared: str) -> None:
        assert isinstance(decode(content, declared).text, str)


class TestLegacyFonts:
    @each_case("spelling", [TCVN, VNI])
    def test_texts_typed_for_old_fonts_become_unicode(self, spelling: dict[str, str]) -> None:
        typed = "".join(spelling.get(char, char) for char in VIETNAMESE)
        assert from_legacy_fonts([typed, "plain"]) == ([VIETNAMESE, "plain"], True)

    @each_case(
        "text",
        [
            VIETNAMESE,
            "Le garçon a déjà mangé près de l'hôtel, où était-il né?",
            "für über größe Straße schön",
            "naïve café",
        ],
    )
    def test_texts_in_unicode_stay(self, text: str) -> None:
        assert from_legacy_fonts([text]) == ([text], False)


class TestFiles:
    async def test_say_that_their_encoding_was_guessed(self, parser: Parser) -> None:
        parsed = await parser.parse(windows_1258(VIETNAMESE), "a.txt")
        assert parsed.text == VIETNAMESE
        assert [warning.code for warning in parsed.warnings] == [WarningCode.ENCODING_GUESSED]

    async def test_are_partial_when_characters_are_lost(self, parser: Parser) -> None:
        parsed = await parser.parse(VIETNAMESE.encode() + b" \xff " + VIETNAMESE.encode(), "a.txt")
        assert parsed.is_partial
        assert {warning.code for warning in parsed.warnings} == {WarningCode.UNREADABLE_CHARACTERS}

    async def test_a_web_page_may_name_its_encoding(self, parser: Parser) -> None:
        markup = "<html><head><meta charset=shift_jis></head><body><p>有給休暇は年に十四日です</p>".encode("shift_jis")
        parsed = await parser.parse(markup, "a.html")
        assert parsed.text == "有給休暇は年に十四日です"

    async def test_nuls_do_not_get_through(self, parser: Parser) -> None:
        parsed = await parser.parse(b"Ngh\x00i ph\x00ep n\x00am " + b"x" * 200, "a.txt")
        assert parsed.text.startswith("Nghi phep nam")


class TestSniff:
    @each_case(
        ("head", "name", "kind"),
        [
            (b"%PDF-1.7\n", "a.docx", FileKind.PDF),
            (b"\n\n%PDF-1.7", "", FileKind.PDF),
            (bytes(9) + b"%PDF-1.7", "", FileKind.PDF),
            (b"All about %PDF-1.7 files", "a.md", FileKind.MARKDOWN),
            (b"junk " * 300 + b"%PDF-1.7", "a.pdf", FileKind.PDF),
            (b"PK\x03\x04....word/document.xml", "a.zip", FileKind.DOCX),
            (b"PK\x03\x04....", "a.xlsx", FileKind.XLSX),
            (b"PK\x03\x04....", "a.zip", None),
            (b"<!DOCTYPE html><p>", "a.txt", FileKind.HTML),
            ("<html>".encode("utf-16"), "a", FileKind.HTML),
            (b"<p>hello", "a.htm", FileKind.HTML),
            (b"<p align=center>", "README.md", FileKind.MARKDOWN),
            (b"Received: from x\r\nFrom: a\r\n\r\n", "a.txt", FileKind.EML),
            (b"From: a\r\nTo: b\r\n\r\nhello", "a.eml", FileKind.EML),
            (b"From: Hanoi\nWe leave at 8.", "trip.txt", FileKind.TEXT),
            (b"a,b\n1,2", "A.CSV", FileKind.CSV),
            (b"a,b\n1,2", "", FileKind.TEXT),
            (b"", "a.md", FileKind.MARKDOWN),
            (b"\x89PNG\r\n\x1a\n" + bytes(100), "a.txt", FileKind.PICTURE),
            (b"GIF89a" + bytes(100), "a.gif", None),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "a.doc", None),
            (b"{\\rtf1 hello}", "a.txt", None),
            (b"<?xml version='1.0'?><svg/>", "a.svg", None),
            (b"\x00" * 1000, "a.txt", None),
        ],
    )
    def test_believes_the_content(self, head: bytes, name: str, kind: FileKind | None) -> None:
        assert sniff(head, name) is kind

    @given(st.binary(max_size=2000), st.text(max_size=50))
    def test_never_raises(self, head: bytes, name: str) -> None:
        sniff(head, name)
