"""Findings about documents over HTTP: listed, assigned, decided, dismissed, reopened; and what is refused."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.api.test_documents import follow
from tests.factories import SEED_USERS

Client = httpx.AsyncClient
TEXTS = {
    "locker-fee": "Tiền thuê tủ khóa cá nhân mỗi tháng là 30.000 đồng.",
    "locker-rules": "Tiền thuê tủ khóa cá nhân mỗi tháng là 45.000 đồng.",
}


@pytest.fixture
def admin(client_of: Callable[[str], Client]) -> Client:
    return client_of("acme/admin")


@pytest.fixture
async def ids(admin: Client) -> AsyncIterator[dict[str, str]]:
    """Two documents that contradict each other, by name."""
    made = {}
    for name, text in TEXTS.items():
        given = {"text": text, "external_id": name, "department": "hr", "scope": "public"}
        accepted = await admin.post("/documents", json=given)
        await follow(admin, accepted)
        made[name] = accepted.json()["document_id"]
    yield made
    for document_id in made.values():
        await admin.delete(f"/documents/{document_id}")


async def listed(http: Client, ids: dict[str, str], **asked: Any) -> dict[str, Any]:
    params = {"document_id": ids["locker-fee"], **asked}
    answer = await http.get("/contradictions", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def finding_of(http: Client, ids: dict[str, str]) -> str:
    [item] = (await listed(http, ids))["items"]
    found: str = item["handling"]["finding_id"]
    return found


class TestWorkingTheList:
    async def test_goes_from_open_to_decided_to_open(self, admin: Client, ids: dict[str, str]) -> None:
        where = f"/contradictions/{await finding_of(admin, ids)}"
        who = next(str(one.principal.user_id) for one in SEED_USERS if one.name == "admin" and one.tenant == "acme")
        assert (await admin.patch(where, json={"act": "assign", "assignee": who})).json()["assignee"] == who
        assert len((await listed(admin, ids, assignee=who))["items"]) == 1
        said = {"act": "decide", "verdict": "holds", "holds": ids["locker-rules"], "note": "agreed in May"}
        told = (await admin.patch(where, json=said)).json()
        assert (told["status"], told["judge"], told["holds"]) == ("decided", "person", ids["locker-rules"])
        assert (told["decided_by"], told["assignee"], told["note"]) == (who, who, "agreed in May")
        assert (await listed(admin, ids))["items"] == []
        decided = await listed(admin, ids, status="decided")
        assert [one["handling"] for one in decided["items"]] == [told]
        assert (decided["counts"], decided["statuses"]) == ({"contradiction": 1}, {"decided": 1})
        again = (await admin.patch(where, json={"act": "reopen"})).json()
        assert (again["status"], again["earlier"]["verdict"]) == ("open", "holds")
        assert (await admin.patch(where, json={"act": "dismiss", "note": "old"})).json()["status"] == "dismissed"
        for act in ("assigned", "decided", "reopened", "dismissed"):
            audit = (await admin.get("/audit", params={"action": f"finding_{act}"})).json()["entries"]
            assert where.endswith(audit[0]["target"]) and "agreed" not in str(audit), act

    async def test_one_click_replaces_the_other_document(self, admin: Client, ids: dict[str, str]) -> None:
        where = f"/contradictions/{await finding_of(admin, ids)}"
        said = {"act": "decide", "verdict": "holds", "holds": ids["locker-rules"], "supersedes": True}
        assert (await admin.patch(where, json=said)).status_code == 200
        view = (await admin.get(f"/documents/{ids['locker-rules']}")).json()
        assert view["supersedes"] == "locker-fee"

    async def test_is_refused_with_a_code(
        self, admin: Client, ids: dict[str, str], client_of: Callable[[str], Client], subtests: pytest.Subtests
    ) -> None:
        one, other = await finding_of(admin, ids), client_of("globex/admin")
        hoa = client_of("acme/hoa")
        cases: list[tuple[Client, str, dict[str, Any], int, str]] = [
            (hoa, one, {"act": "dismiss"}, 403, "PERMISSION_DENIED"),
            (other, one, {"act": "dismiss"}, 404, "NOT_FOUND"),
            (admin, str(uuid4()), {"act": "dismiss"}, 404, "NOT_FOUND"),
            (admin, "x", {"act": "dismiss"}, 422, "PAYLOAD_INVALID"),
            (admin, one, {"act": "forget"}, 422, "PAYLOAD_INVALID"),
            (admin, one, {"act": "decide", "verdict": "maybe"}, 422, "PAYLOAD_INVALID"),
            (admin, one, {"act": "decide", "verdict": "holds", "winner": "A"}, 422, "PAYLOAD_INVALID"),
            (admin, one, {"act": "dismiss", "note": "\x00"}, 422, "PAYLOAD_INVALID"),
            (admin, one, {"act": "dismiss", "note": "x" * 2_001}, 422, "PAYLOAD_INVALID"),
            (admin, one, {"act": "decide"}, 422, "VALIDATION_FAILED"),
            (admin, one, {"act": "decide", "verdict": "holds"}, 422, "VALIDATION_FAILED"),
            (admin, one, {"act": "decide", "verdict": "holds", "holds": str(uuid4())}, 422, "VALIDATION_FAILED"),
            (admin, one, {"act": "reopen"}, 409, "VALIDATION_FAILED"),
        ]
        for http, path, body, status, code in cases:
            with subtests.test(path=path, body=body):
                answer = await http.patch(f"/contradictions/{path}", json=body)
                assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        for params in ({"status": "gone"}, {"kind": "x"}, {"assignee": "x"}, {"department": "\x00"}):
            with subtests.test(params=params):
                assert (await admin.get("/contradictions", params=params)).status_code == 422
