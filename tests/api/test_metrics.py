"""`/metrics`: who may read it, what it counts, and what it must never say."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from app.main import Services
from tests.factories import SEED_USERS, principal

ClientOf = Callable[[str], httpx.AsyncClient]
TOKEN = "a-token-for-figures"
DOCKER = Path(__file__).parents[2] / "docker"


@pytest.fixture
def with_token(house: Services) -> Iterator[None]:
    house.rooms.metrics.token = TOKEN
    yield
    house.rooms.metrics.token = ""


async def read(address: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient() as http:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await http.get(f"{address}/metrics", headers=sent)


def figures(text: str) -> dict[str, float]:
    """Every sample, by its name with labels."""
    pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


class TestReaders:
    async def test_on_this_machine_are_served_in_the_form_prometheus_reads(self, address: str) -> None:
        answer = await read(address)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain; version=")
        told = {family.name for family in text_string_to_metric_families(answer.text)}
        assert told > {"conclave_runs", "conclave_build_info", "conclave_event_loop_lag_seconds"}
        assert answer.headers["cache-control"] == "no-store"

    @pytest.mark.parametrize(
        "name", ["forwarded", "via", "x_forwarded_for", "x_forwarded_host", "x_forwarded_proto", "x_real_ip"]
    )
    async def test_behind_a_proxy_are_not(self, address: str, name: str) -> None:
        answer = await read(address, **{name: "127.0.0.1"})
        assert answer.status_code == 403 and answer.json()["code"] == "PERMISSION_DENIED"
        assert "CONCLAVE_METRICS_TOKEN" in answer.json()["detail"]

    async def test_led_here_by_a_name_of_their_own_are_not(self, address: str) -> None:
        assert (await read(address, host="figures.example")).status_code == 403
        assert (await read(address, host="localhost:8000")).status_code == 200

    @pytest.mark.usefixtures("with_token")
    async def test_bring_the_token_where_one_is_set_from_wherever_they_come(self, address: str) -> None:
        for brought in (
            {},
            {"authorization": "Bearer"},
            {"authorization": f"Bearer {TOKEN}x"},
            {"authorization": TOKEN},
        ):
            assert (await read(address, **brought)).status_code == 403
        good = {"authorization": f"Bearer {TOKEN}", "x_forwarded_for": "203.0.113.9"}
        assert (await read(address, **good)).status_code == 200


class TestFigures:
    async def test_count_requests_runs_queue_pool_and_caches(self, address: str, lan: httpx.AsyncClient) -> None:
        before = figures((await read(address)).text)
        asked = await lan.post("/chat", json={"query": "hello"})
        assert asked.status_code == 200
        assert (await lan.get(f"/tasks/{uuid4()}")).status_code == 404
        after = figures((await read(address)).text)

        def grown(name: str) -> float:
            return after.get(name, 0) - before.get(name, 0)

        requests = "conclave_http_request_duration_seconds_count"
        assert grown(f'{requests}{{method="POST",route="/api/v1/chat",status="2xx"}}') == 1
        assert grown(f'{requests}{{method="GET",route="/api/v1/tasks/{{task_id}}",status="4xx"}}') == 1
        assert grown(f'conclave_runs_total{{kind="chat",outcome="{asked.json()["outcome"]}"}}') == 1
        assert grown('conclave_run_duration_seconds_count{kind="chat"}') == 1
        assert grown('conclave_run_wait_seconds_count{kind="chat"}') == 1
        assert grown("conclave_pool_acquires_total") > 3
        assert after['conclave_pool_connections{state="idle"}'] >= 0
        assert after["conclave_database_up"] == 1
        assert any(name.startswith("conclave_build_info{") for name in after)

    async def test_tell_of_jobs_that_wait_and_how_long(self, address: str, house: Services) -> None:
        async with house.database.principal_scope(principal("acme", "lan")) as tx:
            await tx.driver.execute(
                "insert into pgqueuer (priority, status, entrypoint, created) values (0, 'queued', 'step:nobody',"
                " now() - interval '90 seconds')"
            )
        try:
            house.rooms.metrics._queue_at = float("-inf")
            told = figures((await read(address)).text)
            assert told['conclave_queue_jobs{queue="nobody",state="waiting"}'] == 1
            assert 90 <= told['conclave_queue_oldest_seconds{queue="nobody"}'] < 120
        finally:
            async with house.database.principal_scope(principal("acme", "lan")) as tx:
                await tx.driver.execute("delete from pgqueuer where entrypoint = 'step:nobody'")

    async def test_have_labels_of_closed_sets_only(self, address: str, lan: httpx.AsyncClient) -> None:
        async with httpx.AsyncClient() as http:
            for number in range(5):
                await http.get(f"{address}/nowhere/{number}")
                await http.request("PROPFIND", f"{address}/live")
        await lan.post("/chat", json={"query": "hello"})
        text = (await read(address)).text
        assert "nowhere/" not in text and 'method="other"' in text and "PROPFIND" not in text
        for user in SEED_USERS:
            whose = principal(user.tenant, user.name)
            for secret in (user.tenant, user.name, str(whose.tenant_id), str(whose.user_id)):
                assert not re.search(rf'"{re.escape(secret)}"', text)
        names = set(re.findall(r'[{,]([a-z_]+)="', text))
        assert names <= {
            "method", "route", "status", "kind", "outcome", "model", "what", "result", "queue", "state", "limit", "le",
            "version", "python",
        }  # fmt: skip

    async def test_of_the_event_loop_come_by_themselves(self, house: Services) -> None:
        text = (await house.rooms.metrics.write()).decode()
        assert figures(text)["conclave_event_loop_lag_seconds_count"] > 0


def expressions() -> list[str]:
    """What the shipped dashboard and alerts ask Prometheus."""
    dashboard: dict[str, Any] = json.loads((DOCKER / "grafana" / "conclave.json").read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [variable["query"]["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    [group] = yaml.safe_load((DOCKER / "prometheus" / "conclave.rules.yml").read_text("utf-8"))["groups"]
    return asked + [rule["expr"] for rule in group["rules"]]


async def test_dashboard_and_alerts_name_only_figures_and_labels_that_are_there(address: str) -> None:
    told = (await read(address)).text
    given = set(re.findall(r"^# TYPE (\S+) ", told, re.MULTILINE))
    parts = {f"{name}_{part}" for name in given for part in ("bucket", "count", "sum", "total")}
    metrics = (Path(__file__).parents[2] / "app" / "operations" / "metrics.py").read_text("utf-8")
    labels = {*re.findall(r'"([a-z]+)"', metrics), "instance", "job"}
    for asked in expressions():
        assert (names := set(re.findall(r"\b(?:conclave_\w+|up(?=\{))", asked)))
        assert names <= given | parts | {"up"}, asked
        chosen = re.findall(r"(?:\{|, )([a-z]+)(?:=|!)", asked) + re.findall(r"by \(([a-z, ]+)\)", asked)
        assert {one for few in chosen for one in few.split(", ")} <= labels | {"le"}, asked
