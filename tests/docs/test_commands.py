"""Every page that shows commands is followed from top to bottom, in this process, over one small company."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.main import Services, create_app
from app.settings import Settings
from tests.api.serving import serve
from tests.docs.blocks import PAGES, ROOT, blocks_of, name_of
from tests.docs.running import BESIDE, ENVIRONMENT, FOLLOWED_ELSEWHERE, Desk
from tests.factories import demo_token, with_demo_people
from tests.warm import planted

DOCUMENTS = {
    "acme": (
        "general/core-values.md", "hr/annual-leave-2026.md", "hr/leave-notice-2025.md", "hr/punctuality-2026.md",
        "it/password-policy-2026.md",
    ),
    "globex": ("hr/lateness-and-attendance.md",),
}  # fmt: skip
FOLLOWED = [
    page
    for page in PAGES
    if name_of(page) not in FOLLOWED_ELSEWHERE and "vi" not in page.parts and any(one.is_run for one in blocks_of(page))
]
"""Those in Vietnamese show the commands of the English ones."""
ALONE = [page for page in FOLLOWED if "CONCLAVE_AGENTS_DIR" in page.read_text("utf-8")]
"""Pages that change what the house knows; their commands bring the house along instead of asking a server."""


@pytest.fixture(scope="module")
async def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An installation with a few documents of the demo companies and all their log lines; nothing runs."""
    folder = tmp_path_factory.mktemp("docs")
    for tenant, names in DOCUMENTS.items():
        for name in (*names, *(["logs.jsonl"] if tenant == "acme" else [])):
            copy = folder / "seed" / tenant / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "seed_data" / tenant / name, copy)
    with_demo_people(folder / "seed")
    data_dir = await planted(folder / "data", folder / "seed")
    return Settings(_env_file=None, data_dir=data_dir, seed_dir=folder / "seed", enable_caching=False)


@pytest.fixture
def environment(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What the command line reads its settings from, and an empty folder to work in."""
    monkeypatch.setenv("CONCLAVE_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("CONCLAVE_SEED_DIR", str(settings.seed_dir))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return monkeypatch


@pytest.fixture(scope="class")
async def services(settings: Settings) -> AsyncIterator[Services]:
    """A house with a worker, gone before the next class: it would take that one's questions."""
    opened = await Services.open(settings)
    yield opened
    await opened.aclose()


@pytest.fixture(scope="class")
async def address(services: Services) -> AsyncIterator[str]:
    """Where its server listens."""
    async with serve(create_app(services=services)) as address:
        yield address


async def follow(page: Path, desk: Desk) -> None:
    for name, value in ENVIRONMENT.get(name_of(page), {}).items():
        desk.patch.setenv(name, value)
    if beside := BESIDE.get(name_of(page)):
        beside(desk.folder)
    await asyncio.to_thread(desk.follow, page)


class TestBesideAServer:
    """Commands that can ask a server do, as on a machine where one is named in CONCLAVE_SERVER."""

    @pytest.mark.parametrize("page", [page for page in FOLLOWED if page not in ALONE], ids=name_of)
    async def test_the_page_can_be_followed(
        self, page: Path, services: Services, address: str, environment: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        environment.setenv("CONCLAVE_SERVER", address)
        desk = Desk(tmp_path, environment, address, demo_token(services.settings, "acme/admin"))
        await follow(page, desk)
        assert desk.printed or all(block.kind != "python" for block in blocks_of(page) if block.is_run)


class TestAlone:
    @pytest.mark.parametrize("page", ALONE, ids=name_of)
    async def test_the_page_can_be_followed(self, page: Path, environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
        await follow(page, Desk(tmp_path, environment))
