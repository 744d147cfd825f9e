"""Thumbs and corrections over HTTP: own runs only, the same again changes nothing; and the cases made of them."""

from collections.abc import Callable
from itertools import count
from typing import Any

import httpx
import pytest

from app.api.auth import SharedSecret
from app.main import Services
from tests.api.conftest import SECRET

Client = httpx.AsyncClient
_marks = count(1)
QUESTION = "Đi muộn bị xử lý thế nào?"
UNKNOWN = "5f0d5a51-7e57-4b1d-8f0e-3a1c2d4e5f60"


@pytest.fixture
async def run(lan: Client) -> dict[str, Any]:
    """A finished run of acme/lan, of a question nobody has asked before: what is remembered has no steps."""
    answer: dict[str, Any] = (await lan.post("/chat", json={"query": QUESTION + "?" * next(_marks)})).json()
    return answer


async def put(client: Client, task_id: str, **body: Any) -> httpx.Response:
    return await client.put(f"/tasks/{task_id}/feedback", json=body)


class TestFeedback:
    async def test_is_kept_and_the_same_again_changes_nothing(self, lan: Client, run: dict[str, Any]) -> None:
        first = await put(lan, run["task_id"], rating=-1, correction=" Trừ 50.000 đồng mỗi lần. ")
        assert first.status_code == 200
        kept = first.json()
        assert (kept["task_id"], kept["rating"]) == (run["task_id"], -1)
        assert kept["correction"] == "Trừ 50.000 đồng mỗi lần."
        assert (await put(lan, run["task_id"], rating=-1, correction="Trừ 50.000 đồng mỗi lần.")).json() == kept

    async def test_is_replaced_by_what_is_said_later(self, lan: Client, run: dict[str, Any]) -> None:
        before = (await put(lan, run["task_id"], rating=-1, correction="x")).json()
        after = (await put(lan, run["task_id"], rating=1)).json()
        assert (after["rating"], after["correction"]) == (1, "")
        assert after["created_at"] == before["created_at"] and after["updated_at"] > before["updated_at"]

    @pytest.mark.parametrize("user", ["acme/minh", "acme/admin", "globex/jane", "globex/admin"])
    async def test_a_foreign_run_is_answered_like_an_unknown_one(
        self, client_of: Callable[[str], Client], run: dict[str, Any], user: str
    ) -> None:
        foreign = await put(client_of(user), run["task_id"], rating=1)
        unknown = await put(client_of(user), UNKNOWN, rating=1)
        assert foreign.status_code == unknown.status_code == 404
        assert foreign.text == unknown.text

    async def test_a_step_of_a_run_and_a_document_have_none(
        self, lan: Client, client_of: Callable[[str], Client], run: dict[str, Any]
    ) -> None:
        children = (await lan.get(f"/tasks/{run['task_id']}")).json()["children"]
        assert (await put(lan, children[0]["task_id"], rating=1)).status_code == 404
        admin, body = client_of("acme/admin"), {"external_id": "feedback-doc", "department": "hr", "scope": "public"}
        accepted = (await admin.post("/documents", json={**body, "text": "Một."})).json()
        await admin.get(f"/tasks/{accepted['task_id']}/events")
        assert (await put(admin, accepted["task_id"], rating=1)).status_code == 404
        await admin.delete(f"/documents/{accepted['document_id']}")

    async def test_who_has_lost_rights_since_has_no_such_run(
        self, house: Services, address: str, run: dict[str, Any]
    ) -> None:
        claims = (await house.claims_of("acme/lan")).model_copy(update={"permissions": ("public",)})
        fewer = SharedSecret(SECRET).sign(claims, issuer="conclave", audience="conclave", ttl_seconds=60)
        headers = {"Authorization": f"Bearer {fewer}"}
        async with httpx.AsyncClient(base_url=f"{address}/api/v1", headers=headers) as client:
            assert (await put(client, run["task_id"], rating=1)).status_code == 404

    @pytest.mark.parametrize(
        "body",
        [{}, {"rating": 2}, {"rating": True}, {"rating": "1"}, {"rating": 0.5}, {"rating": 1, "user_id": "x"},
         {"rating": 1, "correction": "x" * 2_001}, {"rating": 1, "correction": "\x00"}, {"correction": "x"}],
    )  # fmt: skip
    async def test_anything_else_is_refused(self, lan: Client, run: dict[str, Any], body: dict[str, Any]) -> None:
        answer = await put(lan, run["task_id"], **body)
        assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")

    async def test_goes_with_its_conversation(self, lan: Client, house: Services, run: dict[str, Any]) -> None:
        await put(lan, run["task_id"], rating=-1, correction="biến mất")
        await lan.delete(f"/sessions/{run['session_id']}")
        giver = (await house.claims_of("acme/lan")).principal()
        async with house.database.principal_scope(giver) as tx:
            assert "biến mất" not in [one["correction"] for one in await tx.driver.fetch("select * from feedback")]
