"""Browser profiles that are kept from test to test: a new one starts processes and compiles every script again, which
takes longer than what most tests do in it.
"""

import json
from collections import defaultdict
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page

_LIGHT = "/web/icon.svg"
"""A page of the service without scripts: while it is open the profile's process stays."""
_OPEN = "() => { open(); }"
"""Opened from there a page needs no process of its own."""


class Windows:
    """Profiles by their options. Who takes one has it alone, and finds nothing in it that others left."""

    def __init__(self, browser: Browser, address: str):
        self._browser, self._address = browser, address
        self._free: defaultdict[str, list[BrowserContext]] = defaultdict(list)
        self._taken: list[tuple[str, BrowserContext]] = []

    async def open(self, **options: Any) -> Page:
        """An empty page in a profile that nobody has."""
        key = json.dumps(options, sort_keys=True)
        profile = self._free[key].pop() if self._free[key] else await self._made(options)
        self._taken.append((key, profile))
        keeper = profile.pages[0]
        async with profile.expect_page() as opening:
            await keeper.evaluate(_OPEN)
        return await opening.value

    async def clear(self) -> None:
        """Close what was opened, and forget what it kept."""
        while self._taken:
            key, profile = self._taken.pop()
            keeper, *pages = profile.pages
            for page in pages:
                await page.close()
            await profile.clear_cookies()
            await keeper.evaluate("localStorage.clear()")
            self._free[key].append(profile)

    async def _made(self, options: dict[str, Any]) -> BrowserContext:
        profile = await self._browser.new_context(**options)
        keeper = await profile.new_page()
        await keeper.goto(f"{self._address}{_LIGHT}")
        return profile
