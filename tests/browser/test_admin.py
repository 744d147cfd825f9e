"""The admin pages: documents, health, conflicts, performance and agents, as an administrator and as somebody else."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.company import DECIDED
from tests.browser.conftest import ADMIN_LOADED as LOADED
from tests.browser.conftest import PHONE
from tests.browser.test_page import MOST_BYTES, TOO_WIDE, serious
from tests.browser.test_screenshots import take
from tests.browser.visitor import Visitor

Enter = Callable[..., Awaitable[Page]]
Visit = Callable[..., Awaitable[Visitor]]
PARTS = (
    "documents", "health", "conflicts", "tasks", "usage", "performance", "evaluations", "people", "agents", "audit",
)  # fmt: skip
CANTEEN = "# Canteen\n\n## Lunch\n\nLunch costs {price} VND and begins at {hour} o'clock.\n"
DROP = """([text, name]) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], name, { type: "text/markdown" }));
  const zone = document.querySelector(".drop");
  for (const kind of ["dragenter", "dragover", "drop"]) {
    zone.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
  }
}"""


async def bring_in(page: Page, name: str, text: str, **said: str) -> Locator:
    """Drop a file and wait until it is published; gives the row of its arrival."""
    if await page.locator("#bring-in[open]").count() == 0:
        await page.click("#bring-in > summary")
    await page.evaluate(DROP, [text, name])
    for field, value in said.items():
        control = page.locator(f"#up-{field}")
        await (control.select_option(value) if field in ("department", "scope") else control.fill(value))
    await page.click(".bring button[type=submit]")
    row = page.locator(".arrivals > li").first
    await expect(row).to_have_attribute("data-status", "ready")
    return row


async def open_document(page: Page, title: str) -> Locator:
    """The sheet of a document in the list."""
    await page.locator(".listing .source", has_text=title).first.click()
    sheet = page.locator("#sheet")
    await expect(sheet.locator("[data-section=versions]")).to_be_visible()
    return sheet


class TestEntering:
    async def test_others_are_told_and_nothing_is_shown(self, enter: Enter) -> None:
        page = await enter(user="acme/lan")
        await expect(page.locator(".refused h2")).to_have_text(
            "Các trang này dành cho quản trị viên và kiểm toán viên."
        )
        assert await page.locator(".parts:visible, .part").count() == 0
        assert await serious(page) == []
        await page.locator(".refused button").click()
        await page.locator(".person", has_text="acme/admin").click()
        await expect(page.locator(LOADED)).to_have_text("Tài liệu")

    async def test_the_first_load_is_light(self, enter: Enter) -> None:
        page = await enter(user="")
        asked: list[Any] = []
        page.on("requestfinished", lambda one: asked.append(one))
        await page.reload()
        await page.wait_for_selector(".person")
        sizes = [await one.sizes() for one in asked]
        told = sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes)
        assert 0 < told < MOST_BYTES, f"{told} bytes in {len(asked)} answers"

    async def test_every_word_stands_in_both_languages(self, enter: Enter) -> None:
        vietnamese, english = await (await enter()).evaluate(
            """async () => {
              const flat = (words, at = "") => Object.entries(words).flatMap(([key, value]) =>
                typeof value === "string" ? [at + key] : flat(value, `${at}${key}.`));
              const [{ VI }, { EN }] = await Promise.all(
                [import("/web/admin-words-vi.js"), import("/web/admin-words-en.js")]);
              return [flat(VI).sort(), flat(EN).sort()];
            }"""
        )
        assert vietnamese == english

    async def test_the_language_changes_with_what_is_shown(self, enter: Enter) -> None:
        page = await enter("performance")
        await page.click("#language")
        await expect(page.locator(LOADED)).to_have_text("Performance")
        await expect(page.locator(".parts [aria-current]")).to_have_text("Performance")


class TestDocuments:
    async def test_are_listed_and_filtered(self, enter: Enter) -> None:
        page = await enter()
        rows = page.locator(".listing tbody tr")
        await expect(rows).not_to_have_count(0)
        everything = await rows.count()
        await page.select_option("#by-department", "it")
        await expect(rows).not_to_have_count(everything)
        assert set(await page.locator("td.of-department").all_inner_texts()) == {"IT"}
        await page.select_option("#by-status", "failed")
        await expect(page.get_by_text("Không có tài liệu nào phù hợp.")).to_be_visible()

    async def test_are_dropped_followed_and_compared_with_the_version_before(self, enter: Enter) -> None:
        page = await enter()
        said = {"department": "hr", "scope": "private", "external": "browser-canteen"}
        row = await bring_in(page, "canteen.md", CANTEEN.format(price=30000, hour=11), **said)
        await expect(row.locator("[data-state=done]")).to_have_count(5)
        await expect(row.locator("progress")).to_have_js_property("value", 100)
        sheet = await open_document(page, "Canteen")
        await expect(sheet.locator("[data-section=sees]")).to_contain_text("Chỉ người thuộc HR")
        await sheet.get_by_text("Đưa vào phiên bản mới").click()
        await expect(page.locator("#up-external")).to_have_value("browser-canteen")
        await bring_in(page, "canteen.md", CANTEEN.format(price=35000, hour=11))
        sheet = await open_document(page, "Canteen")
        newest = sheet.locator("[data-version='2']")
        await expect(newest.locator(".hunk del")).to_contain_text("30000")
        await expect(newest.locator(".hunk ins")).to_contain_text("35000")
        await expect(newest.locator(".tag")).to_have_text("đang dùng")
        assert await serious(page) == []

    async def test_rights_and_days_are_changed_and_what_that_means_is_told_before(self, enter: Enter) -> None:
        page = await enter()
        said = {"department": "it", "scope": "private", "external": "browser-rights"}
        await bring_in(page, "rights.md", "# Server rooms\n\nThe server room is on floor 3.\n", **said)
        sheet = await open_document(page, "Server rooms")
        await sheet.locator("#ch-scope").select_option("public")
        await sheet.locator("#ch-to").fill("2020-01-31")
        await expect(sheet.locator(".then")).to_contain_text("Mọi người trong công ty có quyền “công khai”")
        await expect(sheet.locator(".then")).to_contain_text("Đã hết hiệu lực")
        await expect(sheet.locator(".then .readers li")).not_to_have_count(0)
        await sheet.get_by_role("button", name="Lưu").click()
        await expect(sheet.locator("[data-section=facts] .tag")).to_have_text("công khai")
        await expect(sheet.locator("[data-section=sees]")).to_contain_text("31/1/2020")
        await sheet.locator("#ch-to").fill("")
        await expect(sheet.locator(".then .readers li")).not_to_have_count(0)
        await sheet.get_by_role("button", name="Lưu").click()
        await expect(sheet.locator("[data-section=sees]")).to_contain_text("Câu hỏi về hôm nay dùng tài liệu này.")
        await sheet.locator("#ch-from").fill("2026-05-01")
        await sheet.locator("#ch-to").fill("2026-04-01")
        # Below them the button moves while they arrive: a click may miss it.
        await expect(sheet.locator(".then .readers li")).not_to_have_count(0)
        await sheet.get_by_role("button", name="Lưu").click()
        await expect(sheet.locator("[data-section=change] [role=alert]")).to_contain_text("effective_to")

    async def test_are_deleted_only_when_that_is_confirmed(self, enter: Enter) -> None:
        page = await enter()
        await bring_in(
            page, "gone.md", "# Short lived\n\nThis is gone soon.\n", scope="public", external="browser-gone"
        )
        await open_document(page, "Short lived")
        erase = page.locator("[data-section=erase] button")
        page.once("dialog", lambda dialog: dialog.dismiss())
        await erase.click()
        await expect(page.locator("#sheet")).to_be_visible()
        page.once("dialog", lambda dialog: dialog.accept())
        await erase.click()
        await expect(page.locator("#sheet")).to_be_hidden()
        await expect(page.locator(".listing .source", has_text="Short lived")).to_have_count(0)

    async def test_a_refused_file_is_told_with_its_reason(self, enter: Enter) -> None:
        page = await enter()
        await page.click("#bring-in > summary")
        await page.click(".bring button[type=submit]")
        await expect(page.locator(".bring [role=alert]")).to_have_text("Hãy chọn tệp trước.")
        await page.evaluate(DROP, ["%PDF-1.7 nothing", "broken.pdf"])
        await page.click(".bring button[type=submit]")
        row = page.locator(".arrivals > li").first
        await expect(row).to_have_attribute("data-status", "failed")
        await expect(row.locator("[role=alert]")).not_to_be_empty()

    async def test_markup_in_a_document_stays_text(self, enter: Enter) -> None:
        page = await enter()
        hostile = "<img src=x onerror=alert(1)> & <b>bold</b>"
        await bring_in(page, "hostile.md", f"# {hostile}\n\nA line.\n", scope="public", external="browser-hostile<b>")
        await expect(page.locator(".listing .id", has_text="browser-hostile<b>")).to_be_visible()
        assert await page.locator(".listing img, .listing tbody th b, .arrivals img").count() == 0


class TestHealth:
    async def test_tells_contradictions_with_both_sides(self, enter: Enter) -> None:
        page = await enter("health")
        found = page.locator(".item[data-kind=contradiction]").first
        await expect(found.locator(".party")).to_have_count(2)
        await expect(found.locator(".value").first).not_to_be_empty()
        await found.locator(".source").first.click()
        await expect(page.locator("#sheet [data-section=sees]")).to_be_visible()


class TestConflicts:
    async def test_own_ones_are_weighed_again(self, enter: Enter, visit: Visit) -> None:
        await (await visit(user="acme/admin")).ask(DECIDED)
        page = await enter("conflicts")
        await page.locator(".ledger tbody tr").first.get_by_role("button").click()
        await expect(page.locator(".verdicts section")).to_have_count(1)
        await page.locator("#weight-domain").fill("0")
        await expect(page.locator(".verdicts section")).to_have_count(2)
        await expect(page.locator("#sheet [role=status]").first).to_contain_text("đứng trước")
        for factor in ("scope", "recency", "relevance"):
            await page.locator(f"#weight-{factor}").fill("0")
        await expect(page.locator("#sheet [role=alert]")).to_have_text("Ít nhất một trọng số phải lớn hơn không.")
        assert await serious(page) == []

    async def test_those_of_others_are_figures_alone(self, enter: Enter, visit: Visit) -> None:
        await (await visit(user="acme/lan")).ask(DECIDED)
        page = await enter("conflicts")
        assert DECIDED not in await page.inner_text(".part")
        await page.locator(".ledger tbody tr").first.get_by_role("button").click()
        await expect(page.locator("#sheet .notice")).to_contain_text("do người khác hỏi")
        await expect(page.locator("#sheet [type=range]")).to_have_count(0)


class TestPerformance:
    async def test_charts_are_drawn_of_the_runs(self, enter: Enter, visit: Visit) -> None:
        await (await visit()).ask(DECIDED)
        page = await enter("performance")
        await expect(page.locator(".tiles dd")).to_have_count(4)
        charts = page.locator(".chart")
        await expect(charts).to_have_count(4)
        widths = await page.locator(".chart svg .fill").evaluate_all(
            "(bars) => bars.map((bar) => bar.width.baseVal.value)"
        )
        assert max(widths) == 100
        await page.select_option("#period", "1")
        await expect(page.locator(".tiles dd")).to_have_count(4)


class TestEveryPart:
    @pytest.mark.parametrize("colours", ["light", "dark"])
    async def test_axe_finds_nothing_serious(self, enter: Enter, colours: str) -> None:
        page = await enter(color_scheme=colours)
        for part in PARTS:
            await go(page, part)
            assert await serious(page) == [], part
        await go(page, "documents")
        await page.click("#bring-in > summary")
        await open_document(page, "VPN")
        assert await serious(page) == []

    async def test_fits_a_phone(self, enter: Enter) -> None:
        page = await enter(viewport=PHONE, is_mobile=True, has_touch=True)
        for part in PARTS:
            await go(page, part)
            assert await page.evaluate(TOO_WIDE) == [], part
        await go(page, "documents")
        await page.click("#bring-in > summary")
        assert await page.evaluate(TOO_WIDE) == []
        await open_document(page, "VPN")
        assert await page.evaluate(TOO_WIDE) == []

    async def test_is_reached_by_the_keyboard(self, enter: Enter) -> None:
        page = await enter()
        await page.locator(".parts a").first.focus()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator(".part[data-part=health] h2")).to_be_visible()
        await go(page, "documents")
        await page.locator(".listing .source").first.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#sheet [data-section=versions]")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("#sheet")).to_be_hidden()
        await expect(page.locator(".listing .source").first).to_be_focused()


class TestPictures:
    async def test_of_every_part(self, enter: Enter, visit: Visit, shots: Path | None) -> None:
        if shots is None:
            pytest.skip("pictures are made when CONCLAVE_SCREENSHOTS names a folder")
        shots.mkdir(parents=True, exist_ok=True)
        await (await visit(user="acme/admin")).ask(DECIDED)
        for part in ("documents", "health", "conflicts", "performance"):
            page = await enter(part)
            await take(page, shots / f"admin-{part}.webp")
        page = await enter("conflicts", locale="en-GB", color_scheme="dark")
        await page.locator(".ledger tbody tr").first.get_by_role("button").click()
        await page.locator("#weight-domain").fill("0")
        await expect(page.locator(".verdicts section")).to_have_count(2)
        await take(page, shots / "admin-weighing.webp")
        page = await enter()
        said = {"department": "hr", "scope": "private", "external": "browser-picture"}
        await bring_in(page, "canteen.md", CANTEEN.format(price=30000, hour=11), **said)
        await bring_in(page, "canteen.md", CANTEEN.format(price=35000, hour=12), **said)
        await take(page, shots / "admin-upload.webp")
        await open_document(page, "Canteen")
        await take(page, shots / "admin-document.webp")
        await page.locator("[data-section=versions]").scroll_into_view_if_needed()
        await page.locator(".leaf").evaluate("(leaf) => leaf.scrollTo(0, 1e6)")
        await take(page, shots / "admin-versions.webp")
        phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
        for part in ("documents", "conflicts", "performance"):
            await take(await enter(part, **phone), shots / f"admin-phone-{part}.webp")


async def go(page: Page, part: str) -> None:
    """Another part of the same page."""
    await page.evaluate("(part) => { location.hash = part; }", part)
    await page.wait_for_selector(f".part[data-part={part}] h2")
