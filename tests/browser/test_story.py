"""A company's story: people sign in at their provider, read what their groups let them read, one changes departments,
an auditor looks, and somebody has everything erased."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from playwright.async_api import Browser, Page, Response, expect

from app.api.auth import known_people
from app.domain.principal import tenant_id_of
from app.main import Services, create_app
from app.main.oidc import open_sign_ins
from app.storage import tenants
from app.storage.embedded import start_embedded
from tests.api.provider import CLIENT, SECRET, LoopbackProvider
from tests.api.serving import serve
from tests.api.test_conversations import Superuser, rows_with
from tests.browser.company import LATE
from tests.browser.conftest import DESK, PATIENCE_MS, Gate
from tests.browser.test_page import TOO_SMALL, TOO_WIDE, serious_in_any_colours
from tests.browser.test_screenshots import take
from tests.browser.visitor import Visitor

ACME = tenant_id_of("acme")
FILE = """\
address: {address}
providers:
  company:
    title: Tài khoản công ty
    issuer: {issuer}
    client_id: {client}
    client_secret_env: SECRET_OF_STORY
    tenant: acme
    groups:
      hr-team: {{departments: [hr], scopes: [public, internal, private]}}
      staff: {{scopes: [public, internal]}}
      inspectors: {{roles: [auditor], scopes: [public]}}
"""
GROUPS = {"mai": ["hr-team"], "khoa": ["staff"], "thu": ["inspectors"]}
RULE = "Khiển trách bằng văn bản"
"""Of the rule that only hr reads."""
CANARY = "Zuzanka"
AGAIN = f"Thưa {CANARY}, đi muộn lần thứ 5 trong tháng bị xử lý thế nào?"
ENTERED = {"/": "#question:visible", "/admin": ".part h2"}


@dataclass
class Office:
    """The company as its people meet it: the service with their provider beside it."""

    browser: Browser
    address: str
    provider: LoopbackProvider
    house: Services
    minute: list[float]
    """The clock of what the process believes of people, in seconds."""
    faults: list[str]

    async def sign_in(self, person: str, place: str = "/", **options: Any) -> Page:
        """In a browser of their own, by the button of their company."""
        options = {"viewport": DESK, "locale": "vi-VN", "reduced_motion": "reduce"} | options
        page = await (await self.browser.new_context(**options)).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        await page.goto(f"{self.address}{place}")
        self.provider.person = {"sub": person, "name": person.title(), "groups": GROUPS[person]}
        await page.get_by_role("link", name="Tài khoản công ty").click()
        await page.wait_for_selector(ENTERED[place])
        return page

    async def move(self, person: str, department: str) -> None:
        """As `conclave user add` of another process does: this one is told nothing."""
        async with (await self.house.storage.open_operator()).operator_scope() as tx:
            await tenants.add_user(tx, ACME, person, department=department, scopes={"public", "internal", "private"})


@pytest.fixture
async def office(
    house: Services, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Office]:
    provider, app, minute = LoopbackProvider(), create_app(services=house), [0.0]
    monkeypatch.setenv("SECRET_OF_STORY", SECRET)
    async with serve(provider.app) as issuer, serve(app) as address:
        provider.issuer = issuer
        told = tmp_path / "providers.yaml"
        told.write_text(FILE.format(address=address, issuer=issuer, client=CLIENT), "utf-8")
        settings = house.settings.model_copy(update={"oidc_file": told, "auth_provider_makes_users": True})
        sign_ins, known = open_sign_ins(settings, house.database), known_people(lambda: minute[0])
        door = replace(house.rooms.authenticator, sign_ins=sign_ins, known=known)
        app.state.services = replace(house.rooms, authenticator=door)
        found = Office(browser, address, provider, house, minute, [])
        yield found
        for context in browser.contexts:
            if any(page.url.startswith(address) for page in context.pages):
                await context.close()
        assert found.faults == []


@pytest.fixture
async def superuser(house: Services) -> AsyncIterator[Superuser]:
    server = await asyncio.to_thread(start_embedded, house.settings.data_dir)  # it runs already
    connection = await asyncpg.connect(server.url("postgres"))
    yield connection
    for name in GROUPS:  # other tests look at who there is
        await connection.execute("delete from users where tenant_id = $1 and name = $2", ACME, name)
    await connection.close()
    await asyncio.to_thread(server.stop)


class Auditor:
    """An auditor before the page of the audit; keeps all that the service sent to it."""

    def __init__(self, page: Page):
        self.page, self.acts = page, page.locator(".audit tbody tr")
        self.answers: list[asyncio.Future[str]] = []
        page.on("response", self._keep)

    def _keep(self, answer: Response) -> None:
        if "/api/" in answer.url:
            self.answers.append(asyncio.ensure_future(answer.text()))

    async def look_for(self, act: str, person: str) -> None:
        """Filter the list, and wait for it."""
        await self.page.locator("#by-person").fill(person)
        async with self.page.expect_response(lambda one: _lists(one.url, act, person)):
            await self.page.locator("#by-act").select_option(act)

    async def check(self, holds: str) -> str:
        """Have the chain checked; gives what the page tells."""
        await self.page.get_by_role("button", name="Kiểm tra chuỗi").click()
        told = self.page.locator(f".chain[data-holds={holds}] .doing p")
        await expect(told).to_contain_text("dòng")
        return await told.inner_text()


def _lists(url: str, act: str, person: str) -> bool:
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    return parts.path.endswith("/audit") and (asked.get("action"), asked.get("user")) == (
        [act] if act else None, [person] if person else None,
    )  # fmt: skip


async def answer_to(visitor: Visitor, question: str) -> str:
    """What a person reads below their question."""
    return await (await visitor.ask(question)).inner_text()


class TestACompany:
    async def test_keeps_what_is_whose_from_the_sign_in_to_the_receipt(
        self, office: Office, superuser: Superuser, pen: Gate, shots: Path | None
    ) -> None:
        pen.open()
        mai, khoa = [Visitor(await office.sign_in(one), office.address) for one in ("mai", "khoa")]
        await expect(mai.page.locator("#who")).to_contain_text("riêng của phòng")
        assert RULE in await answer_to(mai, LATE)
        assert RULE not in await answer_to(khoa, LATE)
        await expect(khoa.turn.locator(".badge")).to_have_text("Không tìm thấy")

        # In the middle of an answer mai leaves hr. What was begun ends with the rights it was asked with.
        pen.close()
        await mai.begin(AGAIN)
        await asyncio.wait_for(pen.reached.wait(), PATIENCE_MS / 1000)
        await office.move("mai", "general")
        office.minute[0] += 61
        pen.open()
        await mai.ended()
        await expect(mai.turn.locator(".answer")).to_contain_text(RULE)
        assert RULE not in await answer_to(mai, LATE)
        await mai.page.reload()
        await expect(mai.page.locator(".turn .badge")).to_have_text(["Không tìm thấy"])
        assert RULE not in await mai.page.locator("#turns").inner_text(), "what hr alone reads is not shown again"

        thu = Auditor(await office.sign_in("thu", "/admin"))
        assert await thu.page.locator(".parts a").all_inner_texts() == ["Nhật ký"]
        for person, questions in (("mai", 3), ("khoa", 1)):
            await thu.look_for("question_asked", person)
            await expect(thu.acts).to_have_count(questions)
        await thu.look_for("user_changed", "")
        await expect(thu.acts.first.locator(".of-target")).to_have_text("mai")
        await expect(thu.acts.first.locator(".of-details")).to_contain_text("department: general")
        await thu.look_for("", "")
        assert "Chuỗi còn nguyên" in await thu.check("true")
        if shots is not None:
            await take(thu.page, shots / "admin-audit.webp")
        assert (await thu.page.evaluate(TOO_WIDE), await thu.page.evaluate(TOO_SMALL)) == ([], [])
        assert await serious_in_any_colours(thu.page) == []

        # Everything of mai is erased, on mai's wish; the audit keeps that it was.
        assert {"tasks", "events"} <= (await rows_with(superuser, CANARY)).keys()
        await mai.page.locator("#erase").click()
        await expect(mai.page.locator("#reader")).to_contain_text("vĩnh viễn")
        await mai.page.get_by_role("button", name="Xóa tất cả ngay").click()
        facts = mai.page.locator(".receipt dd")
        await expect(facts.first).to_have_text("mai")
        assert (await facts.all_inner_texts())[2:] == ["1", "0", "0"]
        async with mai.page.expect_download() as saving:
            await mai.page.get_by_role("button", name="Lưu biên nhận").click()
        assert "mai" in Path(await (await saving.value).path()).read_text("utf-8")
        if shots is not None:
            await take(mai.page, shots / "erased.webp")
        assert await serious_in_any_colours(mai.page) == []
        assert await rows_with(superuser, CANARY) == {}
        kept = [
            one for one in office.house.settings.data_dir.rglob("*") if one.is_file() and "postgres" not in one.parts
        ]
        assert not [one for one in kept if CANARY.encode() in one.read_bytes()]
        await mai.page.get_by_role("button", name="Đóng").click()
        await expect(mai.page.locator(".sessions li")).to_have_count(0)
        await thu.look_for("data_erased", "mai")
        await expect(thu.acts).to_have_count(1)
        assert "Chuỗi còn nguyên" in await thu.check("true")
        told = "".join([*await asyncio.gather(*thu.answers), await thu.page.inner_text("body")])
        assert "question_asked" in told and not [one for one in (CANARY, "muộn", RULE) if one in told]

        # Somebody who may do more than the service touches a row: the page names it.
        change = "update audit set target = $1 where tenant_id = $2 and seq = 1"
        was = await superuser.fetchval("select target from audit where tenant_id = $1 and seq = 1", ACME)
        await superuser.execute(change, "touched", ACME)
        assert "row 1 was changed" in await thu.check("false")
        await superuser.execute(change, was, ACME)
