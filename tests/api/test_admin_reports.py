"""Usage, people, agents and evaluations over HTTP, for administrators."""

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid4

import httpx
import pytest

from app.agents.registry import BUILT_IN
from app.domain.principal import SCOPES
from app.evaluation.report_store import REPORTS_FOLDER, ReportStore
from app.main import Services
from tests.factories import SEED_USERS
from tests.unit.evaluation.runs import events, report

Client = httpx.AsyncClient
ClientOf = Callable[[str], Client]
USERS = {f"{user.tenant}/{user.name}": user.principal for user in SEED_USERS}


class TestUsage:
    async def test_counts_runs_and_tokens_of_the_own_company(self, client_of: ClientOf, house: Services) -> None:
        admin, other = client_of("acme/admin"), client_of("globex/admin")
        before = [(await one.get("/admin/usage?days=1")).json() for one in (admin, other)]
        await client_of("acme/an").post("/chat", json={"query": "xin chào"})
        an = USERS["acme/an"]
        async with house.database.principal_scope(an) as tx:
            await tx.driver.execute(
                "insert into model_calls (tenant_id, user_id, call_id, run_id, purpose, model, reserved_tokens,"
                " outcome, prompt_tokens, completion_tokens) values ($1, $2, $3, $3, 'plan', 'm', 9, 'done', 700, 30)",
                an.tenant_id, an.user_id, uuid4(),
            )  # fmt: skip
        after = (await admin.get("/admin/usage?days=1")).json()
        for name, more in (("runs", 1), ("calls", 1), ("prompt_tokens", 700), ("completion_tokens", 30)):
            assert after["total"][name] == before[0]["total"][name] + more
        assert (after["is_priced"], after["total"]["cost_micros"]) == (False, 0)
        [mine] = [one for one in after["users"] if one["user"] == "an"]
        assert mine["prompt_tokens"] >= 700 and mine["user_id"] == str(an.user_id)
        assert (await other.get("/admin/usage?days=1")).json()["total"] == before[1]["total"]

    async def test_anything_else_is_refused(self, client_of: ClientOf, subtests: pytest.Subtests) -> None:
        for query in ["days=0", "days=367", "days=x"]:
            with subtests.test(ascii(query)[:80]):
                assert (await client_of("acme/admin").get(f"/admin/usage?{query}")).status_code == 422


class TestReaders:
    async def test_are_those_of_the_rule_and_of_the_own_company(self, client_of: ClientOf) -> None:
        for tenant in ("acme", "globex"):
            people = {name.partition("/")[2]: one for name, one in USERS.items() if name.startswith(f"{tenant}/")}
            for scope in SCOPES:
                for department in ("hr", "it", "general", "sales"):
                    asked = {"scope": scope, "department": department}
                    answer = (await client_of(f"{tenant}/admin").get("/admin/readers", params=asked)).json()
                    told = {one["name"]: one["may_read"] for one in answer["readers"]}
                    assert told == {name: one.may_read(scope, department) for name, one in people.items()}
                    assert all((one["lacks"] is None) == one["may_read"] for one in answer["readers"])
                    assert not answer["is_cut"]

    async def test_anything_else_is_refused(self, client_of: ClientOf, subtests: pytest.Subtests) -> None:
        for query in ["scope=secret&department=hr", "scope=public", "scope=public&department="]:
            with subtests.test(ascii(query)[:80]):
                assert (await client_of("acme/admin").get(f"/admin/readers?{query}")).status_code == 422


class TestAgents:
    async def test_are_told_with_their_files(self, client_of: ClientOf, house: Services) -> None:
        answer = (await client_of("acme/admin").get("/admin/agents")).json()
        assert [one["name"] for one in answer["agents"]] == list(house.rooms.agents.names)
        for one in answer["agents"]:
            [path] = [folder / one["file"] for folder in BUILT_IN if (folder / one["file"]).is_file()]
            assert one["source"] == path.read_text("utf-8") and one["is_built_in"]


@pytest.fixture(scope="module")
def kept(house: Services) -> dict[str, str]:
    """One run about each company."""
    store = ReportStore(house.settings.data_dir / REPORTS_FOLDER)
    told = report(events("You have 14 days, says SECRET."), events())
    made = {}
    for tenant, user in (("acme", "hoa"), ("globex", "tom")):
        asked = tuple(
            one.model_copy(update={"question": one.question.model_copy(update={"asker": f"{tenant}/{user}"})})
            for one in told.asked
        )
        run = told.model_copy(update={"asked": asked, "made_at": datetime(2026, 11, 20, 8, tzinfo=UTC)})
        made[tenant] = store.keep(run).name
    return made


class TestEvaluations:
    async def test_are_listed_for_the_company_they_asked_about(self, client_of: ClientOf, kept: dict[str, str]) -> None:
        for tenant in ("acme", "globex"):
            answer = (await client_of(f"{tenant}/admin").get("/admin/evaluations")).json()
            assert [one["run_id"] for one in answer["runs"]] == [kept[tenant]]
            [run] = answer["runs"]
            assert (run["questions"], run["leak_count"], run["rates"]["right"]["value"]) == (2, 0, 0.5)
            assert "SECRET" not in str(answer)
