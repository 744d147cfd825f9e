"""The site is built strictly, holds every page, and asks nobody else for anything."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from lxml import html
from playwright.async_api import Page, async_playwright
from playwright.async_api import TimeoutError as PatienceLost

from tests.browser.conftest import FLAGS, NAMES
from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"
_PRESSES = 30
CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
ASKING = (
    "//script/@src | //img/@src | //iframe/@src | //source/@src | //video/@src | //link[@rel!='canonical']/@href | "
    "//form/@action | //object/@data"
)
"""Whatever a browser fetches of a page without being told to."""


def listed(nav: Any) -> Iterator[str]:
    """Every page of the navigation, in order."""
    match nav:
        case str():
            yield nav
        case list() | dict():
            for one in nav.values() if isinstance(nav, dict) else nav:
                yield from listed(one)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    if find_spec("zensical") is None:
        pytest.skip("the site's builder is not installed: pip install 'conclave[docs]'")
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(DOCS, folder / "docs")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "build" / "site"


async def _search_box(page: Page) -> None:
    """Open it; the keys are heard only once the page's script runs."""
    for _ in range(_PRESSES):
        await page.keyboard.press("Control+k")
        with suppress(PatienceLost):
            await page.get_by_role("combobox").wait_for(timeout=1_000)
            return
    raise AssertionError("the search box does not open")


class TestNavigation:
    def test_has_every_page_once(self) -> None:
        pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
        assert sorted(listed(CONFIGURATION["nav"])) == sorted(pages)

    def test_the_decisions_index_has_every_decision(self) -> None:
        index = (DOCS / "decisions" / "README.md").read_text("utf-8")
        pages = {path.name for path in (DOCS / "decisions").glob("0*.md")}
        assert set(re.findall(r"\]\((0[\w-]+\.md)\)", index)) == pages


class TestSite:
    def test_every_page_is_built(self, site: Path) -> None:
        for page in listed(CONFIGURATION["nav"]):
            built = site / page.removesuffix("README.md").removesuffix(".md")
            assert built.with_suffix(".html").exists() or (built / "index.html").exists(), page

    def test_no_page_asks_anything_from_another_address(self, site: Path) -> None:
        pages = list(site.rglob("*.html"))
        asked = {
            str(one) for page in pages for one in cast(list[object], html.fromstring(page.read_bytes()).xpath(ASKING))
        }
        assert len(pages) > 60 and asked
        assert {one for one in asked if re.match(r"(?:[a-z]+:)?//", one)} == set()

    def test_no_style_asks_anything_from_another_address(self, site: Path) -> None:
        for style in [*site.rglob("*.css"), *site.rglob("*.svg")]:
            assert not re.search(r"""(?:url\(|@import)\s*["']?(?:https?:)?//""", style.read_text("utf-8")), style

    async def test_opened_from_a_disk_it_finds_words_of_both_languages_and_asks_nobody(self, site: Path) -> None:
        named = os.environ.get("CONCLAVE_CHROMIUM")
        found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
        if found is None:
            pytest.skip("no Chromium on this machine: apt-get install chromium")
        asked: list[str] = []
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=found, args=list(FLAGS))
            page = await browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            for words in ("chuyển giao", "idempotency"):
                await page.goto((site / "concepts.html").as_uri())
                await _search_box(page)
                await page.get_by_role("combobox").fill(words)
                await page.get_by_text(re.compile(r"^\d+ results?$")).wait_for()
            await browser.close()
        assert asked and all(url.startswith(("file:", "data:", "blob:")) for url in asked)
