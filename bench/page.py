"""`python -m bench.page`: a conversation of 1,000 messages on the chat page, against one of two.

The same window, keys and turns of the wheel in this machine's Chromium before a real server. The two conversations
alternate; medians, and ratios of the same run. A frame is the time from the input to the second frame behind it (33 ms
at 60 Hz); work is what the browser says its layout and styles cost for it.
"""

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID

from playwright.async_api import CDPSession, Page, async_playwright, expect
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.client.local import demo_key
from app.main import Services, create_app
from app.settings import Settings
from tests.api.serving import serve
from tests.browser.company import LATE, plant
from tests.browser.conftest import DESK, FLAGS, find_chromium
from tests.browser.long_talk import ELEMENTS, LAID_OUT, LAST_TASK, TURNS, write_long_talk
from tests.browser.visitor import Visitor
from tests.warm import planted

_DRAWN = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
_WHEEL_PIXELS = 600
_COSTS = ("LayoutDuration", "RecalcStyleDuration")
_WHO = "acme/lan"
Samples = dict[str, list[float]]
"""Milliseconds by what was measured; the two counts are no milliseconds."""


@asynccontextmanager
async def company(folder: Path) -> AsyncIterator[Services]:
    """The small company of the browser's tests."""
    seed = plant(folder / "seed")
    settings = Settings(_env_file=None, data_dir=await planted(folder / "data", seed), seed_dir=seed)
    services = await Services.open(settings.model_copy(update={"enable_caching": False}))
    try:
        yield services
    finally:
        await services.aclose()


async def measure(services: Services, chromium: str, rounds: int, out: Console) -> None:
    """Open, type and scroll in both conversations."""
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serve(create_app(services=services)))
        playwright = await stack.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(executable_path=chromium, args=list(FLAGS), headless=True)
        stack.push_async_callback(browser.close)
        page = await browser.new_page(viewport=DESK, locale="vi-VN", reduced_motion="reduce")  # type: ignore[arg-type]
        await page.goto(f"{address}/?as={_WHO}&key={demo_key(services.settings.data_dir)}")
        await page.wait_for_selector("#question:visible")
        await Visitor(page, address).ask(LATE)
        task_id = UUID(await page.evaluate(LAST_TASK))
        talks = {turns: await write_long_talk(services, _WHO, task_id, turns) for turns in (1, TURNS)}
        seen: dict[int, Samples] = {turns: defaultdict(list) for turns in talks}
        for _ in track(range(rounds), "conversations", console=out, transient=True):
            for turns, session_id in talks.items():
                await _look(page, f"{address}/#{session_id}", turns, seen[turns])
    report(seen[1], seen[TURNS], rounds, out)


async def _look(page: Page, address: str, turns: int, seen: Samples) -> None:
    await page.goto(address)
    began = time.perf_counter()
    await page.reload()
    await expect(page.locator(".turn")).to_have_count(turns)
    await expect(page.locator(".turn").last.locator(".evidence")).to_be_visible()
    seen["opening"].append(1000 * (time.perf_counter() - began))
    seen["elements"].append(await page.evaluate(ELEMENTS))
    seen["turns laid out"].append(await page.evaluate(LAID_OUT))
    line = await page.context.new_cdp_session(page)
    await line.send("Performance.enable")
    await page.focus("#question")
    for letter in "nghỉ phép":
        await _input(page, line, f"({_TYPE})({letter!r})", "key", seen)
    for _ in range(8):
        await _input(page, line, f"document.getElementById('turns').scrollBy(0, {-_WHEEL_PIXELS})", "wheel", seen)
    await line.detach()


_TYPE = "(letter) => document.execCommand('insertText', false, letter)"


async def _input(page: Page, line: CDPSession, done: str, kind: str, seen: Samples) -> None:
    """One input, until it is drawn."""
    before = await _work(line)
    script = (
        f"async () => {{ const began = performance.now(); {done}; await {_DRAWN}; return performance.now() - began; }}"
    )
    seen[f"{kind}: frame"].append(await page.evaluate(script))
    seen[f"{kind}: work"].append(1000 * (await _work(line) - before))


async def _work(line: CDPSession) -> float:
    """Seconds the main thread spent on layout and styles so far."""
    told = await line.send("Performance.getMetrics")
    return sum(float(one["value"]) for one in told["metrics"] if one["name"] in _COSTS)


def report(short: Samples, long: Samples, rounds: int, out: Console) -> None:
    """A row for what was measured."""
    table = Table(title=f"chat page · {rounds} rounds · medians, milliseconds", title_justify="left")
    for heading in ("", "2 messages", f"{2 * TURNS:,} messages", "ratio"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, values in short.items():
        one, other = statistics.median(values), statistics.median(long[name])
        table.add_row(name, f"{one:.1f}", f"{other:.1f}", f"{other / one:.2f}" if one else "")
    out.print(table)


async def main(rounds: int) -> None:
    """Measure in a folder of its own."""
    out, chromium = Console(), find_chromium()
    if chromium is None:
        raise SystemExit("no Chromium on this machine: apt-get install chromium, or name one in CONCLAVE_CHROMIUM")
    folder = Path(tempfile.mkdtemp(prefix="conclave-page-"))
    try:
        async with company(folder) as services:
            await measure(services, chromium, rounds, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=10)
    asyncio.run(main(arguments.parse_args().rounds))
