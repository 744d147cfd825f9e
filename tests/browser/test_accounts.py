"""A company without a provider: its first administrator comes by a printed link and invites a colleague, who asks."""

from base64 import b32decode
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from playwright.async_api import Page, expect

from app.client.local import FIRST_FILE
from app.domain.principal import tenant_id_of
from app.main import Services
from app.main.identity import kept_secret
from app.storage import tenants
from extras.accounts import api
from extras.accounts.codes import Codes
from tests.api.test_accounts import MOMENT
from tests.browser.conftest import ADMIN_LOADED, PHONE
from tests.browser.test_admin import bring_in
from tests.browser.test_page import TOO_SMALL, TOO_WIDE, serious_in_any_colours
from tests.browser.test_screenshots import take
from tests.browser.visitor import Visitor

FIRM, GOOD, OTHER = "an-phat", "bốn từ thường ngày", "another long password"
CANTEEN = "# Nhà ăn\n\n## Giá\n\nBữa trưa ở nhà ăn giá 35.000 đồng một suất.\n"
Open = Callable[..., Awaitable[Page]]


@pytest.fixture
async def link(house: Services) -> AsyncIterator[str]:
    """What a start prints."""
    file = house.settings.data_dir / FIRST_FILE
    yield f"/#first={kept_secret(file)}"
    file.unlink(missing_ok=True)
    async with house.storage.as_operator() as tx:  # the demo users come back
        await tenants.remove_tenant(tx, tenant_id_of(FIRM))


async def is_well_made(page: Page) -> None:
    assert (await page.evaluate(TOO_WIDE), await page.evaluate(TOO_SMALL)) == ([], [])
    assert await serious_in_any_colours(page) == []
    await page.emulate_media(color_scheme="light")


async def founded(open_page: Open, link: str, shots: Path | None) -> Page:
    """The first administrator, by the keyboard alone."""
    page = await open_page(link, "#link-company")
    assert "first=" not in page.url
    await expect(page.locator("#link-company")).to_be_focused()
    await is_well_made(page)
    if shots is not None:
        await take(page, shots / "first-administrator.webp")
        await page.focus("#link-company")
    for text in (FIRM, "huong@an-phat.example", "Trần Thị Hương", GOOD, GOOD):
        await page.keyboard.type(text)
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator("#question")).to_be_focused()
    return page


async def invited(page: Page, address: str, shots: Path | None) -> str:
    """The link the administrator has for a colleague."""
    await page.goto(f"{address}/admin#people")
    await page.wait_for_selector(ADMIN_LOADED)
    await page.click("#add-person > summary")
    await page.fill("#person-name", "nhi")
    await page.fill("#person-shown", "Đỗ Nhi")
    await is_well_made(page)
    await page.locator("#add-person button[type=submit]").click()
    box = page.locator("#invitation-link")
    await expect(box).to_be_focused()
    await expect(page.locator("[data-person=nhi] .of-accountState")).to_contain_text("đường dẫn đến")
    await is_well_made(page)
    if shots is not None:
        await take(page, shots / "admin-people.webp")
    return (await box.input_value()).removeprefix(address)


async def sign_out(page: Page) -> None:
    await page.click("#sign-out")
    await expect(page.locator("#sign-in-user")).to_be_visible()


async def enter(page: Page, password: str, code: str = "", user: str = "nhi") -> None:
    for place, told in (("user", user), ("password", password), ("code", code)):
        await page.fill(f"#sign-in-{place}", told)
    await page.press("#sign-in-password", "Enter")


class TestACompanyWithoutAProvider:
    async def test_begins_with_a_link_and_goes_on_with_passwords(
        self, open_page: Open, link: str, address: str, shots: Path | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(api, "Codes", partial(Codes, clock=lambda: MOMENT))
        boss = await founded(open_page, link, shots)
        await open_page(link, "#sign-in-error:not(:empty)")  # it counted once
        await boss.goto(f"{address}/admin#documents")
        await boss.wait_for_selector(ADMIN_LOADED)
        await bring_in(boss, "nha-an.md", CANTEEN, department="general", scope="public")
        invitation = await invited(boss, address, shots)

        page = await open_page(invitation, "#new-password", viewport=PHONE, is_mobile=True, has_touch=True)
        assert "link=" not in page.url
        await is_well_made(page)
        await page.fill("#new-password", GOOD)
        await page.fill("#new-password-again", OTHER)
        await page.locator(".by-link button").click()
        await expect(page.locator(".by-link .error")).to_have_text("Hai mật khẩu không giống nhau.")
        await page.fill("#new-password-again", GOOD)
        await page.locator(".by-link button").click()
        turn = await Visitor(page, address).ask("Bữa trưa ở nhà ăn giá bao nhiêu?")
        await expect(turn.locator(".answer")).to_contain_text("35.000")
        await expect(page.locator("#who")).to_contain_text("nhi")

        await page.reload()
        await expect(page.locator(".turn .answer")).to_contain_text("35.000")  # what is opened closes the side
        await page.locator("#menu").click()
        secret = await with_codes(page)
        await page.get_by_role("button", name="Đóng").click()
        await page.locator("#menu").click()
        await sign_out(page)
        await is_well_made(page)
        await enter(page, GOOD)
        await expect(page.locator(".account-form .error")).to_have_text("Tên, mật khẩu hoặc mã xác thực không đúng.")
        await enter(page, GOOD, code_of(secret))
        await expect(page.locator("#question")).to_be_visible()
        await boss.reload()
        await expect(boss.locator("[data-person=nhi] .of-accountState")).to_contain_text("mật khẩu và mã")


async def with_codes(page: Page) -> str:
    """Switch codes on, after a wrong password; gives their secret."""
    await page.click("#account")
    codes = page.locator("[data-section=codes]")
    await expect(codes).to_be_visible()
    await is_well_made(page)
    await page.fill("#codes-password", OTHER)
    await codes.get_by_role("button").click()
    await expect(codes.locator(".error")).to_contain_text("không đúng")
    await page.fill("#codes-password", GOOD)
    await codes.get_by_role("button").click()
    secret = (await codes.locator(".key").inner_text()).replace(" ", "")
    await page.fill("#codes-code", code_of(secret, 1))
    await codes.get_by_role("button").click()
    await expect(codes).to_contain_text("Từ nay sẽ hỏi mã.")
    return secret


def code_of(secret: str, steps_ago: int = 0) -> str:
    return TOTP(b32decode(secret), 6, SHA1(), 30).generate(MOMENT - 30 * steps_ago).decode()


class TestWords:
    async def test_stand_in_both_languages(self, open_page: Open, address: str) -> None:
        page = await open_page("/", "#sign-in-user")
        words: list[list[Any]] = await page.evaluate(
            """async () => {
              const { ALL } = await import("/web/account-words.js");
              return [Object.keys(ALL.VI).sort(), Object.keys(ALL.EN).sort()];
            }"""
        )
        assert words[0] == words[1]
        await page.click("#language")
        await expect(page.locator("label[for=sign-in-user]")).to_have_text("User name")
