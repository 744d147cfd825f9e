"""What goes with a question, and what is said about its answer."""

import inspect
import re
from collections.abc import Awaitable, Callable

from playwright.async_api import expect

from app.errors import ErrorCode
from app.main import Services
from app.tasks.approvals import NOT_IN_TIME, REFUSED
from app.tasks.oversight import STOPPED
from app.tasks.registry import TaskRegistry
from tests.browser.company import DEDUCTION, LATE
from tests.browser.visitor import Visitor

Visit = Callable[..., Awaitable[Visitor]]
EXPENSES = "Hạng mục,Chi phí\nKhách sạn,1200000\nTaxi,300000\n".encode()


PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const options = { clipboardData: data, bubbles: true, cancelable: true };
  document.getElementById("question").dispatchEvent(new ClipboardEvent("paste", options));
}"""
KEY = """(options) => document.getElementById("question").dispatchEvent(
  new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...options }))"""


class TestAttaching:
    async def test_a_file_is_read_and_asked_about(self, visit: Visit) -> None:
        visitor = await visit()
        file = {"name": "chi_phi.csv", "mimeType": "text/csv", "buffer": EXPENSES}
        await visitor.page.set_input_files("#file", file)  # type: ignore[arg-type]
        await expect(visitor.page.locator("#files li .icon")).to_be_visible()
        turn = await visitor.ask("Tổng chi phí trong tệp là bao nhiêu?")
        await expect(turn.locator(".answer")).to_contain_text("1.500.000")
        await expect(turn.locator(".evidence")).to_contain_text("tệp của bạn")

    async def test_a_file_that_cannot_be_read_says_why_and_can_be_removed(self, visit: Visit) -> None:
        visitor = await visit()
        file = {"name": "x.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 and no more"}
        await visitor.page.set_input_files("#file", file)  # type: ignore[arg-type]
        await expect(visitor.page.locator("#files .error")).to_contain_text("Không đọc được tệp này")
        await visitor.page.locator("#files .icon").click()
        await expect(visitor.page.locator("#files li")).to_have_count(0)


class TestQuestionBox:
    async def test_sends_what_is_too_long_as_a_file_or_says_so(self, visit: Visit) -> None:
        visitor = await visit()
        page, told = visitor.page, visitor.page.locator("#ask-told")
        await page.evaluate(PASTE, "Điều 1. Giờ làm việc bắt đầu lúc 8 giờ.\n" * 120)
        await expect(told).to_contain_text("(4.800 ký tự)")
        await expect(page.locator("#files .name")).to_have_text("Văn bản đã dán.txt")
        assert await page.input_value("#question") == ""
        await page.evaluate(PASTE, "ngắn")
        await expect(page.locator("#files li")).to_have_count(1)
        await page.fill("#question", "🙂" * 4000)
        await expect(told).to_have_text("")
        await page.fill("#question", "x" * 4001)
        await page.press("#question", "Enter")
        await expect(told).to_contain_text("4.001 ký tự; dài nhất là 4.000")
        assert len(await page.input_value("#question")) == 4001
        await expect(page.locator(".turn")).to_have_count(0)

    async def test_names_who_is_to_answer_and_takes_a_question_back(self, visit: Visit) -> None:
        visitor = await visit()
        page = visitor.page
        await page.fill("#question", f"@nobody {LATE}")
        await page.press("#question", "Enter")
        await expect(page.locator("#ask-told")).to_contain_text("Không có @nobody. Có thể hỏi: @hr, @it, @general")
        turn = await visitor.ask(f"@it {LATE}")
        await expect(turn.locator(".badge")).to_have_text("Không tìm thấy")
        await expect(turn.locator(".confidence")).to_have_count(0)
        await page.keyboard.press("ArrowUp")
        await expect(page.locator("#question")).to_have_value(f"@it {LATE}")
        await page.fill("#question", "")
        await turn.get_by_label("Sửa câu hỏi").click()
        await expect(page.locator("#question")).to_have_value(f"@it {LATE}")
        await page.select_option("#agent", "hr")
        async with page.expect_request("**/chat/stream") as asked:
            await visitor.ask(LATE)
        assert '"agents":{"hr":{}}' in ((await asked.value).post_data or "")
        await expect(visitor.turn.locator(".work .line")).to_have_text(re.compile("^HR · "))

    async def test_calls_every_refusal_by_name_in_vietnamese(self, visit: Visit) -> None:
        told = """async (given) => {
          const { CODES, refusalWords } = await import("/web/problems.js");
          return [Object.keys(CODES), given.map(([code, detail]) => refusalWords(code, detail))];
        }"""
        given = [
            ("PAYLOAD_INVALID", "query: must have at most 12000 characters."),
            ("OVERLOADED", "The queue is full."),
            ("NEWER", "As the server says it."),
        ]
        known, words = await (await visit()).page.evaluate(told, given)
        assert set(known) == set(ErrorCode)
        assert "12.000 ký tự" in words[0] and "quá bận" in words[1] and words[2] == given[2][1]
        _, words = await (await visit(locale="en-GB")).page.evaluate(told, given)
        assert words == [detail for _, detail in given]

    async def test_leaves_keys_to_an_input_method(self, visit: Visit) -> None:
        page = (await visit()).page
        await page.fill("#question", "tiê")
        await page.evaluate(KEY, {"key": "Enter", "isComposing": True})
        await page.evaluate(KEY, {"key": "Enter", "keyCode": 229})
        await expect(page.locator(".turn")).to_have_count(0)
        await expect(page.locator("#question")).to_have_value("tiê")


class TestAsOf:
    async def test_a_day_is_asked_by_and_told(self, visit: Visit) -> None:
        visitor = await visit()
        await visitor.page.click("#when")
        await visitor.page.fill("#day", "2025-06-01")
        turn = await visitor.ask("Nhân viên chính thức có bao nhiêu ngày phép năm?")
        await expect(turn.locator(".answer")).to_contain_text("12 ngày")
        await expect(turn.locator(".verdict")).to_contain_text("Theo quy định ngày 1/6/2025")
        await visitor.page.click("#clear-day")
        await expect(visitor.page.locator("#day-row")).to_be_hidden()


class TestDeepMode:
    async def test_the_switch_goes_with_the_question(self, visit: Visit) -> None:
        visitor = await visit()
        await visitor.page.click("#deep")
        async with visitor.page.expect_request("**/chat/stream") as asked:
            await visitor.begin(LATE)
        assert '"mode":"deep"' in ((await asked.value).post_data or "")
        await visitor.ended()
        await expect(visitor.turn.locator(".lanes b").first).to_have_text("Lập kế hoạch")

    async def test_a_plan_waits_until_it_is_approved_even_over_a_reload(self, visit: Visit) -> None:
        visitor = await visit()
        await visitor.page.click("#deep")
        await visitor.page.click("#approve")
        turn = await visitor.begin(DEDUCTION)
        await expect(turn.locator(".approval h3")).to_have_text("Kế hoạch đang chờ bạn duyệt")
        await expect(turn.locator('.steps [data-status="pending"]')).not_to_have_count(0)
        await visitor.page.reload()
        await visitor.turn.get_by_text("Duyệt và chạy").click()
        await visitor.ended()
        await expect(visitor.turn.locator(".approval")).to_have_count(0)
        await expect(visitor.turn.locator(".answer")).to_contain_text("200.000 đồng")
        steps = await visitor.turn.locator(".steps li").all()
        assert {await step.get_attribute("data-status") for step in steps} == {"completed"}

    async def test_a_plan_that_is_refused_ends_the_run(self, visit: Visit) -> None:
        visitor = await visit()
        await visitor.page.click("#deep")
        await visitor.page.click("#approve")
        turn = await visitor.begin(DEDUCTION)
        await turn.get_by_text("Bỏ câu hỏi").click()
        await visitor.ended()
        await expect(turn.locator(".badge")).to_have_text("Đã dừng")
        await expect(turn.locator(".stopped")).to_have_text("Bạn không duyệt kế hoạch nên câu hỏi không được chạy.")

    async def test_a_plan_nobody_decides_about_says_that_its_time_is_over(self, visit: Visit, house: Services) -> None:
        visitor = await visit()
        await visitor.page.click("#deep")
        await visitor.page.click("#approve")
        turn = await visitor.begin(DEDUCTION)
        await expect(turn.locator(".approval .fact")).to_contain_text("hạn")
        principal = (await house.claims_of("acme/lan")).principal()
        async with house.database.principal_scope(principal) as tx:  # a day is not waited for
            await tx.driver.execute(
                "update tasks set expires_at = clock_timestamp() where waiting_for = 'approval' and user_id = $1",
                principal.user_id,
            )
        await visitor.ended()
        await expect(turn.locator(".approval")).to_have_count(0)
        await expect(turn.locator(".stopped")).to_have_text(
            "Không ai duyệt kế hoạch trong thời hạn nên câu hỏi đã bị huỷ."
        )

    async def test_every_reason_to_stop_is_told_in_both_languages(self, visit: Visit) -> None:
        told = """async () => {
          const [{ VI }, { EN }] = await Promise.all([import("/web/words-vi.js"), import("/web/words-en.js")]);
          return [VI, EN].map((words) => Object.keys(words.stopReason));
        }"""
        owner = inspect.signature(TaskRegistry.cancel).parameters["reason"].default
        for known in await (await visit()).page.evaluate(told):
            assert set(known) == {owner, STOPPED, REFUSED, NOT_IN_TIME}


class TestFeedback:
    async def test_thumbs_and_a_correction_are_kept(self, visit: Visit, house: Services) -> None:
        visitor = await visit()
        turn = await visitor.ask(LATE)
        await turn.get_by_label("Câu trả lời chưa đúng").click()
        await turn.get_by_label("Câu trả lời đúng là gì?").fill("Lần thứ 5: khiển trách")
        await turn.get_by_text("Gửi", exact=True).click()
        await expect(turn.locator(".correction")).to_have_count(0)
        await expect(turn.locator(".told[role=status]")).to_have_text("Cảm ơn, góp ý đã được ghi lại.")
        down = turn.get_by_label("Câu trả lời chưa đúng")
        await expect(down).to_have_attribute("aria-pressed", "true")
        principal = (await house.claims_of("acme/lan")).principal()
        async with house.database.principal_scope(principal) as tx:
            kept = await tx.driver.fetch("select rating, correction from feedback")
        assert (-1, "Lần thứ 5: khiển trách") in [(row["rating"], row["correction"]) for row in kept]
        await down.click()
        await expect(down).to_have_attribute("aria-pressed", "false")
