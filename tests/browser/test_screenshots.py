"""Pictures of the page for the documentation, made when CONCLAVE_SCREENSHOTS names a folder for them."""

import io
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.async_api import Page, expect

from tests.browser.company import DECIDED, DEDUCTION, LATE, SEED_QUESTION, UNDECIDED, UNDECIDED_EN, VPN
from tests.browser.conftest import PHONE, Gate
from tests.browser.visitor import Visitor

Visit = Callable[..., Awaitable[Visitor]]
MOST_BYTES = 160_000
TALL = {"width": 1180, "height": 1360}
WIDE = {"width": 1180, "height": 800}


@pytest.fixture
def folder(shots: Path | None) -> Path:
    if shots is None:
        pytest.skip("pictures are made when CONCLAVE_SCREENSHOTS names a folder")
    shots.mkdir(parents=True, exist_ok=True)
    return shots


async def take(page: Page, path: Path) -> None:
    """Keep the window as it looks, small enough for a page of documentation."""
    await page.evaluate("document.activeElement.blur()")
    shown = Image.open(io.BytesIO(await page.screenshot()))
    shown.save(path, "WEBP", quality=82, method=6)
    assert path.stat().st_size < MOST_BYTES


class TestPictures:
    async def test_of_a_plan_at_work(self, visit: Visit, gate: Gate, folder: Path) -> None:
        visitor = await visit(viewport=WIDE)
        turn = await visitor.begin(SEED_QUESTION)
        await expect(turn.locator('.steps [data-status="in_progress"]')).not_to_have_count(0)
        await expect(turn.locator(".work .tiers")).to_be_visible()
        await take(visitor.page, folder / "plan.webp")

    async def test_of_an_answer(self, visit: Visit, folder: Path) -> None:
        visitor = await visit(viewport=TALL)
        turn = await visitor.ask(SEED_QUESTION)
        await take(visitor.page, folder / "answer.webp")
        await turn.locator(".evidence .source", has_text="Giá trị cốt lõi").click()
        await expect(visitor.page.locator("#reader mark").first).to_be_visible()
        await take(visitor.page, folder / "document.webp")

    async def test_of_a_file_and_a_stopped_run_in_english_and_dark(
        self, visit: Visit, gate: Gate, folder: Path
    ) -> None:
        visitor = await visit(viewport=WIDE, locale="en-GB", color_scheme="dark")
        turn = await visitor.begin("How many days may I work from home in a week?")
        await expect(turn.locator('.steps [data-status="in_progress"]')).not_to_have_count(0)
        await visitor.page.click("#stop")
        await visitor.ended()
        file = {"name": "expenses.csv", "mimeType": "text/csv", "buffer": b"item,cost\nTaxi,300000\n"}
        await visitor.page.set_input_files("#file", file)  # type: ignore[arg-type]
        await expect(visitor.page.locator("#files li .icon")).to_be_visible()
        await visitor.page.click("#when")
        await visitor.page.fill("#day", "2026-06-01")
        await take(visitor.page, folder / "stopped-en-dark.webp")

    async def test_of_a_trace(self, visit: Visit, folder: Path) -> None:
        visitor = await visit(viewport=WIDE)
        turn = await visitor.ask(SEED_QUESTION)
        await turn.locator(".work > summary").click()
        await turn.locator("summary", has_text="Diễn biến").click()
        await turn.locator(".gantt").scroll_into_view_if_needed()
        await take(visitor.page, folder / "trace.webp")

    @pytest.mark.parametrize(
        ("name", "question", "locale", "colours"),
        [
            ("conflict", DECIDED, "vi-VN", "light"),
            ("conflict-open", UNDECIDED, "vi-VN", "light"),
            ("conflict-open-en-dark", UNDECIDED_EN, "en-GB", "dark"),
        ],
    )
    async def test_of_a_conflict(
        self, visit: Visit, folder: Path, name: str, question: str, locale: str, colours: str
    ) -> None:
        visitor = await visit(viewport=TALL, locale=locale, color_scheme=colours)
        await visitor.ask(question)
        await take(visitor.page, folder / f"{name}.webp")

    async def test_of_a_hand_over(self, visit: Visit, folder: Path) -> None:
        visitor = await visit(viewport=WIDE)
        await visitor.ask(LATE)
        await visitor.ask(VPN)
        await take(visitor.page, folder / "handover.webp")

    async def test_of_a_plan_that_waits(self, visit: Visit, folder: Path) -> None:
        visitor = await visit(viewport=WIDE)
        await visitor.page.click("#deep")
        await visitor.page.click("#approve")
        turn = await visitor.begin(DEDUCTION)
        await expect(turn.locator(".approval")).to_be_visible()
        await take(visitor.page, folder / "approval.webp")
        await turn.get_by_text("Duyệt và chạy").click()
        await visitor.ended()

    async def test_on_a_phone(self, visit: Visit, folder: Path) -> None:
        visitor = await visit(viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2)
        await visitor.ask(DECIDED)
        await visitor.page.locator(".conflict").evaluate("(card) => card.scrollIntoView()")
        await take(visitor.page, folder / "phone.webp")

    async def test_of_an_answer_on_a_phone_in_the_dark(self, visit: Visit, folder: Path) -> None:
        visitor = await visit(
            viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2, color_scheme="dark"
        )
        turn = await visitor.ask(SEED_QUESTION)
        await turn.locator(".answer").evaluate("(answer) => answer.scrollIntoView()")
        await take(visitor.page, folder / "phone-dark.webp")

    async def test_of_signing_in(self, visit: Visit, folder: Path) -> None:
        await take((await visit(user="", viewport=WIDE)).page, folder / "sign-in.webp")
