"""The conflict card: both sides, how they were weighed, and why one holds or both are shown."""

import re
from collections.abc import Awaitable, Callable

from playwright.async_api import expect

from tests.browser.company import DECIDED, UNDECIDED, UNDECIDED_EN
from tests.browser.visitor import Visitor

Visit = Callable[..., Awaitable[Visitor]]
OPEN_WORDS = re.compile("settled|resolved|chosen|được chọn|đã chọn|đã xử lý", re.IGNORECASE)


class TestDecided:
    async def test_shows_both_sides_with_dates_scopes_and_departments(self, visit: Visit) -> None:
        turn = await (await visit()).ask(DECIDED)
        card = turn.locator(".conflict")
        await expect(card).to_have_attribute("data-decided", "true")
        chosen, other = card.locator(".party").nth(0), card.locator(".party").nth(1)
        await expect(chosen).to_contain_text("Được chọn")
        await expect(chosen).to_contain_text("tối đa 3 ngày một tuần")
        await expect(chosen).to_contain_text("HR · từ 16/11/2026")
        await expect(chosen.locator(".tag")).to_have_text("nội bộ")
        await expect(other).to_contain_text("Không chọn")
        await expect(other).to_contain_text("tối đa 2 ngày một tuần")

    async def test_shows_four_factors_scores_and_the_margin_over_the_threshold(self, visit: Visit) -> None:
        card = (await (await visit()).ask(DECIDED)).locator(".conflict")
        rows = card.locator(".scores tbody tr")
        assert await rows.locator("th").all_inner_texts() == [
            "Đúng chuyên môn\ntrọng số 35 %", "Phạm vi\ntrọng số 25 %", "Độ mới\ntrọng số 25 %",
            "Sát câu hỏi\ntrọng số 15 %", "Điểm",
        ]  # fmt: skip
        for row in await rows.all():
            shown = await row.locator(".value").all_inner_texts()
            assert [bool(re.fullmatch(r"[01],\d\d", text.strip())) for text in shown] == [True, True]
            assert await row.locator(".bar-fill").count() == 2
        await expect(card.locator(".margin")).to_contain_text("≥ ngưỡng 0,10")
        await expect(card.locator(".why")).to_contain_text("độ mới +0,10")

    async def test_opens_the_losing_source_at_what_it_says(self, visit: Visit) -> None:
        visitor = await visit()
        await (await visitor.ask(DECIDED)).locator(".party .source").nth(1).click()
        reader = visitor.page.locator("#reader")
        await expect(reader.locator("h2")).to_have_text("Quy định làm việc từ xa")
        await expect(reader.locator("mark").first).to_contain_text("tối đa 2 ngày một tuần")


class TestUndecided:
    async def test_says_that_both_are_shown_and_nowhere_that_one_was_chosen(self, visit: Visit) -> None:
        turn = await (await visit()).ask(UNDECIDED)
        card = turn.locator(".conflict")
        await expect(card).to_have_attribute("data-decided", "false")
        await expect(card.locator("h3")).to_have_text("Hai nguồn nói khác nhau — chưa ngã ngũ")
        await expect(card.locator(".margin")).to_contain_text("< ngưỡng 0,10")
        await expect(card.locator(".why")).to_contain_text("nêu cả hai nguồn")
        assert OPEN_WORDS.search(await card.inner_text()) is None
        await expect(turn.locator(".badge")).to_have_text("Nguồn mâu thuẫn")
        # Neither side is told alone: the note comes first, and each side cites its own source.
        assert (await turn.locator(".answer").inner_text()).startswith("Lưu ý: hai tài liệu chưa thống nhất")
        sides = turn.locator(".answer li").filter(has_text="Theo “")
        await expect(sides).to_have_count(2)
        assert sorted(await sides.locator("button.cite").all_inner_texts()) == ["1", "2"]

    async def test_speaks_english_to_who_reads_english(self, visit: Visit) -> None:
        turn = await (await visit(locale="en-GB")).ask(UNDECIDED_EN)
        card = turn.locator(".conflict")
        await expect(card.locator("h3")).to_have_text("Two sources disagree — undecided")
        await expect(card.locator(".why")).to_contain_text("shows both sources and does not choose")
        assert OPEN_WORDS.search(await card.inner_text()) is None
