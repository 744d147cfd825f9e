"""People of a company before its administrators: listed, added, changed, shut out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from app.api.auth import SharedSecret
from app.domain.principal import tenant_id_of, user_id_of
from app.main import Services
from app.storage import tenants
from app.storage.database import Database
from tests.api.conftest import SECRET
from tests.api.test_keys import Door, operator

__all__ = ["operator"]  # a fixture
FIRM = "people-firm"
FIRM_ID = tenant_id_of(FIRM)
EVERY = {"public", "internal", "private"}
STAFF: dict[str, dict[str, Any]] = {
    "boss": {"department": "general", "scopes": EVERY, "roles": {"admin"}, "display_name": "Trần Thị Hương"},
    "deputy": {"department": "hr", "scopes": EVERY, "roles": {"admin"}},
    "nhi": {"department": "hr", "departments": {"it"}, "scopes": {"public"}, "display_name": "Đỗ Nhi"},
    "watcher": {"department": "it", "scopes": {"public"}, "roles": {"auditor"}},
}
Client_ = httpx.AsyncClient


@pytest.fixture
async def firm(house: Services, address: str, operator: Database) -> AsyncIterator[Door]:
    """A company with two administrators, an auditor and somebody else."""
    async with operator.operator_scope() as tx:
        await tenants.add_tenant(tx, FIRM)
    door = Door(house, address, operator)
    for name, rights in STAFF.items():
        await door.write_down(name, tenant=FIRM_ID, **rights)
    yield door
    async with operator.operator_scope() as tx:
        await tenants.remove_tenant(tx, FIRM_ID)


@pytest.fixture
async def boss(firm: Door) -> AsyncIterator[Client_]:
    async with firm.signed_in(f"{FIRM}/boss") as http:
        yield http


def path_of(name: str) -> str:
    return f"/users/{user_id_of(FIRM_ID, name)}"


async def listed(http: Client_, **params: Any) -> list[str]:
    answer = await http.get("/users", params=params)
    assert answer.status_code == 200, answer.text
    return [one["name"] for one in answer.json()["users"]]


class TestListing:
    async def test_is_for_administrators_and_auditors(self, firm: Door, client_of: Callable[[str], Client_]) -> None:
        for name, expected in (("boss", 200), ("watcher", 200), ("nhi", 403)):
            async with firm.signed_in(f"{FIRM}/{name}") as http:
                assert (await http.get("/users")).status_code == expected
        assert not STAFF.keys() & set(await listed(client_of("acme/admin")))

    async def test_filters_by_name_without_accents_department_and_state(self, boss: Client_) -> None:
        assert await listed(boss) == sorted(STAFF)
        for q, found in (
            ("do nhi", ["nhi"]),
            ("ĐỖ", ["nhi"]),
            ("huong", ["boss"]),
            ("BOSS", ["boss"]),
            ("%", []),
            ("_", []),
        ):
            assert await listed(boss, q=q) == found, q
        assert await listed(boss, department="it") == ["nhi", "watcher"]
        assert (await boss.patch(path_of("nhi"), json={"disabled": True})).status_code == 200
        assert await listed(boss, disabled=True) == ["nhi"]
        assert "nhi" not in await listed(boss, disabled=False)
        assert await listed(boss, q="nhi", department="hr", disabled=True) == ["nhi"]

    async def test_is_paged(self, boss: Client_) -> None:
        found: list[str] = []
        cursor = None
        while cursor is not None or not found:
            page = (await boss.get("/users", params={"limit": 1, **({"cursor": cursor} if cursor else {})})).json()
            found += [one["name"] for one in page["users"]]
            cursor = page["next_cursor"]
        assert found == sorted(STAFF)


class TestAdding:
    async def test_makes_somebody_who_can_come_in_at_once(self, firm: Door, boss: Client_) -> None:
        body = {"name": "mới", "department": "hr", "departments": ["it"], "scopes": ["public"], "display_name": "Mới"}
        claims = (await firm.house.claims_of(f"{FIRM}/boss")).model_copy(update={"sub": "mới"})
        token = SharedSecret(SECRET).sign(claims, issuer="conclave", audience="conclave", ttl_seconds=60)
        async with firm.bringing(token) as new:
            assert (await new.get("/agents")).status_code == 403
            made = await boss.post("/users", json=body)
            assert (made.status_code, made.json()["departments"]) == (201, ["hr", "it"])
            assert (await new.get("/agents")).status_code == 200
            assert (await new.get("/users")).status_code == 403
        again = await boss.post("/users", json={**body, "name": "MỚI"})
        assert (again.status_code, again.json()["code"]) == (409, "VALIDATION_FAILED")

    @pytest.mark.parametrize("wrong", [
        {"department": "nowhere"}, {"departments": ["nowhere"]}, {"scopes": ["secret"]}, {"roles": ["king"]},
        {"roles": ["service"]}, {"name": "a/b"}, {"name": " "}, {"name": "a\x00"}, {"surname": "x"},
    ], ids=str)  # fmt: skip
    async def test_refuses_what_nobody_knows(self, boss: Client_, wrong: dict[str, Any]) -> None:
        answer = await boss.post("/users", json={"name": "somebody", **wrong})
        assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")

    async def test_makes_programs_that_are_nobodys_disguise(self, firm: Door, boss: Client_) -> None:
        made = (await boss.post("/users", json={"name": "bot", "service": True})).json()
        assert made["is_service"] and made["roles"] == ["service"]
        changed = (await boss.patch(path_of("bot"), json={"roles": ["reader"]})).json()
        assert changed["roles"] == ["reader", "service"]
        key = await boss.post("/keys", json={"name": "x", "user": "bot"})
        assert key.status_code == 201
        became = await boss.patch(path_of("nhi"), json={"roles": ["service"]})
        assert (became.status_code, became.json()["code"]) == (422, "PAYLOAD_INVALID")
        async with firm.signed_in(f"{FIRM}/nhi") as nhi:
            assert (await nhi.post("/chat", json={"query": "xin chào"})).status_code == 200
        async with firm.operator.operator_scope() as tx:  # as one who is known by tokens alone
            await tx.driver.execute("delete from users where tenant_id = $1 and name = 'nhi'", FIRM_ID)
        answer = await boss.post("/users", json={"name": "nhi", "service": True})
        assert (answer.status_code, answer.json()["code"]) == (409, "VALIDATION_FAILED")
        assert (await boss.post("/users", json={"name": "nhi"})).status_code == 201


class TestChanging:
    async def test_is_for_administrators_of_the_company(self, firm: Door, client_of: Callable[[str], Client_]) -> None:
        for name in ("watcher", "nhi"):
            async with firm.signed_in(f"{FIRM}/{name}") as http:
                for answer in (
                    await http.patch(path_of("nhi"), json={"scopes": ["private"]}),
                    await http.post("/users", json={"name": "x"}),
                ):
                    assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")
        unknown = await client_of("acme/admin").patch(path_of("x"), json={"disabled": True})
        foreign = await client_of("acme/admin").patch(path_of("nhi"), json={"disabled": True})
        assert (foreign.status_code, foreign.text) == (unknown.status_code, unknown.text)
        assert (foreign.status_code, foreign.json()["code"]) == (404, "NOT_FOUND")

    async def test_acts_at_once_on_tokens_and_keys(self, firm: Door, boss: Client_) -> None:
        async with firm.signed_in(f"{FIRM}/nhi") as nhi:
            key = (await nhi.post("/keys", json={"name": "x"})).json()["key"]
            changes = {"department": "it", "departments": [], "scopes": ["public", "internal"], "display_name": "N."}
            changed = (await boss.patch(path_of("nhi"), json=changes)).json()
            assert changed["departments"] == ["it"] and changed["display_name"] == "N."
            who = await firm.principal(key)
            assert who.departments == {"it"} and who.scopes == {"public"}  # what the key was made with is all it gives
            for disabled, of_token, of_key in ((True, 403, 401), (False, 200, 200)):
                assert (await boss.patch(path_of("nhi"), json={"disabled": disabled})).status_code == 200
                assert ((await nhi.get("/keys")).status_code, await firm.status(key)) == (of_token, of_key)

    @pytest.mark.parametrize(
        "wrong",
        [{"department": "nowhere"}, {"roles": ["king"]}, {"scopes": ["secret"]}, {"name": "x"}, {"disabled": 1}],
    )
    async def test_refuses_what_nobody_knows(self, boss: Client_, wrong: dict[str, Any]) -> None:
        answer = await boss.patch(path_of("nhi"), json=wrong)
        assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")

    @pytest.mark.parametrize("loss", [{"roles": []}, {"disabled": True}], ids=str)
    async def test_leaves_the_own_role_and_the_last_administrator(
        self, firm: Door, boss: Client_, loss: dict[str, Any]
    ) -> None:
        own = await boss.patch(path_of("boss"), json=loss)
        assert (own.status_code, own.json()["code"]) == (409, "VALIDATION_FAILED")
        assert (await boss.patch(path_of("deputy"), json=loss)).status_code == 200
        deputy = (await firm.house.storage.operator_of(FIRM)).model_copy(update={"sub": "deputy"})
        stale = SharedSecret(SECRET).sign(deputy, issuer="conclave", audience="conclave", ttl_seconds=60)
        door = firm.house.rooms.authenticator
        door.known[FIRM_ID, user_id_of(FIRM_ID, "deputy")] = deputy.principal()  # another process, within the minute
        async with firm.bringing(stale) as other:
            last = await other.patch(path_of("boss"), json=loss)
        assert (last.status_code, last.json()["code"]) == (409, "VALIDATION_FAILED")
        assert "last administrator" in last.json()["detail"]
        assert await listed(boss, disabled=False)  # who is still there

    async def test_of_two_who_demote_each_other_one_wins(self, firm: Door, boss: Client_) -> None:
        async with firm.signed_in(f"{FIRM}/deputy") as deputy:
            for _ in range(3):
                answers = await asyncio.gather(
                    boss.patch(path_of("deputy"), json={"roles": []}), deputy.patch(path_of("boss"), json={"roles": []})
                )
                assert sorted(one.status_code for one in answers) in ([200, 403], [200, 409])
                for name in ("boss", "deputy"):
                    await firm.write_down(name, tenant=FIRM_ID, **STAFF[name])

    async def test_stands_in_the_audit_of_who_did_it(self, boss: Client_) -> None:
        assert (await boss.post("/users", json={"name": "new"})).status_code == 201
        assert (await boss.patch(path_of("new"), json={"scopes": ["internal"], "display_name": "A"})).status_code == 200
        assert (await boss.patch(path_of("new"), json={"scopes": ["internal"]})).status_code == 200  # changes nothing
        assert (await boss.patch(path_of("new"), json={"disabled": True})).status_code == 200
        told = (await boss.get("/audit", params={"user": "boss"})).json()["entries"]
        acts = [one for one in told if one["target"] == path_of("new").rpartition("/")[2]]
        assert sorted(one["action"] for one in acts) == ["user_added", "user_changed", "user_changed", "user_renamed"]
        assert acts[0]["details"]["disabled"] and acts[0]["details"]["scopes"] == ["internal"]
