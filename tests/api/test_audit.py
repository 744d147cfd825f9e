"""The audit over HTTP: who read what was somebody else's, and who may see that."""

import base64
import json
from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from app.api.auth import Claims
from app.errors import AppError, ErrorCode
from app.main import Services
from app.main.identity import sign_token
from app.storage import audit, documents, tenants
from app.storage.audit import Wanted
from app.trust.refusals import Refusals
from tests.api.test_admin_tasks import ROUTES
from tests.factories import SEED_USERS

Client = httpx.AsyncClient
ClientOf = Callable[[str], Client]
USERS = {f"{user.tenant}/{user.name}": user.principal for user in SEED_USERS}
NOBODY = str(UUID(int=0))
_numbers = count(1)


async def asked_by(client: Client) -> dict[str, Any]:
    """A run with a step, of a question nobody asked before."""
    query = f"Thưa Kim Ngân, đi muộn lần thứ {next(_numbers)} bị xử lý thế nào?"
    answer = (await client.post("/chat", json={"query": query})).json()
    found: dict[str, Any] = (await client.get(f"/tasks/{answer['task_id']}")).json()
    assert found["children"]
    return found


async def audited(client: Client, **asked: Any) -> list[dict[str, Any]]:
    answer = await client.get("/audit", params={"limit": 100, **asked})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


class TestReading:
    async def test_somebody_elses_run_leaves_a_row_each_time_and_not_a_word(self, client_of: ClientOf) -> None:
        run = await asked_by(client_of("acme/an"))
        admin, step = client_of("acme/admin"), run["children"][0]["task_id"]
        for task_id in (run["task_id"], run["task_id"], step):
            assert (await admin.get(f"/tasks/{task_id}")).status_code == 200
        found = await audited(admin, action="read_task", user="admin")
        rows = [one for one in found if one["target"] in (run["task_id"], step)]
        an, boss = USERS["acme/an"], USERS["acme/admin"]
        assert [one["target"] for one in rows] == [step, run["task_id"], run["task_id"]]
        assert [one["details"]["kind"] for one in rows] == ["step", "chat", "chat"]
        for one in rows:
            assert one["user_id"] == str(boss.user_id) and one["user"] == "admin"
            assert one["details"].keys() == {"owner", "kind"} and one["details"]["owner"] == str(an.user_id)
        assert "Kim Ngân" not in str(rows) and "muộn" not in str(rows)

    async def test_ones_own_run_or_what_is_not_shown_leaves_none(self, client_of: ClientOf) -> None:
        owner, admin, other = client_of("acme/an"), client_of("acme/admin"), client_of("globex/admin")
        run = await asked_by(owner)
        before = [await audited(one, action="read_task") for one in (admin, other)]
        assert (await owner.get(f"/tasks/{run['task_id']}")).status_code == 200
        assert (await owner.get(f"/tasks/{run['children'][0]['task_id']}")).status_code == 200
        for refused in (client_of("acme/lan"), other):
            assert (await refused.get(f"/tasks/{run['task_id']}")).status_code == 404
        assert (await admin.get(f"/tasks/{run['task_id']}/events")).status_code == 404
        assert [await audited(one, action="read_task") for one in (admin, other)] == before

    async def test_that_cannot_be_written_down_does_not_happen(
        self, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = await asked_by(client_of("acme/an"))

        async def full(*_: object) -> None:
            raise asyncpg.DiskFullError("no space left")

        monkeypatch.setattr(documents, "note", full)
        answer = await client_of("acme/admin").get(f"/tasks/{run['task_id']}")
        assert answer.status_code >= 500 and "muộn" not in answer.text
        assert (await client_of("acme/an").get(f"/tasks/{run['task_id']}")).status_code == 200


class TestAuditor:
    async def test_reads_the_audit_and_nothing_else_of_the_administration(
        self, address: str, house: Services, subtests: pytest.Subtests
    ) -> None:
        claims = Claims(sub="eye", tenant_id="acme", department="general", permissions=("public",), roles=("auditor",))
        async with house.database.principal_scope(USERS["acme/admin"]) as tx:
            await tenants.add_user(
                tx, claims.principal().tenant_id, "eye", department="general", scopes={"public"}, roles={"auditor"}
            )
        token = sign_token(house.settings, claims, 600)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=f"{address}/api/v1", headers=headers) as eye:
            assert [one["action"] for one in await audited(eye, action="user_added", user=NOBODY)]
            for method, path in ROUTES:
                with subtests.test(path):
                    assert (await eye.request(method, path)).status_code == 403
            assert (await eye.get("/documents/health")).status_code == 403
            assert (await eye.delete(f"/users/{USERS['acme/an'].user_id}/data")).status_code == 403


class TestRefusals:
    async def test_of_tokens_are_bounded_and_believe_nothing(self, house: Services) -> None:
        now, boss = [0.0], USERS["globex/admin"]
        refusals = Refusals(lambda: house.database, lambda: now[0])
        refused = AppError(ErrorCode.UNAUTHENTICATED, "no", status=401)

        def forged(tenant: object, sub: object = "tom") -> str:
            body = json.dumps({"tenant_id": tenant, "sub": sub, "name": "Bí mật"}).encode()
            return f"Bearer x.{base64.urlsafe_b64encode(body).decode().rstrip('=')}.y"

        async def rows() -> list[dict[str, Any]]:
            async with house.database.principal_scope(boss) as tx:
                found = await audit.page(tx, Wanted(action="sign_in_refused"), None, 100)
            return [one.model_dump() for one in found]

        before = len(await rows())
        for last in range(200):
            await refusals.note(forged("globex"), f"203.0.113.{last}", refused)
        [row, *_] = found = await rows()
        assert len(found) == before + 1 and row["user_id"] == UUID(int=0)
        assert row["details"] == {"address": "203.0.113.0/24", "code": "UNAUTHENTICATED"}
        assert row["target"] == str(USERS["globex/tom"].user_id) and "mật" not in str(found)
        now[0] = 61.0
        await refusals.note(forged("globex"), "::ffff:203.0.113.9", refused)
        await refusals.note(forged("globex"), "2001:db8:1:2::3", refused)
        assert [one["details"]["address"] for one in await rows()][:2] == ["2001:db8:1::/48", "203.0.113.0/24"]
        now[0] = 200.0
        for number in range(200):  # a flood from everywhere
            await refusals.note(forged("globex"), f"10.{number}.0.1", refused)
        assert len(await rows()) == before + 3 + 60
        now[0] = 400.0
        for nonsense in (
            None,
            "",
            "Bearer x",
            "Bearer a.b.c",
            forged("nobody-here"),
            forged(None),
            "Bearer " + "a" * 9_000,
        ):
            await refusals.note(nonsense, "not an address", refused)
        await refusals.note(forged("globex"), "9.9.9.9", AppError(ErrorCode.DATABASE_UNAVAILABLE, "away", status=503))
        assert len(await rows()) == before + 63

    async def test_over_http_stand_in_the_audit(self, address: str, house: Services, client_of: ClientOf) -> None:
        claims = Claims(sub="stranger", tenant_id="acme", department="hr", permissions=("public",))
        token = sign_token(house.settings, claims, 600)
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as stranger:
            assert (await stranger.get(f"{address}/api/v1/agents")).status_code == 403
        [row, *_] = await audited(client_of("acme/admin"), action="sign_in_refused")
        assert row["details"]["code"] in ("PERMISSION_DENIED", "UNAUTHENTICATED")  # another test's within the minute
        assert row["details"]["address"] == "127.0.0.0/24"


class TestQuestion:
    async def test_is_written_with_the_documents_its_answer_cites(self, client_of: ClientOf) -> None:
        run, admin = await asked_by(client_of("acme/lan")), client_of("acme/admin")
        rows = [one for one in await audited(admin, user="lan") if one["target"] == run["task_id"]]
        assert [one["action"] for one in rows] == ["question_ended", "question_asked"]
        ended, asked = (one["details"] for one in rows)
        assert (ended["status"], ended["outcome"]) == ("completed", run["result"]["outcome"])
        found = [(await admin.get(f"/documents/{one}")).json()["url"] for one in ended["documents"]]
        assert found and set(found) == {one["url"] for one in run["result"]["evidence"]}
        assert asked.keys() <= {"mode"} and "Kim Ngân" not in str(rows)


class TestChain:
    async def test_is_checked_for_auditors_of_the_own_company_alone(self, client_of: ClientOf) -> None:
        for user in ("acme/an", "acme/lan", "globex/jane"):
            refused = await client_of(user).get("/audit/chain")
            assert (refused.status_code, refused.json()["code"]) == (403, "PERMISSION_DENIED")
        for admin in (client_of("acme/admin"), client_of("globex/admin")):
            newest = (await audited(admin))[0]["seq"] if await audited(admin) else 0
            found = (await admin.get("/audit/chain")).json()
            assert (found["holds"], found["row"]) == (True, None) and found["head_seq"] >= newest


class TestListing:
    async def test_by_time(self, client_of: ClientOf) -> None:
        admin = client_of("acme/admin")
        await asked_by(client_of("acme/an"))
        every = (await audited(admin, action="question_asked"))[::-1]
        last = every[-1]["created_at"]
        assert [one["seq"] for one in await audited(admin, **{"from": last})][-1] == every[-1]["seq"]
        assert every[-1]["seq"] not in {one["seq"] for one in await audited(admin, to=last)}

    async def test_is_for_administrators_of_the_own_company(self, client_of: ClientOf) -> None:
        run = await asked_by(client_of("acme/an"))
        await client_of("acme/admin").get(f"/tasks/{run['task_id']}")
        for user in ("acme/an", "acme/lan", "globex/jane"):
            refused = await client_of(user).get("/audit")
            assert (refused.status_code, refused.json()["code"]) == (403, "PERMISSION_DENIED")
        assert run["task_id"] in {one["target"] for one in await audited(client_of("acme/admin"))}
        assert run["task_id"] not in {one["target"] for one in await audited(client_of("globex/admin"))}
        assert await audited(client_of("globex/admin"), user=str(USERS["acme/admin"].user_id)) == []

    async def test_tells_every_act_newest_first_and_by_act(self, client_of: ClientOf) -> None:
        admin = client_of("acme/admin")
        body = {"external_id": "audited", "department": "hr", "scope": "private", "text": "Bí mật."}
        accepted = (await admin.post("/documents", json=body)).json()
        await admin.get(f"/tasks/{accepted['task_id']}/events")
        await admin.patch(f"/documents/{accepted['document_id']}", json={"scope": "internal", "url": "/bi-mat"})
        await admin.delete(f"/documents/{accepted['document_id']}")
        mine = [one for one in await audited(admin) if one["target"] == accepted["document_id"]]
        acts = ["document_deleted", "document_changed", "document_brought_in"]
        assert [one["action"] for one in mine] == acts
        assert mine[1]["details"] == {"scope": "internal", "url": True}
        assert {one["action"] for one in await audited(admin, action=acts[0])} == {acts[0]}
        assert await audited(admin, action="nothing_of_the_kind") == []

    async def test_pages_do_not_overlap_while_rows_are_added(self, client_of: ClientOf, house: Services) -> None:
        admin, boss = client_of("acme/admin"), USERS["acme/admin"]
        async with house.database.principal_scope(boss) as tx:  # at the same moment
            for number in range(5):
                await documents.note(tx, "paged", str(number), {})
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(3):
            more = f"&cursor={cursor}" if cursor else ""
            page = (await admin.get(f"/audit?action=paged&limit=2{more}")).json()
            seen += [one["target"] for one in page["entries"]]
            cursor = page["next_cursor"]
            async with house.database.principal_scope(boss) as tx:
                await documents.note(tx, "paged", "later", {})
        assert seen == ["4", "3", "2", "1", "0"] and cursor is None

    async def test_anything_else_is_refused(self, client_of: ClientOf, subtests: pytest.Subtests) -> None:
        early, huge = (
            base64.urlsafe_b64encode(json.dumps(key).encode()).decode()
            for key in (["0001-01-01T00:00:00+14:00", 1], 2**63)
        )
        for query in [
            f"cursor={early}",
            f"cursor={huge}",
            "limit=0",
            "limit=101",
            "cursor=x",
            "cursor=WyIyMDI2Il0=",
            "from=0001-01-01T00:00:00%2B14:00",
            "from=2026-01-01T00:00:00",
            "to=yesterday",
            "action=",
            "user=",
            "action=" + "a" * 300,
        ]:
            with subtests.test(ascii(query)[:80]):
                answer = await client_of("acme/admin").get(f"/audit?{query}")
                assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")
