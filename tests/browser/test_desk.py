"""The desk in a browser: from a conflict in the chat to one value, and what others see of the page."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from app.domain.knowledge import DocumentDraft
from app.main import Services
from tests.browser.conftest import PHONE
from tests.browser.test_page import TOO_SMALL, TOO_WIDE, serious_in_any_colours
from tests.browser.test_screenshots import take
from tests.browser.visitor import Visitor

Open = Callable[..., Awaitable[Page]]
Visit = Callable[..., Awaitable[Visitor]]
QUESTION = "Tiền thuê tủ giày mỗi tháng là bao nhiêu?"
TEXTS = {
    "Bảng phí tủ giày": "Tiền thuê tủ giày mỗi tháng là 30.000 đồng.",
    "Nội quy tủ giày": "Tiền thuê tủ giày mỗi tháng là 45.000 đồng.",
}
SHOT = os.environ.get("CONCLAVE_SCREENSHOTS")


@pytest.fixture
async def rules(house: Services) -> AsyncIterator[None]:
    """Two documents of hr that differ; nobody compared them."""
    admin = (await house.claims_of("acme/admin")).principal()
    day = datetime(2026, 3, 1, tzinfo=UTC)
    fields = {"department": "hr", "scope": "internal", "created_at": day, "lang": "vi"}
    drafts = [
        DocumentDraft.model_validate(
            {**fields, "title": title, "text": f"# {title}\n\n{text}\n", "external_id": title, "url": f"/shoes/{at}"}
        )
        for at, (title, text) in enumerate(TEXTS.items())
    ]
    await house.ingestion.ingest(admin, drafts)
    yield
    found, _ = await house.catalogue.page(admin, department="hr", status=None, cursor=None, limit=100)
    for one in found:
        if one.external_id in TEXTS:
            await house.catalogue.delete(admin, one.document_id)


class TestTheStory:
    async def test_goes_from_a_conflict_to_one_value(
        self, visit: Visit, open_page: Open, key: str, rules: None
    ) -> None:
        employee = await visit("acme/hoa")
        card = (await employee.ask(QUESTION)).locator(".conflict")
        await expect(card).to_have_attribute("data-decided", "false")
        await card.get_by_role("button", name="Báo người phụ trách").click()
        await expect(card.locator(".telling")).to_have_text("Đã báo người phụ trách tài liệu.")

        desk = await open_page(f"/desk?as=acme/lan&key={key}", ".desk-item, .refused")
        await desk.locator(".sorts [data-kind=contradiction]").click()
        item = desk.locator(".desk-item", has_text=QUESTION)
        await expect(item).to_contain_text("người hỏi đã báo")
        assert "hoa" not in (await desk.locator("#stage").inner_text()).lower().split()
        await item.get_by_role("button", name="Văn bản này đúng: Nội quy tủ giày").press("Enter")
        before, after = item.locator("[data-answer=before]"), item.locator("[data-answer=after]")
        await expect(after).to_contain_text("Đã trả lời")
        await expect(after.locator(".answer")).to_contain_text("Tiền thuê tủ giày mỗi tháng là 45.000 đồng.")
        await expect(before).to_contain_text("Nguồn mâu thuẫn")
        await expect(before).to_contain_text("30.000")
        await expect(item).to_have_attribute("data-state", "done")
        await expect(item.locator(".doing button").first).to_be_focused()
        if SHOT:
            await take(desk, Path(SHOT) / "desk.webp")

        turn = await employee.ask(QUESTION)
        await expect(turn.locator(".badge")).to_have_text("Đã trả lời")
        await expect(turn.locator(".answer")).to_contain_text("45.000")

        # The employee corrects it; an owner writes what should be answered, and it waits for an administrator.
        await turn.get_by_role("button", name="Câu trả lời chưa đúng").click()
        await expect(turn.locator(".correction small")).to_contain_text("không kèm tên")
        await turn.get_by_label("Câu trả lời đúng là gì?").fill("Từ tháng 1 là 50.000 đồng.")
        await turn.locator(".correction button[type=submit]").click()
        await expect(turn.locator(".actions .told")).to_have_text("Cảm ơn, góp ý đã được ghi lại.")
        await desk.locator(".sorts [data-kind=correction]").click()
        item = desk.locator(".desk-item[data-kind=correction]", has_text="Từ tháng 1 là 50.000 đồng.")
        await item.get_by_role("button", name="Viết câu trả lời…").click()
        await expect(item.get_by_label("Câu trả lời", exact=True)).to_have_value("Từ tháng 1 là 50.000 đồng.")
        await item.get_by_role("button", name="Gửi").click()
        await expect(item.locator(".draft .answer")).to_have_text("Từ tháng 1 là 50.000 đồng.")
        await expect(item).to_have_attribute("data-state", "open")


class TestThePage:
    async def test_is_usable_on_a_phone_and_dismisses_with_a_reason(self, open_page: Open, key: str) -> None:
        page = await open_page(
            f"/desk?as=acme/admin&key={key}", ".desk-item", viewport=PHONE, has_touch=True, is_mobile=True
        )
        await page.get_by_label("Trạng thái").select_option("open")
        item = page.locator(".desk-item[data-kind=ending]").first
        assert (await page.evaluate(TOO_WIDE), await page.evaluate(TOO_SMALL)) == ([], [])
        assert await serious_in_any_colours(page) == []
        await item.get_by_role("button", name="Bỏ qua…").click()
        await expect(item.get_by_label("Vì sao bỏ qua?")).to_be_focused()
        await page.keyboard.type("Vẫn đúng")
        await item.locator(".dismissal button[type=submit]").click()
        kept = page.locator(".desk-item[data-state=dismissed]")
        await expect(kept).to_contain_text("Ghi chú: Vẫn đúng")
        await kept.get_by_role("button", name="Mở lại").click()
        await expect(page.locator(".desk-item[data-state=dismissed]")).to_have_count(0)

    async def test_speaks_both_languages_and_refuses_others(self, open_page: Open, key: str) -> None:
        page = await open_page(f"/desk?as=acme/hoa&key={key}", ".refused", locale="en-GB")
        await expect(page.locator(".refused h2")).to_have_text("This page is for owners of a department.")
        vietnamese, english = await page.evaluate(
            """async () => {
              const flat = (words, at = "") => Object.entries(words).flatMap(([key, value]) =>
                typeof value === "string" ? [at + key] : flat(value, `${at}${key}.`));
              const { WORDS } = await import("/web/desk-words.js");
              return [flat(WORDS.vi).sort(), flat(WORDS.en).sort()];
            }"""
        )
        assert vietnamese == english
