"""Text as people write it: what the Markdown of an answer becomes, and what no text ever becomes."""

from collections.abc import Awaitable, Callable

from playwright.async_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.payloads import PAYLOADS
from tests.browser.test_answers import POLICIES, SHOW_ANSWER
from tests.browser.test_page import TOO_WIDE, serious_in_any_colours
from tests.browser.visitor import Visitor

Visit = Callable[..., Awaitable[Visitor]]
EVIDENCE = [{"url": url, "source_type": "rag", "scope": "internal", "relevance_score": 1.0} for url in POLICIES]
WRITTEN = """\
## So sánh

Theo *quy định mới*: **14 ngày** [1]. Gọi `phep_nam`, không phải 2*3*4, ten_tep_2 hay ~~cũ~~.

| Thâm niên | Số ngày | Ghi chú |
|:---|---:|---|
| Dưới 1 năm | 12 | theo tháng [1] |
| Từ 5 năm | -5 | **A** "B" \\| [2] |
| x | =1+1 | một<br>hai |

1. Một
   - con *nghiêng*
   - con hai
2. Hai

> Trích **dẫn**

```python
return x < 1 and "<b>**"
```

Xem [quy định](https://intra.acme.example/it/faq), [khác](https://elsewhere.example/x) và https://intra.acme.example/it/faq.
"""
DRAWN = """async ([text, step]) => {
  const { GrowingProse, prose } = await import("/web/prose.js");
  const [growing, whole] = [document.createElement("div"), document.createElement("div")];
  const writer = new GrowingProse(growing);
  const first = new Set();
  let pipes = 0;
  for (let end = step; end < text.length + step; end += step) {
    writer.write(text.slice(0, end));
    first.add(growing.firstChild);
    pipes += growing.textContent.split("|").length > 2;
  }
  whole.append(prose(text));
  return { isSame: growing.innerHTML === whole.innerHTML, first: first.size, pipes };
}"""
"""Grown by pieces, an answer is what it is as a whole; its first block is not drawn again once it is finished."""
SHOW_EVERYWHERE = """async (payloads) => {
  window.hits = 0;
  window.hit = () => { window.hits += 1; };
  const [{ Turn, PastTurn }, { conflictCard }, { evidenceNode }] = await Promise.all(
    ["turn", "conflict", "evidence"].map((name) => import(`/web/${name}.js`)));
  const room = document.getElementById("turns");
  for (const text of payloads) {
    const turn = new Turn(text, {});
    room.append(turn.node);
    const evidence = [{ url: text, source_type: "web", scope: text, relevance_score: 1, created_at: text }];
    const step = { node_id: text, type: "agent_tool", agent: text, tool: text, status: text };
    const answer = { outcome: "answered", confidence_score: 1, answer: text, evidence, reasoning: text,
      follow_up_questions: [text], execution_metadata: { degraded: [text] }, flow_action: [step] };
    turn.say(text);
    await turn.take({ type: "final_report", data: { answer } });
    turn.after.append(evidenceNode([{ ...evidence[0], source_type: "rag" }], new Map([[text, text]]), () => {}));
    const failed = new Turn(text, {});
    failed.refused(text);
    room.append(failed.node, new PastTurn(text, text, null, {}).node);
  }
}"""
DROP = """async (payloads) => {
  for (let at = 0; at < payloads.length; at += 10) {
    const dataTransfer = new DataTransfer();
    for (const name of payloads.slice(at, at + 10)) dataTransfer.items.add(new File(["x"], name));
    const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
    document.getElementById("ask").dispatchEvent(drop);
  }
}"""
READ = """async ([address, quotes]) => (await import("/web/reader.js")).openSource(address, quotes, quotes[0])"""
STRANGE = """() => [...document.querySelectorAll("#turns *, #files *, #sessions *, #reader *")].filter((node) =>
  node.matches("script, img, iframe, object, embed, video, audio, source, style, link, base, meta, form, input, math")
  || [...node.attributes].some(({ name }) => /^(on.*|src|srcset|srcdoc|action|ping)$/.test(name))
  || (node.hasAttribute("href") && node.closest(".answer"))
  || (node.hasAttribute("href") && !/^https?:/.test(node.href))).map((node) => node.outerHTML.slice(0, 200))"""


async def shown(visitor: Visitor, text: str) -> None:
    await visitor.page.evaluate("document.getElementById('welcome').hidden = true")
    await visitor.page.evaluate(SHOW_ANSWER, {"answer": text, "evidence": EVIDENCE})


class TestMarkdown:
    async def test_is_drawn_as_it_was_meant(self, visit: Visit) -> None:
        visitor = await visit(permissions=["clipboard-read", "clipboard-write"])
        page, answer = visitor.page, visitor.turn.locator(".answer")
        await shown(visitor, WRITTEN)
        for tag, texts in {
            "h3": ["So sánh"], "em": ["quy định mới", "nghiêng"], "strong": ["14 ngày", "A", "dẫn"], "del": ["cũ"],
            "p > code": ["phep_nam"], "ol > li > ul > li": ["con nghiêng", "con hai"], "blockquote": ["Trích dẫn"],
            "pre code": ['return x < 1 and "<b>**"'], "th": ["Thâm niên", "Số ngày", "Ghi chú"],
            "td.right": ["12", "-5", "=1+1"], "td button.cite": ["1", "2"],
            "a": ["quy định", "https://intra.acme.example/it/faq"],
        }.items():  # fmt: skip
            await expect(answer.locator(tag)).to_have_text(texts)
        await expect(answer).to_contain_text("2*3*4, ten_tep_2")
        await expect(answer).to_contain_text("khác (https://elsewhere.example/x)")
        await answer.get_by_text("Chép bảng (CSV)").click()
        await expect(answer.locator(".copy.done")).to_have_text("Đã chép")
        rows = ['"Thâm niên","Số ngày","Ghi chú"', '"Dưới 1 năm","12","theo tháng"', '"Từ 5 năm","-5","A ""B"" |"']
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert copied.split("\r\n") == [*rows, '"x","\'=1+1","một hai"']
        assert await serious_in_any_colours(page) == []
        await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        assert await page.evaluate(TOO_WIDE) == []
        await answer.locator("td button.cite").first.click()
        await expect(page.locator("#reader")).to_be_visible()

    async def test_grows_block_by_block_into_the_same(self, visit: Visit) -> None:
        page = (await visit()).page
        for step in (1, 7):
            drawn = await page.evaluate(DRAWN, [WRITTEN, step])
            assert drawn["isSame"] and drawn["pipes"] == 0, drawn
            assert drawn["first"] <= len("## So sánh\n") / step + 1


class TestUntrustedText:
    async def test_is_neither_run_nor_asked_for_wherever_it_stands(self, visit: Visit) -> None:
        """Requests to other addresses and breaches of the policy fail every test of this folder."""
        assert len(PAYLOADS) >= 150
        page = (await visit()).page
        await page.evaluate(SHOW_EVERYWHERE, list(PAYLOADS))
        await as_names_of_files_and_conversations(page)
        await as_a_document(page)
        await page.evaluate("new Promise((drawn) => setTimeout(drawn, 100))")
        assert await page.evaluate(STRANGE) == []
        assert await page.evaluate("window.hits") == 0


async def as_a_document(page: Page) -> None:
    text = "\n\n".join(f"{one}\n- {one}\n# {one}" for one in PAYLOADS)
    facts = {"department": PAYLOADS[1], "scope": PAYLOADS[2], "created_at": "2026-01-01T00:00:00Z", "is_cut": True}
    document = {"title": PAYLOADS[0], "text": text, "effective_from": None, "effective_to": None, **facts}
    await page.route("**/reading?*", lambda route: route.fulfill(json={"documents": [document]}))
    await page.evaluate(READ, [f"javascript:{PAYLOADS[0]}", list(PAYLOADS[:20])])
    await expect(page.locator("#reader h2")).to_have_text(PAYLOADS[0])
    assert await page.locator("#reader mark").count() and await page.locator("#reader td").count()


async def as_names_of_files_and_conversations(page: Page) -> None:
    names = list(PAYLOADS)
    session = {"updated_at": "2026-01-01T00:00:00Z", "pinned": False, "archived": False}
    listed = [{"session_id": str(at), "title": name, "snippet": name, **session} for at, name in enumerate(names)]
    await page.route("**/api/v1/files", lambda route: route.fulfill(status=422, json={"detail": names[0]}))
    await page.route("**/sessions?*", lambda route: route.fulfill(json={"sessions": listed, "next_cursor": None}))
    await page.fill("#find-session", "x")
    await page.evaluate(DROP, names[::3])
    await expect(page.locator("#files li .error")).to_have_count(len(names[::3]))
    await expect(page.locator("#sessions li")).to_have_count(len(names))
