"""Runs that do not go straight: stopped, asked again, reloaded, left and found again."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from playwright.async_api import Route, expect

from tests.browser.company import DECIDED, LATE, SEED_QUESTION
from tests.browser.conftest import Gate
from tests.browser.visitor import Visitor

Visit = Callable[..., Awaitable[Visitor]]


class TestStopping:
    async def test_ends_the_run_and_lets_it_be_asked_again(self, visit: Visit, gate: Gate) -> None:
        visitor = await visit()
        turn = await visitor.begin(SEED_QUESTION)
        await expect(turn.locator('.steps [data-status="in_progress"]')).not_to_have_count(0)
        await visitor.page.click("#stop")
        await visitor.ended()
        await expect(turn.locator(".badge")).to_have_text("Đã dừng")
        await expect(turn.locator('.steps [data-status="in_progress"]')).to_have_count(0)
        await expect(turn.locator(".lanes .told").first).to_have_text("đã dừng")
        await expect(turn.get_by_label("Câu trả lời tốt")).to_have_count(0)
        await visitor.page.reload()
        await expect(turn.locator(".asked")).to_have_text(SEED_QUESTION)
        await expect(turn.locator(".stopped")).to_have_text("Đã dừng theo yêu cầu của bạn.")
        gate.open()
        await turn.get_by_label("Hỏi lại").click()
        await expect(visitor.page.locator(".turn")).to_have_count(2)
        await visitor.ended()
        await expect(visitor.turn.locator(".badge")).to_have_text("Đã trả lời")
        await visitor.page.reload()
        await expect(visitor.page.locator(".turn .answer").first).to_contain_text("câu hỏi đã bị dừng")


class TestReloading:
    async def test_resumes_the_answer_that_was_waited_for(self, visit: Visit, gate: Gate) -> None:
        visitor = await visit()
        turn = await visitor.begin(SEED_QUESTION)
        await expect(turn.locator('.steps [data-status="in_progress"]')).not_to_have_count(0)
        await visitor.page.reload()
        await expect(visitor.turn.locator(".asked")).to_have_text(SEED_QUESTION)
        await expect(visitor.turn.locator('.steps [data-status="in_progress"]')).not_to_have_count(0)
        gate.open()
        await visitor.ended()
        await expect(visitor.page.locator(".turn")).to_have_count(1)
        await expect(visitor.turn.locator(".answer")).to_contain_text("4 giá trị cốt lõi")
        steps = await visitor.turn.locator(".steps li").all()
        assert {await step.get_attribute("data-status") for step in steps} == {"completed"} and len(steps) > 3

    async def test_in_the_middle_of_a_sentence_goes_on_from_there(self, visit: Visit, pen: Gate) -> None:
        visitor = await visit()
        turn = await visitor.begin(SEED_QUESTION)
        await expect(turn.locator(".answer")).to_contain_text("Giá trị cốt lõi")
        await visitor.page.reload()
        answer = visitor.turn.locator(".answer")
        await expect(answer).to_contain_text("Giá trị cốt lõi")
        await expect(answer).not_to_contain_text("Đi muộn có ảnh hưởng")
        pen.open()
        await visitor.ended()
        whole = await answer.inner_text()
        assert whole.count("Đi muộn có ảnh hưởng đến giá trị nào không") == 1
        assert whole.count("Giá trị cốt lõi của công ty là gì?") == 1

    async def test_a_lost_connection_is_taken_up_where_it_broke(self, visit: Visit) -> None:
        visitor = await visit()

        async def cut_off(route: Route) -> None:
            whole = await (await route.fetch()).body()
            await route.fulfill(status=200, content_type="text/event-stream", body=whole[: len(whole) // 2])

        await visitor.page.route("**/chat/stream", cut_off)
        async with visitor.page.expect_request("**/events") as again:
            turn = await visitor.ask(SEED_QUESTION)
        assert int((await again.value).headers["last-event-id"]) > 1
        await expect(turn.locator(".answer")).to_contain_text("4 giá trị cốt lõi")
        steps = await turn.locator(".steps li").all()
        assert {await step.get_attribute("data-status") for step in steps} == {"completed"} and len(steps) > 3

    async def test_a_question_may_be_asked_before_the_list_is_loaded(self, visit: Visit) -> None:
        visitor = await visit()
        asked = asyncio.Event()

        async def late(route: Route) -> None:
            await asked.wait()
            await route.continue_()

        await visitor.page.route(re.compile(r"/api/v1/sessions\?"), late)
        await visitor.page.reload()
        await visitor.page.wait_for_selector("#question:visible")
        await visitor.begin(LATE)
        await visitor.page.wait_for_selector(".current .verdict")
        asked.set()
        await visitor.ended()
        await expect(visitor.page.locator(".session", has_text=LATE)).not_to_have_count(0)
        await expect(visitor.page.locator(".turn")).to_have_count(1)

    async def test_an_earlier_conversation_comes_back_with_its_cards(self, visit: Visit) -> None:
        visitor = await visit()
        await visitor.ask(LATE)
        await visitor.ask(DECIDED)
        await visitor.page.reload()
        await expect(visitor.page.locator(".turn")).to_have_count(2)
        await expect(visitor.turn.locator(".conflict")).to_be_visible()
        first = visitor.page.locator(".turn").first
        await expect(first.locator(".answer")).to_contain_text("Khiển trách")
        await expect(first.locator(".evidence")).to_have_count(0)
        await first.get_by_text("Xem bằng chứng").click()
        await expect(first.locator(".evidence")).to_be_visible()

    async def test_conversations_are_listed_opened_and_erased(self, visit: Visit) -> None:
        visitor = await visit(user="acme/minh")
        page = visitor.page
        await visitor.ask("Phiên VPN kéo dài bao lâu?")
        await page.click("#new-session")
        await expect(page.locator(".turn")).to_have_count(0)
        await page.locator(".session", has_text="Phiên VPN").first.click()
        await expect(page.locator(".turn")).to_have_count(1)
        page.once("dialog", lambda dialog: dialog.accept())
        listed = page.locator(".session", has_text="Phiên VPN")
        before = await listed.count()
        await page.get_by_role("button", name="Việc với hội thoại: Phiên VPN").first.click()
        await page.get_by_label("Xoá: Phiên VPN").first.click()
        await expect(listed).to_have_count(before - 1)
        await expect(page.locator("#welcome")).to_be_visible()
