"""One parser for the files of all modules, and one with narrow limits for files that fight back: its first file costs
a process that has imported every library."""

from collections.abc import AsyncIterator, Callable

import pytest

from app.ingestion.parsing import ParseLimits, Parser
from app.ingestion.parsing.outcome import MEBIBYTE

NARROW = ParseLimits(
    cpu_seconds=2, wall_seconds=25, memory_bytes=320 * MEBIBYTE, output_chars=1_000_000, pages=200,
    archive_entries=2_000, inflated_bytes=40_000_000,
)  # fmt: skip


@pytest.fixture(scope="session")
async def parser() -> AsyncIterator[Parser]:
    opened = Parser()
    yield opened
    await opened.aclose()


@pytest.fixture(scope="session")
async def narrow_parser() -> AsyncIterator[Parser]:
    opened = Parser(NARROW)
    opened._scans = Parser(NARROW, 1, "extras.readers.scanning:read_scan")
    yield opened
    await opened.aclose()


@pytest.fixture
async def open_parser() -> AsyncIterator[Callable[..., Parser]]:
    """Makes parsers with limits of their own; they are closed after the test."""
    opened: list[Parser] = []

    def make(**limits: float) -> Parser:
        opened.append(Parser(ParseLimits(**limits)))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for parser in opened:
        await parser.aclose()
