"""Regular expressions of an asker: what is refused, what is found, and the piece of text every match holds."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras.logs.regex import MAX_PATTERN_CHARS, RegexRefused, compile_regex, required_literal
from tests.extras.logs.hostile_regexes import HOSTILE
from tests.limits import limit
from tests.measured import measured
from tests.unit.tools.lag import LoopLag

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("settled_heap")]

LINE_CHARS = 8_000
PIECES = st.sampled_from(
    ["abc", "timeout", "a", "x{3}", "b*", "(abc)", "(ab)?", "[abc]", "[^x]", ".", "\\d+", "\\.", "ab?", "c+", "\\(",
     "{", "}", "a{0,2}", "xyz{0}", "^", "$", "-", "\\w", "]"]
)  # fmt: skip


class TestCompileRegex:
    def test_refuses_what_is_not_searched_for(self) -> None:
        rows: list[tuple[str, str]] = [
            ("", "empty"),
            ("a" * (MAX_PATTERN_CHARS + 1), "long"),
            ("(", "syntax"),
            (r"(a)\1", "syntax"),
            ("(?=a)", "syntax"),
            ("\ud800", "syntax"),
            ("x{1001}", "syntax"),
            (r"\pL{1,1000}", "large"),
            ("(?:" + "x{1000}" * 10 + ")", "large"),
        ]
        for text, fault in rows:
            with pytest.raises(RegexRefused) as refusal:
                compile_regex(text)
            assert refusal.value.fault == fault

    def test_finds_letters_in_either_case_anywhere(self) -> None:
        found = compile_regex("time(d )?out|REFUSED")
        assert found.matches("connection timed OUT after 3 s")
        assert found.matches("Connection refused")
        assert not found.matches("connection reset")
        assert compile_regex("hết giấy").matches("Máy in tầng 10 hết giấy khay 2")


class TestHostileRegexes:
    def test_are_many(self) -> None:
        assert len(set(HOSTILE)) >= 40

    async def test_are_refused_or_end_on_a_long_line_without_holding_anybody_up(self) -> None:
        lines = ("a" * LINE_CHARS, "ab=" * (LINE_CHARS // 3), "ế" * LINE_CHARS, "x1 " * (LINE_CHARS // 3))
        for text in HOSTILE:
            async with LoopLag() as lag:
                with suppress(RegexRefused):
                    async with asyncio.timeout(limit(2)):
                        compiled = compile_regex(text)
                        for line in lines:
                            await asyncio.to_thread(compiled.matches, line)
            assert lag.longest_seconds < limit(0.1), text
        measured(14, regexes=len(HOSTILE))


class TestRequiredLiteral:
    def test_is_the_longest_plain_piece(self) -> None:
        rows: list[tuple[str, str]] = [
            ("time(d )?out", "time"),
            ("connection to db-0[12] timed", "connection to db-0"),
            ("ab{2}cdef", "cdef"),
            ("x{300}abcd", "abcd"),
            (r"a\.bcd\w+efgh", "efgh"),
            ("foo|bar", ""),
            ("(?i)foo", ""),
            (r"\x{41}bcd", ""),
            ("[^]abc]x", ""),
            ("ab", ""),
            ("hết giấy khay", "y khay"),
        ]
        for text, literal in rows:
            assert required_literal(text) == literal

    @given(pieces=st.lists(PIECES, max_size=6), line=st.text(alphabet="abcxyztimeou.(){}-]13 ", max_size=40))
    def test_stands_in_every_line_that_matches(self, pieces: list[str], line: str) -> None:
        try:
            compiled = compile_regex("".join(pieces))
        except RegexRefused:
            return
        if compiled.matches(line):
            assert compiled.literal.lower() in line.lower()

    @given(pieces=st.lists(PIECES, min_size=1, max_size=5))
    def test_stands_in_plain_lines_made_from_the_expression(self, pieces: list[str]) -> None:
        plain = "".join(piece for piece in pieces if piece.isalnum())
        if plain:
            assert compile_regex(plain).matches(f"before {plain.upper()} after")
