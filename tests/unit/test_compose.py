"""`docker-compose.yml` says what the documents say of it, in words the service understands."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.agents.registry import AgentRegistry
from app.settings import Settings
from app.tasks.queue import IN_PROCESS

ROOT = Path(__file__).parents[2]
WORKERS = ("worker", "agents")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    return dict(read["services"])


class TestCompose:
    def test_has_two_servers_three_workers_and_one_redis(self, services: dict[str, Any]) -> None:
        assert services.keys() == {"database", "migrate", "app", *WORKERS, "valkey"}
        copies = {name: one.get("deploy", {}).get("replicas", 1) for name, one in services.items()}
        assert copies["app"] == 2 and sum(copies[name] for name in WORKERS) == 3 and copies["valkey"] == 1

    def test_names_settings_that_exist(self, services: dict[str, Any]) -> None:
        named = {key for one in services.values() for key in one.get("environment", {}) if key.startswith("CONCLAVE_")}
        known = {f"CONCLAVE_{name.upper()}" for name in Settings.model_fields}
        assert named - {"CONCLAVE_OWNER_PASSWORD", "CONCLAVE_APP_PASSWORD"} <= known

    def test_serves_every_queue_somewhere(self, services: dict[str, Any]) -> None:
        served = {queue for name in WORKERS for queue in services[name]["command"][-1].split(",")}
        remote = set(json.loads(services["app"]["environment"]["CONCLAVE_REMOTE_AGENTS"]))
        assert remote and remote <= set(AgentRegistry.load(None).names)
        assert served == {*IN_PROCESS, *remote}
        assert services["app"]["environment"]["CONCLAVE_WORKER_IN_PROCESS"] == "false"

    def test_leaves_time_to_drain(self, services: dict[str, Any]) -> None:
        assert all(int(services[name]["stop_grace_period"].removesuffix("s")) > 15 for name in ("app", *WORKERS))
