"""Files that fight back: each ends in a named way within its limits, and nothing else happens."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.ingestion.parsing import ParseFailed, Parser
from tests.measured import measured
from tests.unit.ingestion.parsing import samples
from tests.unit.ingestion.parsing.hostile_office import OFFICE, XXE_FILE, Case, changed, with_declaration
from tests.unit.ingestion.parsing.hostile_pdf import PDF
from tests.unit.ingestion.parsing.hostile_text import TEXT

pytestmark = pytest.mark.slow

FAMILIES = {"office": OFFICE, "pdf": PDF, "text": TEXT}


class Canary:
    """A listener that nobody should ever call."""

    def __init__(self) -> None:
        self.calls = 0
        self.address = ""

    async def heard(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        writer.close()


@pytest.fixture(scope="module")
async def canary() -> AsyncIterator[Canary]:
    listening = Canary()
    server = await asyncio.start_server(listening.heard, "127.0.0.1", 0)
    listening.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield listening
    server.close()
    await server.wait_closed()


async def ending(parser: Parser, content: bytes, name: str) -> str:
    """``ok`` or the code of the failure."""
    try:
        parsed = await parser.parse(content, name)
    except ParseFailed as failure:
        assert failure.advice
        return failure.code
    assert sum(map(str.isalnum, parsed.text)) > 3
    assert "root:x:0:0" not in parsed.text
    assert max(map(len, parsed.text.split("\n"))) <= 20_000
    return "ok"


class TestHostileFiles:
    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("family", FAMILIES)
    async def test_end_in_a_named_way(self, narrow_parser: Parser, canary: Canary, family: str) -> None:
        async def offence(name: str, case: Case) -> str:
            file_name, make, expected = case
            found = await ending(narrow_parser, make(canary.address), file_name)
            return "" if found in expected else f"{name}: {found}"

        cases = FAMILIES[family]
        assert len(cases) >= 25
        # As many as the parser takes at a time: the contents of all at once would fill the memory.
        names = sorted(cases)
        found = [
            await asyncio.gather(*(offence(name, cases[name]) for name in names[at : at + 2]))
            for at in range(0, len(names), 2)
        ]
        assert [one for pair in found for one in pair if one] == []
        assert canary.calls == 0
        measured(13, files=len(cases), canary_calls=0)

    async def test_leave_the_parser_and_its_surroundings_alone(self, narrow_parser: Parser, canary: Canary) -> None:
        # After all of the above.
        assert (await narrow_parser.parse(samples.word(), "a.docx")).title == "Sổ tay nhân sự"
        assert canary.calls == 0
        assert not Path("/tmp/touched").exists()

    async def test_never_read_files_of_the_machine(self, narrow_parser: Parser) -> None:
        with tempfile.NamedTemporaryFile("w", prefix="canary", suffix=".txt") as secret:
            secret.write("CANARY")
            secret.flush()
            declaration = XXE_FILE.replace("/etc/passwd", secret.name)
            content = changed(samples.word(), {"word/document.xml": with_declaration(declaration, "&j;")})
            before = Path(secret.name).stat().st_atime_ns
            assert await ending(narrow_parser, content, "a.docx") == "DTD_FORBIDDEN"
            assert Path(secret.name).stat().st_atime_ns == before
