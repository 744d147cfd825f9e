"""The page itself: signing in, keyboard, phone, languages, colours, accessibility, weight and stillness."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]  # it brings none
from playwright.async_api import Browser, Page, Request, expect

from app.main import Services
from tests.browser.company import DECIDED, DEDUCTION, SEED_QUESTION, UNDECIDED
from tests.browser.conftest import PHONE, Gate
from tests.browser.visitor import Visitor
from tests.factories import demo_token

Visit = Callable[..., Awaitable[Visitor]]
COLOURS: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST_BYTES = 150_000
MOST_SHIFT = 0.1
"""What web browsers call a good cumulative layout shift."""
TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((node) => node.getBoundingClientRect().right > innerWidth + 1 && node.offsetParent)
  .filter((node) => !node.closest(".unseen, .skip, .scroll table, pre code"))
  .map((node) => node.outerHTML.slice(0, 80))"""
TOO_SMALL = """() => [...document.querySelectorAll("main button, header button")]
  .filter((node) => node.checkVisibility() && !node.matches(".cite, .source"))
  .filter((node) => Math.min(node.offsetWidth, node.offsetHeight) < 24)
  .map((node) => node.outerHTML.slice(0, 80))"""
"""24 pixels are the least for a finger; what stands in a line of text is excepted."""
VIOLATIONS = "axe.run({ resultTypes: ['violations'] }).then((found) => found.violations)"
"""What was found to be right stays in the page: that is thousands of nodes."""
WATCH_SHIFTS = """() => {
  window.shifts = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shifts += entry.value;
  }).observe({ type: "layout-shift", buffered: false });
}"""


async def serious(page: Page) -> list[Any]:
    """What axe finds that is serious or worse."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE_SCRIPT)
    found = await page.evaluate(VIOLATIONS)
    return [
        (one["id"], node["html"][:160], node["failureSummary"][:200])
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


async def serious_in_any_colours(page: Page) -> list[Any]:
    """The same in light and in dark colours."""
    found = []
    for colours in COLOURS:
        await page.emulate_media(color_scheme=colours)
        found += await serious(page)
    return found


class TestSigningIn:
    async def test_takes_one_click_and_is_left_again(self, visit: Visit) -> None:
        page = (await visit(user="")).page
        await page.locator(".person", has_text="acme/lan").click()
        await expect(page.locator("#question")).to_be_focused()
        await expect(page.locator("#who")).to_contain_text("acme/lan")
        await page.click("#sign-out")
        await expect(page.locator(".person").first).to_be_visible()
        assert await page.evaluate("Object.keys(sessionStorage)") == ["conclave.key"]

    async def test_without_a_link_nobody_is_offered(self, open_page: Callable[..., Awaitable[Page]]) -> None:
        page = await open_page("/?as=acme/lan", "#demo-users p")
        await expect(page.locator("#demo-users")).to_contain_text("Hãy mở một đường dẫn đăng nhập")
        assert await page.locator(".person").count() == 0 and await page.locator("#question").is_hidden()

    async def test_a_link_of_nobody_says_so(self, open_page: Callable[..., Awaitable[Page]], key: str) -> None:
        page = await open_page(f"/?as=acme/nobody&key={key}", ".person")
        await expect(page.locator("#sign-in-error")).to_contain_text("Không có người dùng mẫu “acme/nobody”")

    async def test_the_key_of_a_link_does_not_stay_in_the_address(self, visit: Visit, key: str) -> None:
        page = (await visit()).page
        assert key not in page.url and key not in await page.evaluate("JSON.stringify(localStorage)")

    async def test_a_token_lets_in_and_is_kept_in_the_tab_alone(self, visit: Visit, house: Services) -> None:
        page = (await visit(user="")).page
        await page.fill("#token", demo_token(house.settings, "acme/lan"))
        await page.press("#token", "Enter")
        await expect(page.locator("#question")).to_be_focused()
        await expect(page.locator("#who")).to_have_text("công khai, nội bộ, riêng của phòng")
        assert await page.evaluate("Object.keys(localStorage).filter((name) => name.includes('token'))") == []
        await page.reload()
        await expect(page.locator("#question")).to_be_visible()

    async def test_a_token_that_does_not_hold_is_told(self, visit: Visit) -> None:
        page = (await visit(user="")).page
        await page.fill("#token", "no.such.token")
        await page.press("#token", "Enter")
        await expect(page.locator("#sign-in-error")).to_have_text("Phiên đăng nhập đã hết. Hãy đăng nhập lại.")


class TestKeyboard:
    async def test_everything_is_reached_without_a_mouse(self, visit: Visit) -> None:
        page = (await visit(user="")).page
        await _tab_to(page, ".person:has-text('acme/lan')")
        await page.keyboard.press("Enter")
        await expect(page.locator("#question")).to_be_focused()
        await page.keyboard.type(DECIDED)
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".turn.current[data-outcome] .actions")
        await expect(page.locator("#question")).to_be_focused()
        await _tab_to(page, ".party .source", back=True)
        await page.keyboard.press("Enter")
        await expect(page.locator("#reader")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("#reader")).to_be_hidden()
        assert await page.evaluate("document.activeElement.matches('.party .source')")

    async def test_escape_in_the_question_box_stops(self, visit: Visit, gate: object) -> None:
        visitor = await visit()
        turn = await visitor.begin(SEED_QUESTION)
        await expect(turn.locator('.steps [data-status="in_progress"]')).not_to_have_count(0)
        await visitor.page.keyboard.press("Escape")
        await visitor.ended()
        await expect(turn.locator(".badge")).to_have_text("Đã dừng")

    async def test_the_seeds_question_is_asked_read_and_judged_by_keys_alone(self, visit: Visit) -> None:
        page = (await visit()).page
        await page.keyboard.type(SEED_QUESTION)
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".turn.current[data-outcome] .actions")
        await _tab_to(page, ".answer button.cite", back=True)
        await page.keyboard.press("Enter")
        await expect(page.locator("#reader mark").first).to_be_in_viewport()
        await page.keyboard.press("Escape")
        assert await page.evaluate("document.activeElement.matches('.answer button.cite')")
        await _tab_to(page, "[aria-label='Câu trả lời chưa đúng']")
        await page.keyboard.press("Space")
        await expect(page.locator(".correction textarea")).to_be_focused()
        await page.keyboard.type("Kỷ luật")
        await _tab_to(page, ".correction button[type=submit]")
        await page.keyboard.press("Enter")
        await expect(page.locator(".told[role=status]").first).to_have_text("Cảm ơn, góp ý đã được ghi lại.")
        await _tab_to(page, ".session")
        await page.keyboard.press("Enter")
        await expect(page.locator(".turn")).to_have_count(1)
        await expect(page.locator(".turn .asked")).to_have_text(SEED_QUESTION)


class TestPhone:
    async def test_nothing_is_wider_than_the_screen(self, visit: Visit) -> None:
        visitor = await visit(viewport=PHONE, has_touch=True, is_mobile=True)
        for question in (DECIDED, SEED_QUESTION):
            turn = await visitor.ask(question)
            await turn.locator(".work > summary").click()
            await turn.locator("summary", has_text="Diễn biến").click()
            assert await visitor.page.evaluate(TOO_WIDE) == []
            assert await visitor.page.evaluate(TOO_SMALL) == []
            assert await visitor.page.evaluate("document.documentElement.scrollHeight - innerHeight") <= 0
        await visitor.page.click("#menu")
        await expect(visitor.page.locator("#new-session")).to_be_visible()
        await visitor.page.locator(".session").first.click()
        await expect(visitor.page.locator("#new-session")).to_be_hidden()

    async def test_a_cited_document_fills_the_screen_and_is_left_again(self, visit: Visit) -> None:
        visitor = await visit(viewport=PHONE, has_touch=True, is_mobile=True)
        turn = await visitor.ask(SEED_QUESTION)
        await turn.locator(".answer button.cite").first.tap()
        reader = visitor.page.locator("#reader")
        await expect(reader.locator("mark").first).to_be_in_viewport()
        assert await visitor.page.evaluate(TOO_WIDE) == []
        assert await reader.evaluate("(box) => box.offsetWidth") == PHONE["width"]
        await reader.get_by_text("Đóng").tap()
        await expect(reader).to_be_hidden()

    async def test_signing_in_fits(self, visit: Visit) -> None:
        visitor = await visit(user="", viewport=PHONE, has_touch=True, is_mobile=True)
        assert await visitor.page.evaluate(TOO_WIDE) == []


class TestColours:
    async def test_are_changed_by_hand_and_stay(self, visit: Visit) -> None:
        page = (await visit(color_scheme="light")).page
        ground = "getComputedStyle(document.body).backgroundColor"
        light = await page.evaluate(ground)
        await page.click("#theme")
        dark = await page.evaluate(ground)
        assert dark != light
        await page.reload()
        await expect(page.locator("#question")).to_be_visible()
        assert await page.evaluate(ground) == dark


class TestLanguages:
    async def test_the_whole_page_changes_with_what_is_on_it(self, visit: Visit) -> None:
        visitor = await visit()
        turn = await visitor.ask(DECIDED)
        await visitor.page.click("#language")
        await expect(turn.locator(".conflict h3")).to_have_text("Two sources disagree — one was chosen")
        await expect(turn.locator(".badge")).to_have_text("Answered")
        await expect(visitor.page.locator("#send")).to_have_text("Ask")
        assert await visitor.page.evaluate("document.documentElement.lang") == "en"

    async def test_every_word_stands_in_both_languages(self, visit: Visit) -> None:
        page = (await visit()).page
        keys = """async () => {
          const flat = (words, at = "") => Object.entries(words).flatMap(([key, value]) =>
            typeof value === "string" ? [at + key] : flat(value, `${at}${key}.`));
          const [{ VI }, { EN }] = await Promise.all([import("/web/words-vi.js"), import("/web/words-en.js")]);
          return [flat(VI).sort(), flat(EN).sort()];
        }"""
        vietnamese, english = await page.evaluate(keys)
        assert vietnamese == english


class TestAccessibility:
    async def test_axe_finds_nothing_serious(self, visit: Visit) -> None:
        signing_in = await visit(user="")
        assert await serious_in_any_colours(signing_in.page) == []
        visitor = await visit()
        for question in (DECIDED, UNDECIDED):
            turn = await visitor.ask(question)
            for summary in await turn.locator("summary").all():
                await summary.click()
        assert await serious_in_any_colours(visitor.page) == []
        await visitor.turn.locator(".party .source").first.click()
        await expect(visitor.page.locator("#reader mark").first).to_be_visible()
        assert await serious_in_any_colours(visitor.page) == []

    async def test_axe_finds_nothing_serious_while_an_answer_comes(self, visit: Visit, gate: Gate) -> None:
        visitor = await visit(viewport=PHONE)
        turn = await visitor.begin(SEED_QUESTION)
        await expect(turn.locator('.steps [data-status="in_progress"]')).not_to_have_count(0)
        assert await serious_in_any_colours(visitor.page) == []
        gate.open()
        await visitor.ended()
        await turn.get_by_label("Câu trả lời chưa đúng").click()
        await visitor.page.click("#when")
        assert await serious_in_any_colours(visitor.page) == []
        await visitor.page.click("#menu")
        assert await serious_in_any_colours(visitor.page) == []

    async def test_axe_finds_nothing_serious_in_a_plan_that_waits(self, visit: Visit) -> None:
        visitor = await visit(locale="en-GB")
        await visitor.page.click("#deep")
        await visitor.page.click("#approve")
        turn = await visitor.begin(DEDUCTION)
        await expect(turn.locator(".approval")).to_be_visible()
        assert await serious(visitor.page) == []
        await visitor.page.click("#stop")
        await visitor.ended()
        await expect(turn.locator(".stopped")).to_have_text("Stopped as you asked.")
        assert await serious(visitor.page) == []


class TestWeight:
    async def test_the_first_load_is_light_and_all_from_here(self, browser: Browser, address: str, key: str) -> None:
        """From an empty cache to the question box: the page, signing in, the list of conversations."""
        context = await browser.new_context(locale="vi-VN")
        page = await context.new_page()
        asked: list[Request] = []
        page.on("requestfinished", lambda one: asked.append(one))
        await page.goto(f"{address}/?key={key}")
        await page.locator(".person", has_text="acme/an").click()
        await expect(page.locator("#question")).to_be_focused()
        await page.wait_for_load_state("networkidle")
        sizes = [await one.sizes() for one in asked]
        loaded = sum(told["responseBodySize"] + told["responseHeadersSize"] for told in sizes)
        await context.close()
        assert len(asked) > 20 and 20_000 < loaded < MOST_BYTES, f"{loaded} bytes in {len(asked)} answers"

    async def test_nothing_jumps_while_an_answer_comes(self, visit: Visit) -> None:
        visitor = await visit()
        await visitor.page.evaluate(WATCH_SHIFTS)
        for question in (SEED_QUESTION, DECIDED):
            await visitor.ask(question)
        assert await visitor.page.evaluate("window.shifts") < MOST_SHIFT

    async def test_the_policy_lets_no_foreign_script_run(self, visit: Visit) -> None:
        page = (await visit()).page
        answer = await page.request.get(page.url)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


async def _tab_to(page: Page, selector: str, *, back: bool = False) -> None:
    """Press Tab until the focus is there."""
    for _ in range(60):
        if await page.evaluate(
            "(selector) => document.activeElement.matches(selector)", selector.split(":has")[0]
        ) and (":has" not in selector or await page.locator(f"{selector}:focus").count()):
            return
        await page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{selector} is not reached by the keyboard")
