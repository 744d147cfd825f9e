"""Reading the demonstration data, and saying clearly what is wrong with it."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from app.domain.principal import tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.ingestion.seed import read_seed
from tests.cases import each_case
from tests.factories import SEED_USERS, with_demo_people

DOCUMENT = """---
title: Giờ làm việc
url: https://intra.example/hours
scope: internal
created_at: 2026-01-02T03:04:05Z
effective_from: 2026-02-01
external_id: acme-hours
---
# Giờ làm việc

Từ 8:00 đến 17:00: không đổi.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "acme" / "hr").mkdir(parents=True)
    (tmp_path / "acme" / "hr" / "hours.md").write_text(DOCUMENT, "utf-8")
    return with_demo_people(tmp_path)


def refusal(folder: Path) -> str:
    with pytest.raises(AppError) as caught:
        read_seed(folder)
    assert caught.value.code is ErrorCode.DOCUMENT_REJECTED
    return caught.value.detail


class TestReadSeed:
    def test_reads_documents_and_users_of_each_tenant(self, folder: Path) -> None:
        (tenant,) = read_seed(folder)
        (draft,) = tenant.documents
        assert (draft.department, draft.scope, draft.title) == ("hr", "internal", "Giờ làm việc")
        assert draft.created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        assert (draft.effective_from, draft.effective_to) == (date(2026, 2, 1), None)
        assert draft.text == "# Giờ làm việc\n\nTừ 8:00 đến 17:00: không đổi.\n"
        assert tenant.folder == folder / "acme"
        assert [user.name for user in tenant.users] == ["lan", "minh", "hoa", "an", "admin"]

    def test_takes_a_time_without_zone_for_utc(self, folder: Path) -> None:
        path = folder / "acme" / "hr" / "hours.md"
        path.write_text(DOCUMENT.replace("05Z", "05"), "utf-8")
        assert read_seed(folder)[0].documents[0].created_at.tzinfo is UTC

    @each_case(
        ("before", "after", "named"),
        [
            ("scope: internal", "scope: secret", "scope"),
            ("title: Giờ làm việc\n", "", "title"),
            ("effective_from: 2026-02-01", "effective_from: hôm nay", "effective_from"),
            ("url:", "link: x\nurl:", "link"),
            ("scope: internal", "scope", "scope"),
            ("---\ntitle", "title", "front matter"),
        ],
    )
    def test_names_the_file_and_the_key_at_fault(self, folder: Path, before: str, after: str, named: str) -> None:
        (folder / "acme" / "hr" / "hours.md").write_text(DOCUMENT.replace(before, after, 1), "utf-8")
        detail = refusal(folder)
        assert "hours.md" in detail
        assert named in detail

    def test_says_when_there_is_no_folder(self, tmp_path: Path) -> None:
        assert "does not exist" in refusal(tmp_path / "nothing")


class TestDemoPeople:
    def test_a_folder_without_them_is_a_company_with_an_administrator_alone(self, folder: Path) -> None:
        (folder / "demo.toml").unlink()
        (tenant,) = read_seed(folder)
        assert [user.name for user in tenant.users] == ["admin"] and tenant.admin.tenant == "acme"

    @pytest.mark.parametrize(
        ("text", "named"), [("default_asker = 1", "default_asker"), ("[", "demo.toml"), ("owner = 'x'", "owner")]
    )
    def test_a_broken_file_is_named(self, folder: Path, text: str, named: str) -> None:
        (folder / "demo.toml").write_text(text, "utf-8")
        assert "demo.toml" in refusal(folder) and named in refusal(folder)


class TestSeedUsers:
    def test_have_the_documented_rights(self) -> None:
        rights = {(user.tenant, user.name): (user.department, set(user.scopes), user.roles) for user in SEED_USERS}
        assert rights["acme", "lan"] == ("hr", {"public", "internal", "private"}, ("owner",))
        assert rights["acme", "an"] == ("general", {"public"}, ())
        assert rights["globex", "tom"] == ("general", {"public", "internal"}, ())
        assert rights["globex", "admin"][2] == ("admin",)
        assert (SEED_USERS[0].tenant, SEED_USERS[0].name) == ("acme", "lan")

    def test_are_the_principals_the_token_command_makes(self) -> None:
        lan = SEED_USERS[0].principal
        assert lan.tenant_id == tenant_id_of("acme")
        assert lan.user_id == user_id_of(lan.tenant_id, "lan")
        assert lan.departments == {"hr"}
