"""Conversations in the side bar: found, renamed, pinned, put away; those of programs under a heading of their own."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
from playwright.async_api import Locator, Page, expect

from app.main import Services
from tests.browser.company import LATE
from tests.browser.conftest import PHONE
from tests.browser.test_page import TOO_SMALL, TOO_WIDE, serious_in_any_colours
from tests.browser.test_screenshots import take
from tests.browser.visitor import Visitor
from tests.factories import demo_token

Visit = Callable[..., Awaitable[Visitor]]
FIRST = "Quên mật khẩu tài khoản thì làm gì?"


def item(page: Page, title: str) -> Locator:
    return page.locator("#side li[data-id]", has_text=title)


async def opened(page: Page, title: str, *, language: str = "vi") -> Locator:
    """The acts of a conversation."""
    row = item(page, title).first
    name = {"vi": "Việc với hội thoại", "en": "What to do with it"}[language]
    opener = row.get_by_role("button", name=f"{name}: {title}")
    await opener.click()
    await expect(opener).to_have_attribute("aria-expanded", "true")
    return row


async def ask_over_api(house: Services, address: str, user: str, question: str) -> None:
    headers = {"Authorization": f"Bearer {demo_token(house.settings, user)}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        body = {"model": "auto", "messages": [{"role": "user", "content": question}]}
        answer = await http.post(f"{address}/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text


class TestHistory:
    async def test_is_renamed_pinned_and_put_away(self, visit: Visit) -> None:
        page = (visitor := await visit(user="acme/hoa")).page
        await visitor.ask(FIRST)
        await page.click("#new-session")
        await visitor.ask(LATE)
        row = await opened(page, FIRST)
        await row.get_by_label(f"Ghim: {FIRST}").click()
        await expect(page.locator("#sessions li").first).to_contain_text("Đã ghim")
        await expect(page.locator("#sessions li").first.locator(".session")).to_be_focused()
        row = await opened(page, FIRST)
        await row.get_by_label(f"Đổi tên: {FIRST}").click()
        box = page.get_by_label(f"Tên mới: {FIRST}")
        await expect(box).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(item(page, FIRST).locator("button.session")).to_be_focused()
        await row.get_by_label(f"Đổi tên: {FIRST}").click()
        await box.fill("  Mật khẩu ")
        await page.keyboard.press("Enter")
        await expect(page.locator("#sessions li").first.locator(".session")).to_contain_text("Mật khẩu")
        await expect(item(page, FIRST)).to_have_count(0)
        row = await opened(page, "Mật khẩu")
        await row.get_by_label("Lưu trữ: Mật khẩu").click()
        await expect(item(page, "Mật khẩu")).to_have_count(0)
        await page.get_by_text("Đã lưu trữ").click()
        row = await opened(page, "Mật khẩu")
        assert await row.evaluate("(node) => node.closest('details').id") == "archived-sessions"
        await row.get_by_label("Bỏ lưu trữ: Mật khẩu").click()
        await expect(page.locator("#sessions li", has_text="Mật khẩu")).to_have_count(1)

    async def test_is_found_by_words_without_accents(self, visit: Visit, shots: Path | None) -> None:
        page = (visitor := await visit(user="acme/an")).page
        await visitor.ask(LATE)
        await page.click("#new-session")
        await visitor.ask("xin chào")
        await page.get_by_label("Tìm hội thoại").fill("di muon LAN")
        await expect(page.locator("#sessions li")).to_have_count(1)
        await expect(page.locator("#sessions .found")).to_have_text(LATE)
        if shots is not None:
            shots.mkdir(parents=True, exist_ok=True)
            await take(page, shots / "history.webp")
        assert await serious_in_any_colours(page) == []
        await page.fill("#find-session", "zebra")
        await expect(page.locator("#none-found")).to_have_text("Không tìm thấy hội thoại nào.")
        await page.fill("#find-session", "")
        await expect(page.locator("#sessions li").nth(1)).to_be_visible()
        await page.click("#sign-out")
        assert await page.locator("#side li").count() == 0

    async def test_shows_what_programs_asked_under_a_heading_of_its_own(
        self, visit: Visit, house: Services, address: str
    ) -> None:
        await ask_over_api(house, address, "acme/lan", "Chương trình hỏi về mật khẩu?")
        page = (visitor := await visit(locale="en-GB")).page
        await visitor.ask("hello")
        await expect(page.locator("#sessions li", has_text="hello")).not_to_have_count(0)
        await expect(item(page, "Chương trình hỏi")).to_have_count(0)
        await page.locator("#api-sessions summary", has_text="API").click()
        await expect(page.locator("#api-list li", has_text="Chương trình hỏi")).to_have_count(1)
        row = await opened(page, "Chương trình hỏi về mật khẩu?", language="en")
        assert await serious_in_any_colours(page) == []
        await row.locator(".session").click()
        await expect(page.locator(".turn .asked")).to_have_text("Chương trình hỏi về mật khẩu?")

    async def test_is_kept_as_a_file(self, visit: Visit) -> None:
        page = (visitor := await visit(user="acme/hoa")).page
        await visitor.ask(LATE)
        row = await opened(page, LATE)
        for kind, button in (("md", "Markdown"), ("json", "JSON")):
            async with page.expect_download() as coming:
                await row.get_by_label(f"Tải về dạng {button}: {LATE}").click()
            file = await coming.value
            text = Path(await file.path()).read_text("utf-8")
            assert file.suggested_filename == f"Đi muộn lần thứ 5 trong tháng bị xử lý thế nào.{kind}"
            if kind == "md":
                assert text.startswith(f"# {LATE}\n\n*") and f"> {LATE}\n\n" in text
            else:
                (turn,) = json.loads(text)["turns"]
                assert turn["question"] == LATE and turn["answer"] and turn["outcome"]
        await page.emulate_media(media="print")
        await expect(page.locator("#side, #ask, .top, .actions, .work").filter(visible=True)).to_have_count(0)
        await expect(visitor.turn.locator(".answer")).to_be_visible()
        await page.emulate_media(media="screen")

    async def test_fits_a_phone_and_is_reached_by_keys(self, visit: Visit) -> None:
        page = (visitor := await visit(viewport=PHONE, has_touch=True, is_mobile=True)).page
        await visitor.ask(LATE)
        await page.click("#menu")
        row = await opened(page, LATE)
        assert await page.evaluate(TOO_WIDE) == []
        assert await page.evaluate(TOO_SMALL.replace("main button", "nav button")) == []
        await row.get_by_role("button", name="Việc với hội thoại").focus()
        await page.keyboard.press("Tab")
        await expect(row.get_by_role("button", name="Ghim")).to_be_focused()
