"""`unit_tool`: what people write, converted exactly; what cannot be, refused at once."""

import asyncio
import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Language
from app.errors import ToolFailed
from app.reasoning import Arguments
from app.tools.base import ToolResult
from extras.units.measures import CannotConvert, Refusal, convert, counterpart, read_measure
from extras.units.tool import ConversionFailed, UnitTool
from tests.factories import finding, passage
from tests.limits import limit
from tests.measured import measured
from tests.unit.tools.lag import LoopLag
from tests.unit.tools.recording import RecordingReasoner, call

pytestmark = pytest.mark.usefixtures("settled_heap")


async def converted(value: str, source: str, target: str = "", language: Language = "vi") -> ToolResult:
    arguments = Arguments(values={"value": value, "from_unit": source, "to_unit": target})
    tool = UnitTool(RecordingReasoner(arguments=arguments))
    return await tool(call(f"{value} {source} {target}", language=language))


def in_unit(amount: str, source: str, target: str) -> Fraction:
    return convert(Fraction(amount), read_measure(source), read_measure(target)).result


class TestSentences:
    async def test_says_exactly_what_was_converted(self) -> None:
        rows: list[tuple[str, str, str, Language, str]] = [
            ("100", "°F", "độ C", "vi", "100 °F ≈ 37,78 °C."),
            ("100", "°F", "", "en", "100 °F ≈ 37.78 °C."),
            ("37", "độ C", "độ F", "vi", "37 °C = 98,6 °F."),
            ("-40", "°C", "°F", "en", "-40 °C = -40 °F."),
            ("0", "độ C", "K", "vi", "0 °C = 273,15 K."),
            ("90", "km/h", "m/s", "en", "90 km/h = 25 m/s."),
            ("90", "km/giờ", "", "vi", "90 km/h = 25 m/s."),
            ("1", "dặm", "", "vi", "1 dặm = 1,609344 km."),
            ("26,2", "dặm", "km", "vi", "26,2 dặm ≈ 42,16 km."),
            ("3", "hải lý", "km", "vi", "3 hải lý = 5,556 km."),
            ("2,5", "tấn", "kg", "vi", "2,5 tấn = 2.500 kg."),
            ("5", "tạ", "kg", "vi", "5 tạ = 500 kg."),
            ("3", "yến", "", "vi", "3 yến = 30 kg."),
            ("2", "cân", "lạng", "vi", "2 kg = 20 lạng."),
            ("3", "lạng", "g", "vi", "3 lạng = 300 g."),
            ("2", "sào Bắc Bộ", "m2", "vi", "2 sào Bắc Bộ = 720 m²."),
            ("3", "mẫu Trung Bộ", "ha", "vi", "3 mẫu Trung Bộ = 1,5 ha."),
            ("4", "công đất", "", "vi", "4 công đất = 4.000 m²."),
            ("3", "mét khối", "lít", "vi", "3 m³ = 3.000 lít."),
            ("10", "square feet", "m²", "en", "10 ft² ≈ 0.929 m²."),
            ("2", "giờ", "phút", "vi", "2 giờ = 120 phút."),
            ("3", "weeks", "", "en", "3 weeks = 21 days."),
            ("7", "days", "weeks", "en", "7 days = 1 week."),
            ("2", "năm", "tháng", "vi", "2 năm = 24 tháng."),
            ("5", "kWh", "MJ", "vi", "5 kWh = 18 MJ."),
            ("100", "mã lực", "kW", "vi", "100 mã lực = 73,549875 kW."),
            ("60", "mph", "", "en", "60 mph = 96.56064 km/h."),
            ("1", "kg", "", "en", "1 kg ≈ 2.2 lb."),
            ("12", "inches", "", "en", "12 in = 30.48 cm."),
            ("1", "MB", "KB", "en", "1 MB = 1,000 KB."),
            ("1", "MiB", "KiB", "en", "1 MiB = 1,024 KiB."),
            ("1,5 triệu", "m²", "ha", "vi", "1.500.000 m² = 150 ha."),
            ("100", "Mbps", "MB/s", "en", "100 Mbps = 12.5 MB/s."),
            ("10", "delta °C", "°F", "en", "10 Δ°C = 18 Δ°F."),
            ("100 °F", "", "", "en", "100 °F ≈ 37.78 °C."),
        ]
        for value, source, target, language, text in rows:
            assert (await converted(value, source, target, language)).text == text

    async def test_a_word_of_several_sizes_is_told_with_all_of_them(self) -> None:
        rows: list[tuple[str, str, Language, str]] = [
            ("sào", "m²", "vi",
             "2 sào Bắc Bộ = 720 m² (nếu là sào Trung Bộ: 1.000 m²; nếu là sào Nam Bộ: 2.000 m²)."),
            ("gallon", "", "en", "2 US gallon ≈ 7.57 L (if imperial gallon is meant: 9.09218 L)."),
            ("tons", "kg", "en",
             "2 short tons = 1,814.36948 kg (if t is meant: 2,000 kg; if long tons is meant: 2,032.09 kg)."),
            ("m²", "mẫu", "vi", "2 m² ≈ 0,0005556 mẫu Bắc Bộ (nếu là mẫu Trung Bộ: 0,0004 mẫu Trung Bộ)."),
        ]  # fmt: skip
        for source, target, language, text in rows:
            assert (await converted("2", source, target, language)).text == text

    async def test_a_degree_is_one_of_heat_unless_an_angle_is_asked_for(self) -> None:
        assert (await converted("100", "độ", "độ F")).text == "100 °C = 212 °F."
        assert (await converted("180", "độ", "radian")).text == "180 độ (góc) ≈ 3,14 radian."

    async def test_machines_get_decimals_and_the_evidence_names_what_was_done(self) -> None:
        result = await converted("100", "°F")
        assert result.value == {"result": "37.7777777777778", "unit": "°C", "exact": False}
        (evidence,) = result.evidence
        assert evidence.source_type == "math"
        assert evidence.url == "unit:100+degree_Fahrenheit+to+degree_Celsius"
        assert (await converted("5", "tạ")).value == {"result": "500", "unit": "kg", "exact": True}

    async def test_a_number_that_nobody_stated_is_not_converted(self) -> None:
        tool = UnitTool(RecordingReasoner(arguments=Arguments(values={"value": "25", "from_unit": "km"})))
        with pytest.raises(ToolFailed, match="25"):
            await tool(call("quãng đường dài bao nhiêu dặm?"))
        held = finding(passage(text="Quãng đường dài 25 km."))
        assert (await tool(call("quãng đường dài bao nhiêu dặm?", findings=(held,)))).text == "25 km ≈ 15,53 dặm."


class TestExactness:
    def test_factors_are_exact(self) -> None:
        rows: list[tuple[str, str, str, str]] = [
            ("100", "°F", "°C", "340/9"),
            ("1", "lb", "kg", "0.45359237"),
            ("1", "acre", "m²", "4046.8564224"),
            ("1", "ft", "m", "0.3048"),
            ("1", "kg·m/s²", "N", "1"),
            ("1", "W·h", "J", "3600"),
            ("1", "g/cm³", "kg/m3", "1000"),
            ("1", "°C/m", "°F/m", "9/5"),
            ("-273.15", "°C", "K", "0"),
        ]
        for amount, source, target, result in rows:
            assert in_unit(amount, source, target) == Fraction(result)

    @given(
        st.fractions(min_value=0, max_value=10**9, max_denominator=10**6),
        st.sampled_from([
            ("°F", "K"), ("K", "°C"), ("dặm", "hải lý"), ("sào", "mẫu"), ("tạ", "lb"), ("lít", "gallon"),
            ("km/h", "mph"), ("kWh", "kcal"), ("mã lực", "hp"), ("MiB", "Mbit"), ("psi", "bar"), ("m³", "fl oz"),
            ("tuần", "giây"), ("năm", "quý"), ("công", "acre"),
        ]),
    )  # fmt: skip
    def test_there_and_back_is_the_same_number(self, amount: Fraction, units: tuple[str, str]) -> None:
        one, other = map(read_measure, units)
        there = convert(amount, one, other).result
        assert convert(there, other, one).result == amount

    def test_spellings_of_one_unit_are_one_unit(self) -> None:
        rows: list[tuple[str, str]] = [
            ("hai ly", "hải lý"), ("do C", "độ C"), ("met vuong", "m²"), ("héc-ta", "ha"), ("hec ta", "ha"),
            ("ki-lô-mét", "cây số"), ("KM", "km"), ("Kilometres", "km"), ("dặm trên giờ", "mph"),
            ("kilometers per hour", "km/h"), ("m^2", "m**2"), ("m2", "mét vuông"), ("cubic metres", "m³"),
            ("sq ft", "ft²"), ("feet", "foot"), ("ký", "cân"), ("tạ", "ta"), ("tấn", "tonne"), ("giờ", "gio"),
        ]  # fmt: skip
        for one, other in rows:
            assert in_unit("1", one, other) == 1

    def test_case_decides_where_it_must(self) -> None:
        assert in_unit("1", "MW", "mW") == 10**9
        assert in_unit("1", "MB", "Mb") == 8
        with pytest.raises(CannotConvert):
            in_unit("1", "mw", "W")

    def test_a_unit_without_a_sensible_counterpart_has_none(self) -> None:
        with pytest.raises(CannotConvert) as refused:
            counterpart(read_measure("kg/m³"))
        assert refused.value.refusal is Refusal.NO_TARGET
        assert counterpart(read_measure("dặm/giờ")).label("en") == "km/h"


HOSTILE: tuple[tuple[str, str, str, Refusal], ...] = (
    ("1", "9**9**9 m", "km", Refusal.NOT_A_UNIT),
    ("9**9**9", "m", "km", Refusal.NOT_A_NUMBER),
    ("9^9^9^9", "m", "km", Refusal.NOT_A_NUMBER),
    ("inf", "m", "km", Refusal.NOT_A_NUMBER),
    ("-inf", "°C", "°F", Refusal.NOT_A_NUMBER),
    ("nan", "m", "km", Refusal.NOT_A_NUMBER),
    ("Infinity", "kg", "lb", Refusal.NOT_A_NUMBER),
    ("1e999", "m", "km", Refusal.NOT_A_NUMBER),
    ("1e99", "m", "km", Refusal.TOO_LONG),
    ("1e-99", "m", "km", Refusal.TOO_LONG),
    ("1e29", "lightyear", "nm", Refusal.TOO_LONG),
    ("9" * 40, "m", "km", Refusal.NOT_A_NUMBER),
    ("9" * 10_000, "m", "km", Refusal.TOO_LONG),
    ("1", "m" * 10_000, "km", Refusal.TOO_LONG),
    ("1", "m", "k" * 10_000, Refusal.TOO_LONG),
    ("1", "m/" * 5_000, "km", Refusal.TOO_LONG),
    ("1", "/".join("m" * 39), "km", Refusal.NOT_A_UNIT),
    ("1", "*".join("m" * 40), "km", Refusal.NOT_A_UNIT),
    ("1", "m**999999", "km", Refusal.NOT_A_UNIT),
    ("1", "m^9", "km", Refusal.NOT_A_UNIT),
    ("1", "m^0", "km", Refusal.NOT_A_UNIT),
    ("1", "m**(2**99)", "km", Refusal.NOT_A_UNIT),
    ("1", "m + m", "km", Refusal.NOT_A_UNIT),
    ("1", "m - m", "km", Refusal.NOT_A_UNIT),
    ("1", "(((((m)))))", "km", Refusal.NOT_A_UNIT),
    ("1", "2 m", "km", Refusal.NOT_A_UNIT),
    ("1", "1e308 m", "km", Refusal.NOT_A_UNIT),
    ("1", "m %s %n", "km", Refusal.NOT_A_UNIT),
    ("1", "{0.__class__}", "km", Refusal.NOT_A_UNIT),
    ("1", "__import__('os').system('id')", "km", Refusal.NOT_A_UNIT),
    ("1", "lambda: 0", "km", Refusal.NOT_A_UNIT),
    ("1", "__class__", "km", Refusal.NOT_A_UNIT),
    ("1", "meter = 5", "km", Refusal.NOT_A_UNIT),
    ("1", "@alias meter = x", "km", Refusal.NOT_A_UNIT),
    ("1", "nan", "km", Refusal.UNKNOWN),
    ("1", "inf", "km", Refusal.UNKNOWN),
    ("1", "xyzzy", "km", Refusal.UNKNOWN),
    ("1", "speed_of_light", "m/s", Refusal.UNKNOWN),
    ("1", "avogadro_number", "mol", Refusal.UNKNOWN),
    ("1", "mw", "W", Refusal.UNKNOWN),
    ("1", "decibel", "W", Refusal.UNKNOWN),
    ("1", "dBm", "W", Refusal.UNKNOWN),
    ("1", "neper", "bel", Refusal.UNKNOWN),
    ("1", "   ", "km", Refusal.NOT_A_UNIT),
    ("1", "///", "km", Refusal.NOT_A_UNIT),
    ("1", "²", "km", Refusal.NOT_A_UNIT),
    ("1", "square cubic m²", "km", Refusal.NOT_A_UNIT),
    ("1", "per per per", "km", Refusal.UNKNOWN),
    ("1", "m\x00", "kg", Refusal.INCOMPATIBLE),
    ("1", "\u202ekm", "kg", Refusal.INCOMPATIBLE),
    ("1", "м", "km", Refusal.UNKNOWN),
    ("1", "\ud800", "km", Refusal.NOT_A_UNIT),
    ("1", "😀", "km", Refusal.NOT_A_UNIT),
    ("1", "kg", "m", Refusal.INCOMPATIBLE),
    ("1", "năm", "ngày", Refusal.INCOMPATIBLE),
    ("1", "m/m", "kg", Refusal.INCOMPATIBLE),
    ("-274", "°C", "°F", Refusal.BELOW_ZERO),
    ("-1", "K", "°C", Refusal.BELOW_ZERO),
    ("1", "USD", "VND", Refusal.CURRENCY),
    ("1", "đồng", "$", Refusal.CURRENCY),
    ("1", "kg", "€", Refusal.CURRENCY),
    ("1", "$/kg", "đ/kg", Refusal.CURRENCY),
    ("1", "gang tay", "cm", Refusal.UNFIXED),
    ("1", "m", "bước chân", Refusal.UNFIXED),
    ("1", "l/100km", "km/l", Refusal.NOT_A_UNIT),
    ("1", "kg/m³", "", Refusal.NO_TARGET),
)  # fmt: skip


_PIECES = (
    "km",
    "m",
    "dặm",
    "độ C",
    "°F",
    "sq",
    "per",
    "trên",
    "/",
    "*",
    "·",
    "^",
    "²",
    "2",
    "-1",
    " ",
    "$",
    "khối",
    "delta",
)


class TestHostile:
    def test_there_are_at_least_40(self) -> None:
        assert len(set(HOSTILE)) == len(HOSTILE) >= 40

    async def test_each_is_refused_by_type_at_once_and_the_loop_goes_on(self) -> None:
        async with LoopLag() as lag:
            for value, source, target, refusal in HOSTILE:
                began = time.perf_counter()
                with pytest.raises(ConversionFailed) as refused:
                    await converted(value, source, target)
                assert refused.value.refusal is refusal, (value, source[:80], target[:80])
                assert 0 < len(str(refused.value)) < 300
                assert time.perf_counter() - began < limit(1)
                await asyncio.sleep(0)
        assert lag.longest_seconds < limit(0.1)
        measured(14, unit_strings=len(HOSTILE))

    @given(st.text(max_size=120) | st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
    def test_any_text_is_a_measure_or_refused(self, text: str) -> None:
        try:
            measure = read_measure(text)
            convert(Fraction(1), measure, measure)
        except CannotConvert:
            return
        assert measure.label("vi")

    async def test_every_refusal_has_a_sentence(self) -> None:
        rows: list[Any] = ["vi", "en"]
        for language in rows:
            for refusal in Refusal:
                sentence = str(ConversionFailed(CannotConvert(refusal, "a", "b"), language))
                assert sentence.endswith(".")
                assert "{" not in sentence
