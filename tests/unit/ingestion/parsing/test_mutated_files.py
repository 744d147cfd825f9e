"""Hundreds of files that were good once: flipped bytes, cut ends, spliced pieces. None kills or stalls anything.

A failing run names its seed; ``CONCLAVE_SEED`` repeats it, ``CONCLAVE_MUTATIONS`` asks for more files.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from app.ingestion.parsing import ParseFailed, ParseFailure, Parser
from tests.measured import measured
from tests.samples import size
from tests.unit.ingestion.parsing import samples
from tests.unit.ingestion.parsing.hostile_office import changed

pytestmark = pytest.mark.slow

SEED = int(
    os.environ.get("CONCLAVE_SEED", "20261121" if os.environ.get("CI") else random.SystemRandom().randrange(10**9))
)
BATCHES = 2
PER_BATCH = (int(os.environ.get("CONCLAVE_MUTATIONS", "0")) or size(400, 20_000, trust=1_000)) // BATCHES
OFFICE_PARTS = {"a.docx": "word/document.xml", "a.pptx": "ppt/slides/slide1.xml", "a.xlsx": "xl/worksheets/sheet1.xml"}


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The content with one to three kinds of damage."""
    damaged = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(max(len(damaged), 1))
        match chance.randrange(6):
            case 0:
                for _ in range(chance.choice((1, 4, 40))):
                    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            case 1:
                del damaged[max(at, 10) :]
            case 2:
                del damaged[at : at + chance.choice((1, 16, 500))]
            case 3:
                piece = damaged[at : at + chance.choice((2, 64, 1_000))]
                damaged[chance.randrange(len(damaged)) :][:0] = piece
                damaged += piece
            case 4:
                damaged[at : at + 4] = chance.choice(
                    (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"9999", b"<!--", b">>>>")
                )
            case 5:
                other = bytes(chance.choice(CONTENTS)[1])
                start = chance.randrange(len(other))
                damaged[at:at] = other[start : start + chance.choice((8, 200, 2_000))]
        damaged = damaged or bytearray(b"\n")
    return bytes(damaged)


def mutation(chance: random.Random) -> tuple[str, bytes]:
    """(name, content) of a damaged file; half of the office files are damaged inside, where the archive is whole."""
    name, content = chance.choice(CONTENTS)
    if name in OFFICE_PARTS and chance.random() < 0.5:
        return name, changed(content, {OFFICE_PARTS[name]: lambda part: mutated(part, chance)})
    return name, mutated(content, chance)


CONTENTS = [(name, make()) for name, make in samples.SAMPLES.items()]


class TestMutatedFiles:
    @pytest.mark.parametrize("batch", range(BATCHES))
    async def test_end_in_a_named_way(
        self, narrow_parser: Parser, batch: int, record_property: Callable[[str, object], None]
    ) -> None:
        record_property("seed", SEED)
        chance = random.Random(SEED + batch)
        files = [mutation(chance) for _ in range(PER_BATCH)]
        endings = Counter(await asyncio.gather(*(ending(narrow_parser, name, content) for name, content in files)))
        endings_of_seed = f"CONCLAVE_SEED={SEED}: {endings}"
        measured(13, mutated_files=PER_BATCH, stalled=PER_BATCH - endings.total())
        assert endings.total() == PER_BATCH
        assert endings[ParseFailure.CRASHED] <= PER_BATCH // 50, endings_of_seed
        assert endings["ok"] > PER_BATCH // 10, endings_of_seed
        assert (await narrow_parser.parse(samples.plain(), "a.txt")).text.startswith(samples.LEAVE)


async def ending(parser: Parser, name: str, content: bytes) -> str:
    try:
        parsed = await parser.parse(content, name)
    except ParseFailed as failure:
        return failure.code
    return "ok" if parsed.text.strip() else "empty"
