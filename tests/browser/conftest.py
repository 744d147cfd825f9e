"""A real browser before a real server over a small company. Skipped where there is no Chromium."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from app.client.local import demo_key
from app.main import Services, create_app
from app.reasoning import ComposeRequest, Composition
from app.reasoning.local import LocalReasoner
from app.retrieval.search import Retriever
from app.settings import Settings
from tests.api.serving import serve
from tests.browser.company import plant
from tests.browser.visitor import Visitor
from tests.browser.windows import Windows
from tests.warm import planted

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_MS = 40_000
"""The machine may be busy with other tests; nothing here is timed."""
_PIECES = 6
"""Of a few words each: more than are held back until they are worth sending, less than the seed's answer has."""
DESK = {"width": 1180, "height": 860}
PHONE = {"width": 390, "height": 844}
ADMIN_LOADED = ".part h2"
"""Stands on a part of the admin pages once it is there."""


def find_chromium() -> str | None:
    """The machine's Chromium; CONCLAVE_CHROMIUM names another."""
    return os.environ.get("CONCLAVE_CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Skips where there is none."""
    found = find_chromium()
    if found is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium, or name one in CONCLAVE_CHROMIUM")
    return found


@pytest.fixture(scope="package")
async def house(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Services]:
    """The services behind the server, with a worker. Answers are not remembered, so every run can be watched."""
    folder = tmp_path_factory.mktemp("browser")
    seed = plant(folder / "seed")
    data_dir = await planted(folder / "data", seed)
    settings = Settings(_env_file=None, data_dir=data_dir, seed_dir=seed, enable_caching=False)
    opened = await Services.open(settings)
    try:
        yield opened
    finally:
        await opened.aclose()


@pytest.fixture(scope="package")
async def address(house: Services) -> AsyncIterator[str]:
    """Where the server listens."""
    async with serve(create_app(services=house)) as url:
        yield url


@pytest.fixture(scope="package")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=chromium, args=list(FLAGS), headless=True)
        yield opened
        await opened.close()


@pytest.fixture(scope="package")
def windows(browser: Browser, address: str) -> Windows:
    return Windows(browser, address)


@pytest.fixture
async def open_page(windows: Windows, address: str) -> AsyncIterator[Callable[..., Awaitable[Page]]]:
    """Opens a page in a profile of its own; afterwards no script may have erred and no policy may have been broken in
    any of them."""
    faults: list[str] = []

    async def opened(place: str, awaited: str, **options: Any) -> Page:
        options = {"viewport": DESK, "locale": "vi-VN", "reduced_motion": "reduce"} | options
        page = await windows.open(**options)
        page.set_default_timeout(PATIENCE_MS)
        _note_faults(page, address, faults)
        await page.goto(f"{address}{place}")
        await page.wait_for_selector(awaited)
        return page

    yield opened
    await windows.clear()
    assert faults == []


@pytest.fixture
def key(house: Services) -> str:
    """What the sign-in links carry."""
    return demo_key(house.settings.data_dir)


@pytest.fixture
def visit(open_page: Callable[..., Awaitable[Page]], address: str, key: str) -> Callable[..., Awaitable[Visitor]]:
    """Opens the chat page."""

    async def opened(user: str = "acme/lan", **options: Any) -> Visitor:
        place, awaited = (f"/?as={user}&key={key}", "#question:visible") if user else (f"/?key={key}", ".person")
        return Visitor(await open_page(place, awaited, **options), address)

    return opened


@pytest.fixture
def enter(open_page: Callable[..., Awaitable[Page]], key: str) -> Callable[..., Awaitable[Page]]:
    """Opens a part of the admin pages."""

    async def opened(part: str = "documents", user: str = "acme/admin", **options: Any) -> Page:
        if not user:
            return await open_page(f"/admin?key={key}", ".person", **options)
        return await open_page(f"/admin?as={user}&key={key}#{part}", f"{ADMIN_LOADED}, .refused", **options)

    return opened


def _note_faults(page: Page, address: str, faults: list[str]) -> None:
    """Errors of scripts, breaches of the page's policy, and requests to anybody else."""
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if _is_fault(said.text, said.type) else None)
    page.on("request", lambda asked: faults.append(asked.url) if not asked.url.startswith((address, "data:")) else None)


def _is_fault(text: str, kind: str) -> bool:
    """A refused request is logged by the browser itself; tests that provoke one look at what the page says."""
    return kind == "error" and not text.startswith("Failed to load resource")


class Gate:
    """Holds runs at one place until it is opened."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self.reached = asyncio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await self._open.wait()

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.clear()
        self.reached.clear()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Runs stand still at their first search until the gate is opened."""
    made, search = Gate(), Retriever.search

    async def held(self: Retriever, *given: Any, **named: Any) -> Any:
        await made.pass_through()
        return await search(self, *given, **named)

    monkeypatch.setattr(Retriever, "search", held)
    yield made
    made.open()


@pytest.fixture
def pen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Runs stand still behind the first pieces of their answer until the gate is opened."""
    made, compose = Gate(), LocalReasoner.compose

    async def held(self: LocalReasoner, request: ComposeRequest) -> AsyncIterator[str | Composition]:
        spoken = 0
        async for piece in compose(self, request):
            yield piece
            spoken += 1
            if spoken == _PIECES:
                await made.pass_through()

    monkeypatch.setattr(LocalReasoner, "compose", held)
    yield made
    made.open()


@pytest.fixture
def shots() -> Path | None:
    """Where screenshots go when they are asked for: CONCLAVE_SCREENSHOTS names the folder."""
    wanted = os.environ.get("CONCLAVE_SCREENSHOTS")
    return Path(wanted) if wanted else None
