"""A conversation of 1,000 messages: only what is looked at is laid out, and a key or a turn of the wheel stays cheap.

Nothing here is timed; `bench.page` says how long frames take.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from app.main import Services
from tests.browser.company import LATE, SEED_QUESTION
from tests.browser.long_talk import ELEMENTS, LAID_OUT, LAST_TASK, TURNS, write_long_talk
from tests.browser.visitor import Visitor

Visit = Callable[..., Awaitable[Visitor]]
MOST_LAID_OUT = 40
"""Turns near the window whose contents are laid out."""
MOST_ELEMENTS_A_TURN = 24
MOST_LAYOUTS_A_KEY = 4
KEYS = "còn nghỉ phép thì sao"


@pytest.fixture
async def long_talk(visit: Visit, house: Services) -> Visitor:
    """Its page, with the conversation open at its end."""
    visitor = await visit()
    await visitor.ask(LATE)
    task = await visitor.page.evaluate(LAST_TASK)
    session_id = await write_long_talk(house, "acme/lan", UUID(task))
    await visitor.page.goto(f"{visitor.address}/#{session_id}")
    await visitor.page.reload()
    await expect(visitor.page.locator(".turn")).to_have_count(TURNS)
    await expect(visitor.turn.locator(".evidence")).to_be_visible()
    return visitor


async def layouts(page: Page) -> float:
    """How often the browser has laid the page out so far."""
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable")
    told = await session.send("Performance.getMetrics")
    await session.detach()
    return next(float(one["value"]) for one in told["metrics"] if one["name"] == "LayoutCount")


class TestThousandMessages:
    async def test_are_all_there_and_only_those_in_sight_are_laid_out(self, long_talk: Visitor) -> None:
        """When it is opened, at a key, at the next question, and at a turn of the wheel."""
        page = long_talk.page
        await expect(page.locator(".asked")).to_have_count(TURNS)
        await expect(page.locator(".answer")).to_have_count(TURNS)
        await expect(long_talk.turn.locator(".asked")).to_have_text(f"{TURNS}. {LATE}")
        await expect(long_talk.turn.locator(".asked")).to_be_in_viewport()
        assert await page.evaluate(ELEMENTS) < TURNS * MOST_ELEMENTS_A_TURN
        assert 0 < await page.evaluate(LAID_OUT) <= MOST_LAID_OUT
        await cost_a_key_no_more_layouts_than_an_empty_page(page)
        turn = await long_talk.ask(SEED_QUESTION)
        await expect(turn.locator(".asked")).to_be_in_viewport()
        await expect(turn.locator(".answer")).to_contain_text("4 giá trị cốt lõi")
        assert 0 < await page.evaluate(LAID_OUT) <= MOST_LAID_OUT
        await are_scrolled_through_without_laying_out_the_rest(page)


async def cost_a_key_no_more_layouts_than_an_empty_page(page: Page) -> None:
    before = await layouts(page)
    await page.locator("#question").press_sequentially(KEYS)
    assert await layouts(page) - before <= MOST_LAYOUTS_A_KEY * len(KEYS)
    assert 0 < await page.evaluate(LAID_OUT) <= MOST_LAID_OUT
    await page.locator("#question").fill("")


async def are_scrolled_through_without_laying_out_the_rest(page: Page) -> None:
    turns = page.locator("#turns")
    for share in (0.5, 0.1, 0):
        await turns.evaluate(
            "(box, share) => box.scrollTo({ top: share * box.scrollHeight, behavior: 'instant' })", share
        )
        await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        assert 0 < await page.evaluate(LAID_OUT) <= MOST_LAID_OUT
    await expect(page.locator(".asked").first).to_be_in_viewport()
