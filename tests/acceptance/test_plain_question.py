"""How much of the code a plain question passes through: whoever follows one must not have to read the whole house."""

import asyncio
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from app.flow.graph import DepartmentFlow
from app.main import Services
from tests.acceptance.asking import ask
from tests.acceptance.test_caching import working

APP = str(Path(__file__).parents[2] / "app")
MOST_FILES = 90
"""A ceiling that only falls. What runs in the background is counted too: a file or two more or less."""


@contextmanager
def entered_files() -> Iterator[dict[str, set[str]]]:
    """The files of ``app/`` whose functions the event loop's thread calls in the body, with those functions."""
    found: dict[str, set[str]] = {}

    def note(frame: FrameType, event: str, _arg: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(APP):
            found.setdefault(name.removeprefix(f"{APP}/"), set()).add(frame.f_code.co_qualname)

    gc.disable()  # what other tests left must not be closed in the body
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        gc.enable()


async def let_go() -> None:
    """Collect what other tests left: a generator of theirs is closed by a task of its own, after this one."""
    gc.collect()
    for _turn in range(10):
        await asyncio.sleep(0)


async def test_a_plain_question_enters_few_files(small_services: Services) -> None:
    flow = small_services.rooms.flow
    async with working(small_services, DepartmentFlow(flow.ports, flow.limits)):
        await ask(small_services, "acme/lan", "Giá trị cốt lõi của công ty là gì?")  # what is made once is made
        await let_go()
        with entered_files() as found:
            told = await ask(small_services, "acme/lan", "Chấm công hộ thì bị xử lý thế nào?")
    assert told.answer["outcome"] in ("answered", "partial")  # as sure as the weights are; the way is the same
    listing = "\n".join(f"{len(functions):4} {file}" for file, functions in sorted(found.items()))
    sys.stderr.write(f"{len(found)} files, {sum(map(len, found.values()))} functions\n{listing}\n")
    assert len(found) <= MOST_FILES, f"a plain question enters {len(found)} files:\n{listing}"
