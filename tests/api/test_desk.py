"""The desk of owners over HTTP: what stands on it and for whom, what is done about it, telling, deciding."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.api.auth import SharedSecret
from app.main import Services
from tests.api.conftest import SECRET
from tests.api.test_documents import follow
from tests.factories import SEED_USERS

Client = httpx.AsyncClient
Clients = Callable[[str], Client]
TODAY = datetime.now(UTC).date()
QUESTION = "Tiền thuê tủ giày mỗi tháng là bao nhiêu?"
TEXTS: dict[str, dict[str, Any]] = {
    "shoe-fee": {"text": "Tiền thuê tủ giày mỗi tháng là 30.000 đồng."},
    "shoe-rules": {"text": "Tiền thuê tủ giày mỗi tháng là 45.000 đồng."},
    "badge": {"text": "Thẻ đỏ dùng ở cổng sau.", "effective_to": str(TODAY + timedelta(days=9))},
    "secret-ending": {"text": "Mật.", "department": "it", "scope": "private", "effective_to": str(TODAY)},
    "orphan": {"text": "Vườn rau có hai luống.", "department": "garden"},
}


@pytest.fixture(scope="module")
async def ids(client_of: Clients) -> AsyncIterator[dict[str, str]]:
    """Documents that want an owner, by name."""
    admin, made = client_of("acme/admin"), {}
    for name, given in TEXTS.items():
        body = {"external_id": name, "department": "hr", "scope": "public", **given}
        accepted = await admin.post("/documents", json=body)
        await follow(admin, accepted)
        made[name] = accepted.json()["document_id"]
    yield made
    for document_id in made.values():
        await admin.delete(f"/documents/{document_id}")


def user_id(name: str) -> str:
    return next(str(one.principal.user_id) for one in SEED_USERS if f"{one.tenant}/{one.name}" == name)


async def listed(http: Client, **asked: Any) -> list[dict[str, Any]]:
    answer = await http.get("/desk/items", params={"limit": 100, **asked})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["page"]["items"]
    return items


async def about(http: Client, document_id: str, **asked: Any) -> list[dict[str, Any]]:
    """The items about a document."""
    return [
        one for one in await listed(http, **asked)
        if document_id in [document["document_id"] for document in one["documents"]]
    ]  # fmt: skip


async def with_rights(house: Services, address: str, user: str, **changes: Any) -> Client:
    """The user with other rights in the token."""
    claims = (await house.claims_of(user)).model_copy(update=changes)
    token = SharedSecret(SECRET).sign(claims, issuer="conclave", audience="conclave", ttl_seconds=600)
    return Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30)


async def ask(http: Client, question: str) -> dict[str, Any]:
    answer = await http.post("/chat", json={"query": question})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


class TestTheInbox:
    async def test_is_for_owners_and_administrators(self, client_of: Clients, subtests: pytest.Subtests) -> None:
        cases = {"": 401, "acme/hoa": 403, "acme/an": 403, "acme/lan": 200, "acme/admin": 200}
        for user, status in cases.items():
            with subtests.test(user=user):
                assert (await client_of(user).get("/desk/items")).status_code == status

    async def test_shows_owners_what_they_own_and_may_read(
        self, client_of: Clients, ids: dict[str, str], house: Services, address: str, subtests: pytest.Subtests
    ) -> None:
        public_it = await with_rights(house, address, "acme/minh", permissions=("public",))
        public_admin = await with_rights(house, address, "acme/admin", permissions=("public",))
        seen = {
            "shoe-fee": {"acme/lan": ["contradiction"], "acme/minh": [], "acme/admin": ["contradiction"]},
            "badge": {"acme/lan": ["ending"], "acme/minh": [], "acme/admin": ["ending"], "globex/admin": []},
            "secret-ending": {"acme/lan": [], "acme/minh": ["ending"], "acme/admin": ["ending"]},
            "orphan": {"acme/lan": [], "acme/admin": ["unused"]},
        }
        for name, kinds in seen.items():
            for user, expected in kinds.items():
                with subtests.test(document=name, user=user):
                    found = await about(client_of(user), ids[name])
                    assert [one["kind"] for one in found] == expected
        async with public_it, public_admin:
            for one in (public_it, public_admin):
                assert await about(one, ids["secret-ending"]) == []

    async def test_pages_and_counts(self, client_of: Clients, ids: dict[str, str]) -> None:
        admin, found, cursor = client_of("acme/admin"), list[str](), None
        whole = (await admin.get("/desk/items", params={"limit": 100})).json()
        assert whole["you"] == user_id("acme/admin")
        while cursor is not None or not found:
            params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
            page = (await admin.get("/desk/items", params=params)).json()["page"]
            assert len(page["items"]) <= 2
            found += [one["item_id"] for one in page["items"]]
            cursor = page["next_cursor"]
        assert found == [one["item_id"] for one in whole["page"]["items"]]
        assert sum(whole["page"]["counts"].values()) == len(found) == whole["page"]["states"]["open"]
        assert (await admin.get("/desk/items", params={"cursor": "x"})).status_code == 422

    async def test_shows_corrections_of_what_one_may_read_without_a_name(
        self, client_of: Clients, ids: dict[str, str], house: Services, address: str
    ) -> None:
        lan, minh = client_of("acme/lan"), client_of("acme/minh")
        run = (await ask(minh, QUESTION))["task_id"]
        await minh.put(f"/tasks/{run}/feedback", json={"rating": -1, "correction": "Từ tháng 3 là 50.000 đồng."})
        mine = [
            one for one in await listed(lan, kind="correction") if one["correction"] == "Từ tháng 3 là 50.000 đồng."
        ]
        assert [(one["question"], one["askers"]) for one in mine] == [(QUESTION, 1)]
        assert user_id("acme/minh") not in str(mine) and "minh" not in str(mine)
        fewer = await with_rights(house, address, "acme/lan", permissions=("public",))
        async with fewer:
            assert "50.000" not in str(await listed(fewer, kind="correction"))
        # It cites no document of this owner's department.
        assert "50.000" not in str(await listed(minh, kind="correction"))
        await minh.put(f"/tasks/{run}/feedback", json={"rating": 0})
        assert "50.000" not in str(await listed(lan, kind="correction"))

    async def test_shows_a_question_nobody_could_answer_from_three_people_on(self, client_of: Clients) -> None:
        admin, question = client_of("acme/admin"), "Công ty có hồ bơi nước mặn không?"

        async def asked_of_it() -> list[dict[str, Any]]:
            """What others asked in the same house waits there, too."""
            return [one for one in await listed(admin, kind="unanswered") if "hồ bơi" in one["question"]]

        for user in ("acme/hoa", "acme/hoa", "acme/an"):
            assert (await ask(client_of(user), question))["outcome"] in ("not_found", "partial")
        await asyncio.sleep(0.3)
        assert await asked_of_it() == []
        await ask(client_of("acme/minh"), "Công ty mình có hồ bơi nước mặn không?")
        for _ in range(50):
            if found := await asked_of_it():
                break
            await asyncio.sleep(0.1)
        [one] = found
        assert (one["question"], one["askers"]) == (question, 3)
        assert not any(user_id(f"acme/{name}") in str(one) for name in ("hoa", "an", "minh"))


class TestActing:
    async def test_assigns_dismisses_and_reopens(self, client_of: Clients, ids: dict[str, str]) -> None:
        lan, admin = client_of("acme/lan"), client_of("acme/admin")
        [item] = await about(lan, ids["badge"])
        where = f"/desk/items/{item['item_id']}"
        me = user_id("acme/lan")
        told = (await lan.patch(where, json={"act": "assign", "assignee": me})).json()
        assert (told["assignee"], told["state"]) == (me, "open") and told["assigned_to"]
        assert len(await about(lan, ids["badge"], assignee=me)) == 1
        assert await about(lan, ids["badge"], assignee=user_id("acme/minh")) == []
        assert (await lan.patch(where, json={"act": "dismiss"})).status_code == 422
        told = (await lan.patch(where, json={"act": "dismiss", "reason": "gia hạn rồi"})).json()
        assert (told["state"], told["reason"], told["assignee"]) == ("dismissed", "gia hạn rồi", me)
        assert (await lan.patch(where, json={"act": "done"})).status_code == 409
        assert await about(lan, ids["badge"]) == []
        assert [one["reason"] for one in await about(admin, ids["badge"], state="dismissed")] == ["gia hạn rồi"]
        assert (await lan.patch(where, json={"act": "reopen"})).json()["state"] == "open"
        assert (await lan.patch(where, json={"act": "reopen"})).status_code == 409
        assert (await admin.patch(where, json={"act": "done"})).json()["state"] == "done"
        for act in ("assigned", "dismissed", "reopened", "done"):
            audit = (await admin.get("/audit", params={"action": f"desk_{act}"})).json()["entries"]
            assert audit[0]["target"] == item["item_id"] and "gia hạn" not in str(audit), act

    async def test_is_refused_with_a_code(
        self, client_of: Clients, ids: dict[str, str], subtests: pytest.Subtests
    ) -> None:
        lan, minh = client_of("acme/lan"), client_of("acme/minh")
        [item] = await about(lan, ids["shoe-fee"])
        one = item["item_id"]
        cases: list[tuple[Client, str, dict[str, Any], int]] = [
            (client_of("acme/hoa"), one, {"act": "done"}, 403),
            (minh, one, {"act": "done"}, 404),
            (client_of("globex/admin"), one, {"act": "done"}, 404),
            (lan, str(uuid4()), {"act": "done"}, 404),
            (lan, one, {"act": "done"}, 409),
            (lan, one, {"act": "assign", "assignee": str(uuid4())}, 422),
            (lan, one, {"act": "forget"}, 422),
        ]
        for http, item_id, body, status in cases:
            with subtests.test(item_id=item_id, body=body, status=status):
                answer = await http.patch(f"/desk/items/{item_id}", json=body)
                assert answer.status_code == status, answer.text


class TestTellingAndDeciding:
    async def test_from_an_answer_that_disagrees_to_one_that_does_not(
        self, client_of: Clients, ids: dict[str, str]
    ) -> None:
        hoa, lan, admin = client_of("acme/hoa"), client_of("acme/lan"), client_of("acme/admin")
        shown = await ask(hoa, QUESTION)
        assert shown["outcome"] == "conflict"
        pair = {"document_id": ids["shoe-fee"], "other_document_id": ids["shoe-rules"]}
        where = f"/tasks/{shown['task_id']}/conflicts/tell"
        for _ in range(2):
            assert (await hoa.post(where, json=pair)).status_code == 204
        refused = [
            await client_of("acme/an").post(where, json=pair), await admin.post(where, json=pair),
            await hoa.post(where, json={**pair, "document_id": ids["badge"]}),
            await hoa.post(f"/tasks/{uuid4()}/conflicts/tell", json=pair),
        ]  # fmt: skip
        assert [one.status_code for one in refused] == [404] * 4

        [item] = await about(lan, ids["shoe-fee"])
        assert (item["detail"], item["question"], item["askers"]) == ("told", QUESTION, 1)
        assert user_id("acme/hoa") not in str(item)
        ask_again = f"/desk/items/{item['item_id']}/ask"
        before = (await lan.post(ask_again)).json()["before"]
        assert before["outcome"] == "conflict"

        verdict = {"act": "decide", "verdict": "holds", "holds": ids["shoe-rules"]}
        decide = f"/contradictions/{item['finding_id']}"
        assert (await client_of("acme/minh").patch(decide, json=verdict)).status_code == 404
        assert (await lan.patch(decide, json={**verdict, "supersedes": True})).status_code == 403
        assert (await lan.patch(decide, json=verdict)).status_code == 200
        assert await about(lan, ids["shoe-fee"]) == []

        closed = (await lan.post(ask_again)).json()
        assert (closed["state"], closed["before"]) == ("done", before)
        assert closed["after"]["outcome"] == "answered" and "45.000" in closed["after"]["answer"]
        # The administrator sees that it is done, and nothing of what its owner was answered.
        [seen] = await about(admin, ids["shoe-fee"], state="done")
        assert (seen["state"], seen["before"], seen["after"]) == ("done", None, None)
        reopened = await lan.patch(f"/desk/items/{item['item_id']}", json={"act": "reopen"})
        assert reopened.json()["state"] == "open"

    async def test_a_conflict_that_no_examination_found_is_told_and_outlives_one(
        self, client_of: Clients, ids: dict[str, str], house: Services
    ) -> None:
        hoa, lan, admin = client_of("acme/hoa"), client_of("acme/lan"), client_of("acme/admin")
        shown = await ask(hoa, QUESTION + " ")
        keeper = (await house.claims_of("acme/admin")).principal()
        async with house.database.principal_scope(keeper) as tx:
            await tx.driver.execute("delete from document_findings where document_id = $1", ids["shoe-fee"])
            await tx.driver.execute("delete from document_findings where other_document_id = $1", ids["shoe-fee"])
        assert await about(lan, ids["shoe-fee"]) == []
        pair = {"document_id": ids["shoe-rules"], "other_document_id": ids["shoe-fee"]}
        assert (await hoa.post(f"/tasks/{shown['task_id']}/conflicts/tell", json=pair)).status_code == 204
        [item] = await about(lan, ids["shoe-fee"])
        assert {one["sentence"] for one in item["documents"]} == {TEXTS[n]["text"] for n in ("shoe-fee", "shoe-rules")}
        await lan.patch(f"/desk/items/{item['item_id']}", json={"act": "assign", "assignee": user_id("acme/lan")})
        async with house.database.principal_scope(keeper) as tx:
            await tx.driver.execute("delete from document_examinations where document_id = $1", ids["shoe-fee"])
        await admin.get("/documents/health")
        assert item["item_id"] in [one["item_id"] for one in await about(lan, ids["shoe-fee"])]


class TestAnswering:
    async def test_an_owner_writes_and_an_administrator_brings_it_in(
        self, client_of: Clients, ids: dict[str, str], house: Services, address: str, subtests: pytest.Subtests
    ) -> None:
        lan, admin, hoa = client_of("acme/lan"), client_of("acme/admin"), client_of("acme/hoa")
        asked = "Thẻ đỏ dùng ở cổng nào?"
        run = (await ask(hoa, asked))["task_id"]
        await hoa.put(f"/tasks/{run}/feedback", json={"rating": -1, "correction": "Cổng trước nữa."})
        [item] = [one for one in await listed(lan, kind="correction") if one["correction"] == "Cổng trước nữa."]
        where, until = f"/desk/items/{item['item_id']}/answer", str(TODAY + timedelta(days=90))
        text = "Thẻ đỏ dùng ở cổng sau và ở cổng Hoa Sữa."
        body = {"text": text, "department": "hr", "scope": "public", "review_on": until}
        contradiction = (await about(lan, ids["shoe-fee"], kind="contradiction"))[0]
        cases: list[tuple[Client, str, dict[str, Any], int]] = [
            (hoa, where, body, 403), (client_of("acme/minh"), where, body, 404),
            (lan, where, {**body, "department": "it"}, 403), (lan, where, {**body, "review_on": str(TODAY)}, 422),
            (lan, where, {**body, "text": " "}, 422), (lan, where, {**body, "department": "x" * 65}, 422),
            (lan, f"/desk/items/{contradiction['item_id']}/answer", body, 409),
        ]  # fmt: skip
        for http, path, said, status in cases:
            with subtests.test(said=said, status=status):
                assert (await http.post(path, json=said)).status_code == status
        # Who may not read its scope does not read the draft.
        assert (await lan.post(where, json={**body, "scope": "private"})).json()["draft"]["scope"] == "private"
        async with await with_rights(house, address, "acme/admin", permissions=("public", "internal")) as fewer:
            seen = [one for one in await listed(fewer, kind="correction") if one["item_id"] == item["item_id"]]
            assert [one["draft"] for one in seen] == [None]
        kept = (await lan.post(where, json=body)).json()
        assert (kept["state"], kept["draft"]) == ("open", {key: body[key] for key in kept["draft"]})
        assert (await admin.get("/documents", params={"department": "hr"})).text.count("Giải đáp") == 0

        assert (await admin.post(where, json=body)).json()["state"] == "done"
        assert (await admin.post(where, json=body)).status_code == 409
        for _ in range(50):
            found = (await admin.get("/documents", params={"department": "hr"})).json()["documents"]
            [made] = [one for one in found if one["title"] == f"Giải đáp: {asked}"]
            if made["status"] == "ready":
                break
            await asyncio.sleep(0.1)
        assert (made["authority"], made["effective_to"], made["scope"]) == ("answer", until, "public")
        assert "Hoa Sữa" in (await ask(hoa, "Thẻ đỏ dùng ở những cổng nào?"))["answer"]
        await admin.delete(f"/documents/{made['document_id']}")
