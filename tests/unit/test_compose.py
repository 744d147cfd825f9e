"""`docker-compose.yml` says what the documents say of it, in words the service understands."""

import json
import re
import shutil
import subprocess
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


class TestConfinement:
    def test_every_container_gives_up_what_it_does_not_need(self, services: dict[str, Any]) -> None:
        for name, one in services.items():
            assert one["cap_drop"] == ["ALL"] and "cap_add" not in one, name
            assert "no-new-privileges:true" in one["security_opt"], name
            assert one["read_only"] is True, name
            assert not one.keys() & {"privileged", "pid", "ipc", "network_mode", "devices", "userns_mode"}, name

    def test_nobody_is_root(self, services: dict[str, Any]) -> None:
        built = {name for name, one in services.items() if one.get("build") == "."}
        assert {name: services[name].get("user") for name in services.keys() - built} == {
            "database": "postgres", "valkey": "valkey",
        }  # fmt: skip
        assert all("user" not in services[name] for name in built)
        users = re.findall(r"^USER (\w+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
        assert users == ["conclave"]

    def test_what_is_written_is_no_part_of_the_image(self, services: dict[str, Any]) -> None:
        data_dir = re.search(r"^ENV CONCLAVE_DATA_DIR=(\S+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
        assert data_dir is not None
        for name in ("migrate", "app", *WORKERS):
            assert {data_dir[1], f"spool:{data_dir[1]}/spool"} == set(services[name]["volumes"]), name
            assert "/tmp" in services[name]["tmpfs"], name
        for volume in services["database"]["volumes"]:
            assert volume.startswith("database:") or volume.endswith(":ro"), volume
        assert services["valkey"]["tmpfs"] == ["/data"] and "volumes" not in services["valkey"]

    def test_database_and_bus_are_reached_from_inside_alone(self, services: dict[str, Any]) -> None:
        read = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
        assert read["networks"]["inside"] == {"internal": True}
        for name in ("database", "valkey"):
            assert services[name]["networks"] == ["inside"] and not services[name].keys() & {"ports", "expose"}
        assert [name for name, one in services.items() if "ports" in one] == ["app"]

    def test_docker_reads_it(self) -> None:
        """The program itself, where it is: it starts nothing and asks no daemon."""
        docker = shutil.which("docker")
        if (
            docker is None
            or subprocess.run((docker, "compose", "version"), capture_output=True, check=False).returncode
        ):
            pytest.skip("no docker compose on this machine")
        secrets = dict.fromkeys(re.findall(r"\$\{(\w+):\?", (ROOT / "docker-compose.yml").read_text("utf-8")), "x")
        command = (docker, "compose", "-f", str(ROOT / "docker-compose.yml"), "config", "--format", "json")
        done = subprocess.run(command, capture_output=True, check=False, env={"PATH": "/usr/bin:/bin", **secrets})
        assert done.returncode == 0, done.stderr
        assert all(one["read_only"] for one in json.loads(done.stdout)["services"].values())
