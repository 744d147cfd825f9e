"""An administrator brings a document in, and a reader's question is answered from it."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import expect

from tests.browser.visitor import Visitor

Visit = Callable[..., Awaitable[Visitor]]
GYM = "# Phòng tập thể thao\n\n## Giờ mở cửa\n\nPhòng tập thể thao ở tầng 9 mở cửa từ 6 giờ 30 đến 21 giờ.\n"
QUESTION = "Phòng tập thể thao mở cửa lúc mấy giờ?"


class TestUploading:
    async def test_makes_a_document_that_a_reader_is_answered_from(self, visit: Visit, tmp_path: Path) -> None:
        reader = await visit(user="acme/hoa")
        turn = await reader.ask(QUESTION)
        await expect(turn.locator(".badge")).to_have_text("Không tìm thấy")
        await self._bring_in(await visit(user="acme/admin"), tmp_path / "gym.md")
        turn = await reader.ask(QUESTION)
        await expect(turn.locator(".badge")).to_have_text("Đã trả lời")
        await expect(turn.locator(".answer")).to_contain_text("từ 6 giờ 30 đến 21 giờ")
        await turn.locator(".answer button.cite").first.click()
        opened = reader.page.locator("#reader")
        await expect(opened.locator("h2")).to_have_text("Phòng tập thể thao")
        await expect(opened.locator("mark").first).to_contain_text("6 giờ 30")
        async with reader.page.expect_download() as kept:
            await opened.get_by_text("Tải tệp gốc").click()
        assert (await kept.value).suggested_filename == "gym.md"
        assert Path(await (await kept.value).path()).read_text("utf-8") == GYM

    async def test_for_one_department_is_not_read_by_another(self, visit: Visit, tmp_path: Path) -> None:
        paper = tmp_path / "pantry.md"
        await self._bring_in(await visit(user="acme/admin"), paper, PANTRY, department="hr", scope="private")
        for user, badge in (("acme/hoa", "Không tìm thấy"), ("acme/lan", "Đã trả lời")):
            turn = await (await visit(user=user)).ask("Mật mã tủ hồ sơ lương là gì?")
            await expect(turn.locator(".badge")).to_have_text(badge)
            assert ("NHÀN-42" in await turn.locator(".answer").inner_text()) == (user == "acme/lan")

    async def _bring_in(self, admin: Visitor, paper: Path, text: str = GYM, **said: str) -> None:
        """Choose the file on the administrators' page, and wait until it is published."""
        paper.write_text(text, "utf-8")
        page = admin.page
        await page.goto(f"{admin.address}/admin#documents")
        await page.click("#bring-in > summary")
        await page.set_input_files("#bring-files", paper)
        for name, value in ({"department": "general", "scope": "internal"} | said).items():
            await page.select_option(f"#up-{name}", value)
        await page.click(".bring button[type=submit]")
        await expect(page.locator(".arrivals > li").first).to_have_attribute("data-status", "ready")


PANTRY = "# Tủ hồ sơ lương\n\n## Mật mã\n\nMật mã tủ hồ sơ lương là NHÀN-42.\n"
