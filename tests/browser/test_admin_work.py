"""The admin pages of what goes on: tasks and queues, usage, evaluations, agents' files, and who may read a document."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.async_api import Locator, Page, expect

from app.domain.principal import Principal
from app.evaluation.gates import DEFAULT_GATES, check_gates, read_gates
from app.evaluation.report_store import REPORTS_FOLDER, ReportStore
from app.main import Services
from tests.browser.company import DECIDED, SEED_QUESTION
from tests.browser.conftest import PHONE, Gate
from tests.browser.test_admin import go, open_document
from tests.browser.test_page import TOO_WIDE, serious
from tests.browser.test_screenshots import take
from tests.browser.visitor import Visitor
from tests.factories import SEED_USERS
from tests.unit.evaluation.runs import conflict, events, report

Enter = Callable[..., Awaitable[Page]]
Visit = Callable[..., Awaitable[Visitor]]
USERS: dict[str, Principal] = {f"{user.tenant}/{user.name}": user.principal for user in SEED_USERS}
_CALL = """
insert into model_calls (tenant_id, user_id, call_id, run_id, purpose, model, reserved_tokens, prompt_tokens,
    completion_tokens, cost_micros, outcome, created_at)
values ($1, $2, $3, $4, 'compose', 'm', 0, $5, $6, $7, 'done', $8)
"""


@pytest.fixture
async def spent(house: Services) -> None:
    """Calls of models over three weeks, more every week; some cost something."""
    now = datetime.now(UTC)
    for number, user in enumerate(("acme/lan", "acme/minh", "acme/hoa")):
        who = USERS[user]
        async with house.database.principal_scope(who) as tx:
            for day in range(20):
                took = (4000 + 900 * (20 - day) - 1100 * number, 300 + 90 * (day % 5), 1500 * (3 - number))
                await tx.driver.execute(
                    _CALL, who.tenant_id, who.user_id, uuid4(), uuid4(), *took, now - timedelta(days=day)
                )


@pytest.fixture
async def failed_step(house: Services) -> None:
    """A step of hr that failed."""
    who, root, session = USERS["acme/lan"], uuid4(), uuid4()
    ids = (who.tenant_id, who.user_id)
    async with house.database.principal_scope(who) as tx:
        await tx.driver.execute(
            "insert into sessions (tenant_id, user_id, session_id, user_input) values ($1, $2, $3, '')", *ids, session
        )
        for kind, task_id, parent in (("chat", root, None), ("step", uuid4(), root)):
            await tx.driver.execute(
                "insert into tasks (tenant_id, user_id, task_id, session_id, parent_task_id, root_task_id, kind, title,"
                " assignee_agent_id) values ($1, $2, $3, $4, $5, $6, $7, '', 'hr')",
                *ids, task_id, session, parent, root, kind,
            )  # fmt: skip
            for status in ("in_progress", "failed"):
                await tx.driver.execute(
                    "update tasks set status = $4, completed_at = now(), result = $5"
                    " where tenant_id = $1 and user_id = $2 and task_id = $3",
                    *ids, task_id, status, '{"tool": "rag_tool", "error_type": "timeout"}',
                )  # fmt: skip


@pytest.fixture
def kept(house: Services) -> list[str]:
    """Two evaluations, the later one better."""
    good, bad = events(), events("You have 14 days.")
    weighed = events(conflicts=[conflict("https://intra.example/leave", "https://intra.example/salary")])
    store, made = ReportStore(house.settings.data_dir / REPORTS_FOLDER), []
    for number, answers in enumerate(((good, bad, bad, weighed), (good, good, bad, weighed))):
        told = report(*answers, tags=["number"])
        moment = datetime(2026, 11, 20 + number, 9, 30, tzinfo=UTC)
        told = told.model_copy(update={"made_at": moment, "gates": check_gates(read_gates(DEFAULT_GATES), told)})
        made.append(store.keep(told).name)
    return made


def row_of(page: Page, status: str, user: str) -> Locator:
    """The newest row of somebody's tasks in that state."""
    return page.locator(f'.tasks tr[data-status="{status}"]', has=page.locator(".of-asker", has_text=user)).first


class TestTasks:
    async def test_a_run_is_seen_stopped_and_run_again_in_its_owners_name(
        self, enter: Enter, visit: Visit, gate: Gate
    ) -> None:
        visitor = await visit(user="acme/lan")
        turn = await visitor.begin(SEED_QUESTION)
        page = await enter("tasks")
        row = row_of(page, "in_progress", "lan")
        await expect(row.locator(".of-status")).to_have_text("đang chạy")
        assert SEED_QUESTION not in await page.inner_text("body")
        page.on("dialog", lambda dialog: dialog.accept())
        await row.get_by_role("button", name="Dừng").click()
        stopped = row_of(page, "cancelled", "lan")
        await expect(stopped.locator(".of-ended")).to_have_text("Đã dừng")
        await expect(turn).to_contain_text("Quản trị viên đã dừng câu hỏi này.")
        gate.open()
        task_id = str(await stopped.get_attribute("data-task"))
        await page.locator(f'[data-task="{task_id}"]').get_by_role("button", name="Chạy lại").click()
        again = row_of(page, "completed", "lan")
        await expect(again).to_be_visible()
        assert await again.get_attribute("data-task") != task_id
        await again.locator(".source").click()
        await expect(page.locator("#sheet .facts")).to_contain_text("Cuộc trò chuyện")
        await expect(page.locator("#sheet")).to_contain_text("chúng là của người hỏi")
        assert await serious(page) == []

    async def test_are_filtered_and_others_tasks_come_by_themselves(self, enter: Enter, visit: Visit) -> None:
        page = await enter("tasks")
        await page.select_option("#by-status", "completed")
        await page.fill("#by-user", "hoa")
        await expect(page.get_by_text("Không có công việc nào phù hợp.")).to_be_visible()
        await (await visit(user="acme/hoa")).ask("xin chào")
        await expect(page.locator(".tasks tbody tr")).to_have_count(1)
        await expect(page.locator("td.of-ended")).to_have_text("Trò chuyện")
        await page.select_option("#by-kind", "step")
        await expect(page.locator(".tasks tbody tr")).to_have_count(0)

    async def test_a_focused_row_keeps_the_focus_while_the_list_is_renewed(self, enter: Enter, visit: Visit) -> None:
        await (await visit(user="acme/lan")).ask("xin chào")
        page = await enter("tasks")
        await page.locator(".tasks .source").first.focus()
        rows = await page.locator(".tasks tbody tr").count()
        await (await visit(user="acme/lan")).ask("chào bạn")
        await expect(page.locator(".tasks tbody tr")).to_have_count(rows + 1)
        await expect(page.locator(".tasks .source").nth(1)).to_be_focused()


class TestUsage:
    async def test_is_drawn_by_day_and_told_by_person(self, enter: Enter, spent: None) -> None:
        page = await enter("usage")
        await expect(page.locator(".tiles dd")).to_have_count(5)
        assert await page.locator(".days-chart .part-0").count() >= 20
        await expect(page.locator(".by-user tbody th").first).to_contain_text("lan")
        await page.select_option("#measure", "cost")
        assert await page.locator(".days-chart .part-0").count() >= 20
        await page.select_option("#period", "7")
        await expect(page.locator(".days-chart .day")).to_have_count(7)
        await page.locator(".by-day summary").click()
        await expect(page.locator(".by-day tbody tr")).not_to_have_count(0)
        assert await serious(page) == []


class TestEvaluations:
    async def test_are_listed_with_their_gates(self, enter: Enter, kept: list[str]) -> None:
        page = await enter("evaluations")
        for run in kept:
            await expect(page.locator(f'[data-run="{run}"] .standing')).to_be_visible()
        assert await serious(page) == []


class TestAgents:
    async def test_show_the_file_that_makes_them(self, enter: Enter) -> None:
        page = await enter("agents")
        card = page.locator("[data-agent=hr]")
        await expect(card.locator("dt code", has_text="rag_tool")).to_be_visible()
        await card.locator("summary").click()
        await expect(card.locator(".yaml .key").first).to_have_text("name")
        await expect(card.locator(".yaml")).to_contain_text("name: hr")

    async def test_tell_what_their_steps_failed_with(self, enter: Enter, failed_step: None) -> None:
        page = await enter("agents")
        await expect(page.locator("[data-agent=hr] .failures")).to_contain_text("TOOL_TIMEOUT")
        await expect(page.locator("[data-agent=it] .failures")).to_have_count(0)


class TestReaders:
    async def test_are_told_by_name_and_before_a_change(self, enter: Enter) -> None:
        page = await enter()
        sheet = await open_document(page, "VPN")
        readers = sheet.locator("[data-section=sees] .readers li")
        await expect(readers).not_to_have_count(0)
        await sheet.locator("#ch-scope").select_option("private")
        refused = sheet.locator(".then .readers [data-reads=false]", has_text="hoa")
        await expect(refused).to_contain_text("thiếu quyền")
        assert await serious(page) == []
        await expect(sheet.locator(".then .readers [data-reads=true]", has_text="minh")).to_be_visible()


class TestTheWayHere:
    async def test_leads_from_the_chat_page_for_administrators_and_back(self, visit: Visit) -> None:
        other = (await visit(user="acme/lan")).page
        await expect(other.locator("#who")).to_contain_text("lan")
        await expect(other.locator("#administration")).to_be_hidden()
        page = (await visit(user="acme/admin")).page
        await page.click("#administration")
        await expect(page.locator(".part[data-part=documents] h2")).to_be_visible()
        await page.click(".chat-link")
        await expect(page.locator("#question")).to_be_visible()

    async def test_has_room_on_a_phone(self, visit: Visit) -> None:
        page = (await visit(user="acme/admin", viewport=PHONE, is_mobile=True, has_touch=True)).page
        await page.click("#menu")
        await expect(page.locator("#administration")).to_be_visible()
        assert await page.evaluate("innerWidth") == PHONE["width"]
        assert await page.evaluate(TOO_WIDE) == []
        assert await serious(page) == []


@pytest.fixture
def folder(shots: Path | None) -> Path:
    if shots is None:
        pytest.skip("pictures are made when CONCLAVE_SCREENSHOTS names a folder")
    shots.mkdir(parents=True, exist_ok=True)
    return shots


class TestPictures:
    async def test_of_tasks(self, enter: Enter, visit: Visit, gate: Gate, folder: Path) -> None:
        await (await visit(user="acme/an")).ask("xin chào")
        await (await visit(user="acme/minh")).begin("Quên mật khẩu VPN thì làm gì?")
        page = await enter("tasks")
        page.on("dialog", lambda dialog: dialog.accept())
        await row_of(page, "in_progress", "minh").get_by_role("button", name="Dừng").click()
        await expect(row_of(page, "cancelled", "minh")).to_be_visible()
        await (await visit(user="acme/lan")).begin(SEED_QUESTION)
        await (await visit(user="acme/hoa")).begin(DECIDED)
        await expect(row_of(page, "in_progress", "hoa")).to_be_visible()
        await take(page, folder / "admin-tasks.webp")
        await _take_all(enter, "tasks", folder)

    async def test_of_the_other_parts(
        self, enter: Enter, spent: None, failed_step: None, kept: list[str], folder: Path
    ) -> None:
        for part in ("usage", "evaluations", "agents"):
            await take(await enter(part), folder / f"admin-{part}.webp")
            await _take_all(enter, part, folder)
        page = await enter("agents")
        await page.locator("[data-agent=hr] summary").click()
        await take(page, folder / "admin-agent-file.webp")
        await go(page, "documents")
        sheet = await open_document(page, "VPN")
        await expect(sheet.locator("[data-section=sees] .readers li").first).to_be_visible()
        await take(page, folder / "admin-readers.webp")


async def _take_all(enter: Enter, part: str, folder: Path) -> None:
    """In English and dark, and on a phone."""
    await take(await enter(part, locale="en-GB", color_scheme="dark"), folder / f"admin-{part}-dark.webp")
    phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
    page = await enter(part, **phone)
    assert await page.evaluate(TOO_WIDE) == [], part
    await take(page, folder / f"admin-phone-{part}.webp")
