"""A question from the first word to the last: plan, lanes, answer, evidence, trace."""

import re
from collections.abc import Awaitable, Callable

from playwright.async_api import expect

from tests.browser.company import DECIDED, LATE, SEED_QUESTION, VPN
from tests.browser.conftest import Gate
from tests.browser.visitor import Visitor

Visit = Callable[..., Awaitable[Visitor]]

POLICIES = ("https://intra.acme.example/it/password-policy", "https://intra.acme.example/it/faq")
SHOW_ANSWER = """async (answer) => {
  const { Turn } = await import("/web/turn.js");
  const turn = new Turn("?", {});
  document.getElementById("turns").append(turn.node);
  await turn.take({ type: "final_report", data: { answer: { outcome: "answered", confidence_score: 1, ...answer } } });
}"""
"""Shows an answer as a language model might give it: none is asked here."""


class TestPlanCard:
    async def test_steps_turn_from_pending_to_done_with_the_percentage(self, visit: Visit, gate: Gate) -> None:
        visitor = await visit()
        turn = await visitor.begin(SEED_QUESTION)
        await expect(turn.locator(".tiers > li")).to_have_count(3)
        await expect(turn.locator(".percentage")).to_have_text("75 %")
        await expect(turn.locator('.steps [data-status="in_progress"]')).not_to_have_count(0)
        await expect(turn.locator('.steps [data-status="pending"]')).not_to_have_count(0)
        await expect(turn.locator(".work .line")).to_have_text(re.compile(r"Bước \d/\d: .*tra cứu"))
        gate.open()
        await visitor.ended()
        steps = await turn.locator(".steps li").all()
        assert {await step.get_attribute("data-status") for step in steps} == {"completed"} and len(steps) > 3
        await expect(turn.locator(".work .line")).to_have_text(re.compile(r"^Chung · HR · [\d,]+ s$"))
        await expect(turn.locator(".work .caption")).to_have_text(re.compile(r"^Kế hoạch · 3 bậc, \d bước$"))

    async def test_opens_while_a_run_takes_long_and_folds_below_the_answer(self, visit: Visit, gate: Gate) -> None:
        visitor = await visit()
        turn = await visitor.begin(SEED_QUESTION)
        await expect(turn.locator(".work .tiers")).to_be_visible()
        gate.open()
        await visitor.ended()
        await expect(turn.locator(".work .tiers")).to_be_hidden()
        assert await turn.evaluate(
            "(turn) => turn.querySelector('.answer').getBoundingClientRect().bottom"
            " < turn.querySelector('.work').getBoundingClientRect().top"
        )
        await turn.locator(".work > summary").click()
        await expect(turn.locator(".lanes")).to_be_visible()

    async def test_lanes_tell_who_speaks(self, visit: Visit, gate: Gate) -> None:
        visitor = await visit()
        turn = await visitor.begin(SEED_QUESTION)
        speaking = turn.locator('.lanes [data-speaking="yes"]')
        await expect(speaking.locator("b")).to_have_text(["Chung", "HR"])
        gate.open()
        await visitor.ended()
        await expect(speaking).to_have_count(0)
        await expect(turn.locator(".lanes b")).to_have_text(["Chung", "HR", "Điều phối"])

    async def test_tells_of_a_hand_over(self, visit: Visit) -> None:
        visitor = await visit()
        await visitor.ask(LATE)
        turn = await visitor.ask(VPN)
        await expect(turn.locator(".lanes .handover")).to_have_text("HR chuyển cho IT · hợp chuyên môn hơn")
        await expect(turn.locator(".answer")).to_contain_text("VPN")


class TestAnswer:
    async def test_has_outcome_confidence_evidence_and_follow_ups(self, visit: Visit) -> None:
        turn = await (await visit()).ask(SEED_QUESTION)
        await expect(turn.locator(".answer")).to_contain_text("4 giá trị cốt lõi")
        await expect(turn.locator(".badge")).to_have_text("Đã trả lời")
        sureness, figures = turn.locator(".confidence"), turn.locator(".confidence .amount, .relevance")
        await expect(sureness).to_contain_text("Chắc chắn")
        await expect(sureness).to_have_attribute("title", re.compile(r"^Độ tin cậy \d+ %"))
        await expect(figures.filter(visible=True)).to_have_count(0)
        await sureness.click()
        await expect(figures.filter(visible=True)).to_have_count(await figures.count())
        await expect(turn.locator(".evidence .source")).not_to_have_count(0)
        await expect(turn.locator(".after .chip")).not_to_have_count(0)
        await expect(turn.page.locator("#announce[aria-live]")).to_contain_text("4 giá trị cốt lõi")

    async def test_an_evidence_opens_at_the_quoted_passage(self, visit: Visit) -> None:
        visitor = await visit()
        turn = await visitor.ask(SEED_QUESTION)
        source = turn.locator(".evidence .source", has_text="Giá trị cốt lõi của công ty")
        await expect(turn.locator(".evidence li").first).to_contain_text("intra.acme.example/about/core-values")
        await source.click()
        reader = visitor.page.locator("#reader")
        await expect(reader.locator("h2")).to_have_text("Giá trị cốt lõi của công ty")
        marked = reader.locator("mark").first
        await expect(marked).to_be_in_viewport()
        assert "giá trị" in (await marked.inner_text()).lower()
        await visitor.page.keyboard.press("Escape")
        await expect(reader).to_be_hidden()

    async def test_a_table_of_a_document_is_read_as_one_with_the_quoted_row_marked(self, visit: Visit) -> None:
        visitor = await visit()
        turn = await visitor.ask(LATE)
        await turn.locator(".evidence .source").first.click()
        reader = visitor.page.locator("#reader")
        await expect(reader.locator("th")).to_have_text(["Số lần trong tháng", "Xử lý", "Người thực hiện"])
        row = ["Lần thứ 5", "Khiển trách bằng văn bản NS-22", "Trưởng phòng Nhân sự"]
        await expect(reader.locator("td mark")).to_have_text(row)
        await expect(reader.locator(".document")).not_to_contain_text("|")

    async def test_a_follow_up_is_asked_with_one_click(self, visit: Visit) -> None:
        visitor = await visit()
        turn = await visitor.ask(LATE)
        chip = turn.locator(".after .chip").first
        question = await chip.inner_text()
        await chip.click()
        await expect(visitor.turn.locator(".asked")).to_have_text(question)
        await visitor.ended()

    async def test_the_trace_is_a_timeline(self, visit: Visit) -> None:
        turn = await (await visit()).ask(SEED_QUESTION)
        await turn.locator(".work > summary").click()
        await turn.locator("summary", has_text="Diễn biến").click()
        rows = turn.locator(".gantt li:not(.axis)")
        await expect(rows.first).to_contain_text("Phân luồng")
        lefts = {
            await row.locator(".node").inner_text(): await _left(row.locator(".piece")) for row in await rows.all()
        }
        assert lefts["Chung · tra cứu 1"] < lefts["Chung · tổng hợp"] < lefts["Soạn câu trả lời"]

    async def test_is_copied_as_markdown(self, visit: Visit) -> None:
        visitor = await visit(permissions=["clipboard-read", "clipboard-write"])
        turn = await visitor.ask(DECIDED)
        await turn.get_by_label("Chép dạng Markdown").click()
        await expect(turn.locator(".told[role=status]")).to_have_text("Đã chép")
        copied = await visitor.page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(f"> {DECIDED}\n")
        assert "### Bằng chứng\n\n1. <https://intra.acme.example/" in copied
        assert "- Được chọn: " in copied

    async def test_a_citation_opens_at_the_sentence_it_stands_behind(self, visit: Visit) -> None:
        visitor = await visit()
        told = "Mật khẩu phải đổi mỗi 180 ngày [1]. Khóa sau năm lần sai [2, 9]."
        evidence = [{"url": url, "source_type": "rag", "scope": "internal", "relevance_score": 1.0} for url in POLICIES]
        await visitor.page.evaluate(SHOW_ANSWER, {"answer": told, "evidence": evidence})
        cites = visitor.turn.locator("button.cite")
        await expect(cites).to_have_text(["1", "2", "9"])
        await cites.first.click()
        reader = visitor.page.locator("#reader")
        await expect(reader.locator("mark")).to_have_text(["Mật khẩu phải đổi mỗi 180 ngày."])
        await expect(reader.locator("mark")).to_be_in_viewport()

    async def test_the_seeds_answer_cites_line_by_line_what_its_documents_say(self, visit: Visit) -> None:
        visitor = await visit()
        turn = await visitor.ask(SEED_QUESTION)
        lines = turn.locator(".answer p, .answer ul")
        first = lines.filter(has_text="4 giá trị cốt lõi").locator("button.cite")
        lateness = lines.filter(has_text="ảnh hưởng trực tiếp đến giá trị cốt lõi Kỷ luật").locator("button.cite")
        await expect(first).to_have_text(["1"])
        await expect(lateness).to_have_text(["2"])
        await lateness.click()
        reader = visitor.page.locator("#reader")
        await expect(reader.locator("h2")).to_have_text("Quy định chấm công và đi muộn")
        await expect(reader.locator("mark").first).to_be_in_viewport()
        await expect(reader.locator("mark", has_text="Kỷ luật")).not_to_have_count(0)

    async def test_a_line_is_cited_only_where_its_source_is_certain(self, visit: Visit) -> None:
        shown = """async ({ text, quotes, titles }) => {
          const { numbered } = await import("/web/numbering.js");
          const evidence = [{ url: "a" }, { url: "b" }];
          return numbered(text, evidence, new Map(quotes), new Map(titles)).text;
        }"""
        quotes = [["a", ["Một.", "Cả hai."]], ["b", ["Hai.", "Ba.", "Cả hai."]]]
        titles = [["a", "Sổ A"], ["b", "Sổ B"]]
        page = (await visit()).page
        for text, expected in (
            ("Một.", "Một. [1]"),
            ("Cả hai.", "Cả hai."),
            ("Theo “Sổ B”: Cả hai.", "Theo “Sổ B”: Cả hai. [2]"),
            ("Theo “Sổ B”:\nCả hai.\n**Đề mục**\nCả hai.", "Theo “Sổ B”:\nCả hai. [2]\n**Đề mục**\nCả hai."),
            ("- Hai.\n- **Ba.**\n\nMột. Hai.", "- Hai.\n- **Ba.** [2]\n\nMột. Hai."),
            ("Theo “Sổ C”: Không ai nói.", "Theo “Sổ C”: Không ai nói."),
            ("Một. Của mô hình [2].", "Một. Của mô hình [2]."),
            ("", ""),
        ):
            assert await page.evaluate(shown, {"text": text, "quotes": quotes, "titles": titles}) == expected

    async def test_says_how_sure_it_is_only_where_something_was_found(self, visit: Visit) -> None:
        page = (await visit()).page
        told = """async (given) => {
          const { surenessOf } = await import("/web/words.js");
          return given.map(([outcome, score]) => surenessOf(outcome, score));
        }"""
        given = [["answered", 0.8], ["answered", 0.79], ["partial", 0.49], ["conflict", 0.6]]
        nothing = [[outcome, 0.99] for outcome in ("not_found", "chitchat", "refused", "failed")]
        assert await page.evaluate(told, given) == ["sure", "likely", "check", "check"]
        assert await page.evaluate(told, nothing) == [None] * 4

    async def test_a_waiting_answer_says_that_it_is_not_stored_yet(self, visit: Visit) -> None:
        visitor = await visit()
        await visitor.ask(LATE)
        # The database cannot be taken from under the other tests: the page is told what it would be told then.
        await visitor.page.evaluate(SHOW_ANSWER, {"answer": "4", "evidence": [], "durability": "pending"})
        await expect(visitor.turn.locator(".note.pending")).to_have_text("Đang chờ lưu")
        await expect(visitor.turn.locator(".notice.pending")).to_contain_text("sẽ được lưu")
        await expect(visitor.page.locator(".notice.pending")).to_have_count(1)


class TestUntrustedText:
    async def test_becomes_neither_markup_nor_link(self, visit: Visit) -> None:
        visitor = await visit()
        text = (
            '<img src=x onerror="document.title=1"> [a](https://evil.example) javascript:alert(1) https://evil.example'
        )
        await visitor.begin(text)
        await visitor.ended()
        turn = visitor.turn
        assert await turn.locator("img, a[href*=evil], a[href^=javascript]").count() == 0
        await expect(turn.locator(".asked")).to_have_text(text)


async def _left(piece: object) -> float:
    left: float = await piece.evaluate("node => parseFloat(node.style.left)")  # type: ignore[attr-defined]
    return left
