"""The process a file is read in: what it cannot do, how it is ended, and that nothing is left behind."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.confinement.forking import BROKEN, OUT_OF_MEMORY, Verdict
from app.confinement.processes import IsolationEnd, ProcessLimits, _end_of
from app.ingestion.parsing import ParsedFile, ParseFailed, ParseFailure, ParseLimits, Parser
from app.ingestion.parsing.outcome import MEBIBYTE
from app.ingestion.parsing.parser import parsed_answer
from tests.unit.ingestion.parsing import samples

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="these powers are taken away by means of Linux")
Make = Callable[..., Parser]
ENDLESS = b"<div>" * 100_000 + b"hello there"
"""A page that takes a minute of computing."""


def children(process: int) -> list[int]:
    """Process ids of the children of a process."""
    path = Path(f"/proc/{process}/task/{process}/children")
    try:
        return [int(one) for one in path.read_text().split()]
    except OSError:
        return []


def is_running(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def forker(parser: Parser) -> int:
    """Process id of the one that readers are forked from."""
    assert parser._read._forking is not None
    return parser._read._forking._process.pid


async def until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    for _ in range(int(seconds * 50)):
        if condition():
            return True
        await asyncio.sleep(0.02)
    return False


async def reader_of(parser: Parser) -> int:
    """Process id of the reader at work, once there is one."""
    assert await until(lambda: parser._read._forking is not None and children(forker(parser)))
    return children(forker(parser))[0]


async def failure_of(parser: Parser, content: bytes, name: str = "a.html") -> ParseFailure:
    with pytest.raises(ParseFailed) as caught:
        await parser.parse(content, name)
    return caught.value.code


@on_linux
class TestZygote:
    async def test_knows_no_secret_of_the_service(self, monkeypatch: pytest.MonkeyPatch, open_parser: Make) -> None:
        monkeypatch.setenv("CONCLAVE_DATABASE_PASSWORD", "CANARY")
        parser = open_parser()
        await parser.parse(b"hello there", "a.txt")
        assert b"CANARY" not in Path(f"/proc/{forker(parser)}/environ").read_bytes()

    def test_loads_nothing_of_the_service(self) -> None:
        program = "import sys, json, app.ingestion.parsing.reading; print(json.dumps(sorted(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, timeout=60)
        loaded = {name.split(".")[0] for name in json.loads(done.stdout)} | set(json.loads(done.stdout))
        assert not loaded & {"app.main", "app.settings", "app.storage", "sqlalchemy", "asyncpg", "fastapi", "openai"}


@on_linux
class TestLimits:
    async def test_of_computing_time(self, open_parser: Make) -> None:
        parser = open_parser(cpu_seconds=1)
        assert await failure_of(parser, ENDLESS) is ParseFailure.TIME_LIMIT
        assert await until(lambda: not children(forker(parser)))

    async def test_of_the_clock(self, open_parser: Make) -> None:
        parser = open_parser(wall_seconds=0.3)
        assert await failure_of(parser, ENDLESS) is ParseFailure.TIME_LIMIT

    async def test_of_memory(self, open_parser: Make) -> None:
        parser = open_parser(memory_bytes=160 * MEBIBYTE)
        page = b"<p><b>hello</b><i>there</i></p>" * 400_000
        assert await failure_of(parser, page) is ParseFailure.MEMORY_LIMIT
        assert (await parser.parse(b"hello there", "a.txt")).text == "hello there"

    async def test_of_pages_and_text(self, open_parser: Make) -> None:
        parser = open_parser(pages=2, output_chars=100)
        assert await failure_of(parser, samples.pdf(), "a.pdf") is ParseFailure.TOO_MANY_PAGES
        assert await failure_of(parser, samples.plain() * 5, "a.txt") is ParseFailure.TOO_MUCH_TEXT

    async def test_long_sheets_are_cut_and_said_to_be(self, open_parser: Make) -> None:
        parser = open_parser(sheet_rows=3, sheet_columns=2)
        parsed = await parser.parse(samples.sheets(), "a.xlsx")
        assert parsed.is_partial
        assert [warning.code for warning in parsed.warnings] == ["TRUNCATED_SHEETS"]


@on_linux
class TestParser:
    async def test_starts_nothing_before_the_first_file(self, open_parser: Make) -> None:
        parser = open_parser()
        assert parser._read._forking is None

    async def test_kills_the_reader_when_the_caller_goes_away(self, parser: Parser) -> None:
        reading = asyncio.create_task(parser.parse(ENDLESS, "a.html"))
        reader = await reader_of(parser)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await until(lambda: not children(forker(parser)) and not is_running(reader))
        assert (await parser.parse(b"hello there", "a.txt")).text == "hello there"

    async def test_survives_a_reader_that_dies(self, parser: Parser) -> None:
        reading = asyncio.create_task(parser.parse(ENDLESS, "a.html"))
        os.kill(await reader_of(parser), signal.SIGSEGV)
        with pytest.raises(ParseFailed) as caught:
            await reading
        assert caught.value.code is ParseFailure.CRASHED
        assert (await parser.parse(b"hello there", "a.txt")).text == "hello there"

    async def test_starts_anew_when_everything_was_killed(self, parser: Parser) -> None:
        await parser.parse(b"hello there", "a.txt")
        first = forker(parser)
        os.kill(first, signal.SIGKILL)
        assert (await parser.parse(b"hello there", "a.txt")).text == "hello there"
        assert forker(parser) != first

    async def test_never_reads_more_files_at_once_than_it_may(self, open_parser: Make) -> None:
        parser = open_parser(wall_seconds=0.6)
        reading = [asyncio.create_task(parser.parse(ENDLESS, "a.html")) for _ in range(3)]
        assert await until(lambda: parser._read._forking is not None and len(children(forker(parser))) == 2)
        assert len(children(forker(parser))) <= 2
        assert all(isinstance(one, ParseFailed) for one in await asyncio.gather(*reading, return_exceptions=True))

    async def test_lets_the_event_loop_go_on(self, open_parser: Make) -> None:
        parser = open_parser(wall_seconds=0.4)
        reading = asyncio.create_task(parser.parse(ENDLESS, "a.html"))
        turns = 0
        while not reading.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert turns > 10
        assert isinstance(reading.exception(), ParseFailed)

    async def test_closing_ends_what_was_started(self, open_parser: Make) -> None:
        parser = open_parser()
        reading = asyncio.create_task(parser.parse(ENDLESS, "a.html"))
        reader, started = await reader_of(parser), forker(parser)
        await parser.aclose()
        with pytest.raises(ParseFailed):
            await reading
        assert await until(lambda: not is_running(reader) and not is_running(started))

    def test_works_in_an_event_loop_of_another_thread(self) -> None:
        found: list[ParsedFile] = []

        async def read() -> None:
            parser = Parser()
            found.append(await parser.parse(samples.word(), "a.docx"))
            await parser.aclose()

        thread = threading.Thread(target=lambda: asyncio.run(read()))
        thread.start()
        thread.join()
        assert found[0].title == "Sổ tay nhân sự"

    async def test_leaves_nothing_behind_when_the_service_is_killed(self) -> None:
        program = (
            "import asyncio, sys\n"
            "from app.ingestion.parsing import Parser\n"
            "async def main():\n"
            "    parser = Parser()\n"
            "    task = asyncio.create_task(parser.parse(b'<div>' * 100_000, 'a.html'))\n"
            "    while parser._read._forking is None: await asyncio.sleep(0.01)\n"
            "    print(parser._read._forking._process.pid, flush=True)\n"
            "    await task\n"
            "asyncio.run(main())\n"
        )
        service = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        assert service.stdout is not None
        started = int(await service.stdout.readline())
        assert await until(lambda: children(started))
        reader = children(started)[0]
        service.kill()
        await service.wait()
        assert await until(lambda: not is_running(started) and not is_running(reader))


class TestAnswer:
    """What a reader says is believed no more than the file it read."""

    GOOD = {"kind": "text", "title": "", "text": "hello there", "pages": [0], "warnings": {"ENCODING_GUESSED": 1}}
    SENSELESS: list[object] = [
        {**GOOD, "pages": [99]}, {**GOOD, "pages": [-1]}, {**GOOD, "text": "x" * 5_000}, {**GOOD, "text": None},
        {**GOOD, "more": 1}, {**GOOD, "warnings": {"MADE_UP": 1}}, {**GOOD, "warnings": []}, {"failure": "MADE_UP"},
        {}, [], b"{", b"\xff\xfe", b'{"kind": "text", "title": "", "text": "\\ud800", "pages": [], "warnings": {}}',
        {"described": {"kind": "pdf", "facts": {}}},
        {"described": {"kind": "image", "facts": {"format": "a\nb"}}},
        {"described": {"kind": "image", "facts": {str(n): "x" for n in range(99)}}},
        {"described": {"kind": "zip", "facts": {}, "entries": [["a\x00b", 1]]}},
        {"described": {"kind": "zip", "facts": {}, "entries": [["a", 1]] * 10_001}},
        {"described": {"kind": "zip"}},
    ]  # fmt: skip

    def outcome(self, answer: object) -> ParsedFile:
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        parsed = parsed_answer(content, ParseLimits(output_chars=1_000))
        assert isinstance(parsed, ParsedFile)
        return parsed

    def test_is_taken_when_it_makes_sense(self) -> None:
        parsed = self.outcome(self.GOOD)
        assert (parsed.text, parsed.pages, parsed.is_partial) == ("hello there", (0,), False)
        assert parsed.warnings[0].advice

    def test_is_a_crash_when_it_makes_none(self) -> None:
        believed = []
        for answer in self.SENSELESS:
            try:
                self.outcome(answer)
            except ParseFailed as failure:
                if failure.code is ParseFailure.CRASHED:
                    continue
            believed.append(answer)
        assert believed == []

    @given(st.binary(max_size=200))
    @settings(max_examples=50)
    def test_never_raises_anything_else(self, answer: bytes) -> None:
        with pytest.raises(ParseFailed):
            self.outcome(answer)


def test_every_way_a_process_may_end_has_its_name() -> None:
    limits = ProcessLimits(cpu_seconds=20, memory_bytes=500 * MEBIBYTE)
    ends = {
        Verdict(signal=signal.SIGSEGV): IsolationEnd.CRASHED,
        Verdict(signal=signal.SIGXCPU): IsolationEnd.TIME_LIMIT,
        Verdict(signal=signal.SIGALRM): IsolationEnd.TIME_LIMIT,
        Verdict(signal=signal.SIGKILL, cpu_seconds=20): IsolationEnd.TIME_LIMIT,
        Verdict(signal=signal.SIGABRT, peak_bytes=450 * MEBIBYTE): IsolationEnd.MEMORY_LIMIT,
        Verdict(exit=OUT_OF_MEMORY): IsolationEnd.MEMORY_LIMIT,
        Verdict(exit=BROKEN): IsolationEnd.CRASHED,
    }
    assert {verdict: _end_of(verdict, limits) for verdict in ends} == ends
