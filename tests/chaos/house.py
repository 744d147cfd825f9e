"""A whole installation on one machine: PostgreSQL, a Redis server, API processes, workers, a scripted model."""

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

import asyncpg
import httpx
from pydantic import SecretStr

from app.main import Services
from app.settings import Settings
from tests.api.conftest import DOCUMENTS, SECRET, SEED
from tests.chaos.machines import Api, Machine, Postgres, Worker
from tests.factories import SEED_USERS, demo_token, with_demo_people
from tests.fakes.house_mind import house_mind, lines_of, stage_of
from tests.fakes.model_server import Asked, ModelServer, Reply, scripted_model_server
from tests.fakes.valkey import ValkeyServer
from tests.nursery import Nursery
from tests.warm import warm

QUESTION = "đi muộn bị xử lý thế nào và mật khẩu dài bao nhiêu ký tự?"
REMOTE_AGENT = "it"
"""Its steps are done by the workers of its queue alone."""
_CONCERNS = {"hr": "muộn", REMOTE_AGENT: "mật khẩu"}
_SLOW = re.compile(r"\[slow (\d+(?:\.\d+)?)\]")
_SLOW_PIECES, _SLOW_SENTENCES = 30, 10
STORMY = {"CONCLAVE_MAX_REDISPATCHES": "20"}
"""A storm kills the same run more often than anybody would try it again."""


@dataclass(frozen=True)
class Shape:
    """How large a house is."""

    apis: int = 2
    workers: tuple[str, ...] = ("chat,ingest", "chat,ingest", REMOTE_AGENT)
    """The ``--queues`` of each worker; empty = every queue."""
    lease_seconds: int = 2
    redis: bool = True
    environment: Mapping[str, str] | None = None
    """Further settings of every process."""


class House:
    """The machines, and how a client reaches them."""

    def __init__(
        self, folder: Path, nursery: Nursery, postgres: Postgres, valkey: ValkeyServer, model: ModelServer, shape: Shape
    ):
        self.folder = folder
        self._nursery = nursery
        self.postgres = postgres
        self.valkey = valkey
        self.model = model
        self.shape = shape
        self.apis: list[Api] = []
        self.workers: list[Worker] = []
        self.tokens: dict[str, str] = {}
        """A token by ``tenant/user``."""
        self._names = cycle(range(1_000_000))

    @property
    def machines(self) -> list[Machine]:
        return [*self.apis, *self.workers]

    @property
    def superuser_url(self) -> str:
        """A role that no row policy binds, to look at everything."""
        return self.postgres.server.url("postgres")

    @asynccontextmanager
    async def looking(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        """A connection that sees every row."""
        connection = await asyncpg.connect(self.superuser_url)
        try:
            yield connection
        finally:
            await connection.close()

    def client(self, api: Api, user: str = "acme/lan", *, seconds: float = 30) -> httpx.AsyncClient:
        """A client of one API process."""
        headers = {"Authorization": f"Bearer {self.tokens[user]}"}
        return httpx.AsyncClient(base_url=f"{api.address}/api/v1", headers=headers, timeout=seconds)

    def add_api(self, **settings: str) -> Api:
        name = f"api{len(self.apis)}"
        api = Api(
            name,
            {**self.environment(name), "CONCLAVE_WORKER_IN_PROCESS": "false", **settings},
            self.folder,
            self._nursery,
        )
        self.apis.append(api)
        return api

    def add_worker(self, queues: str = "") -> Worker:
        name = f"worker{len(self.workers)}"
        worker = Worker(name, queues, self.environment(name), self.folder, self._nursery)
        self.workers.append(worker)
        return worker

    def environment(self, name: str) -> dict[str, str]:
        """The settings of one machine; its data folder is its own, as on a machine of its own."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("CONCLAVE_")}
        return {
            **kept,
            "CONCLAVE_DATA_DIR": str(warm(self.folder / f"data-{name}")),
            "CONCLAVE_DATABASE_URL": self.postgres.server.app_url,
            "CONCLAVE_AUTH_JWT_SECRET": SECRET,
            "CONCLAVE_TASK_LEASE_SECONDS": str(self.shape.lease_seconds),
            "CONCLAVE_EMBEDDING_THREADS": "1",
            "CONCLAVE_ENABLE_CACHING": "false",
            "CONCLAVE_MAX_OPEN_RUNS_PER_USER": "1000",
            "CONCLAVE_BUS_URL": self.valkey.url if self.shape.redis else "",
            "CONCLAVE_REMOTE_AGENTS": f'["{REMOTE_AGENT}"]',
            "CONCLAVE_LLM_BASE_URL": self.model.base_url,
            "CONCLAVE_LLM_MODEL": self.model.model,
            "COLUMNS": "160",
            "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
            **(self.shape.environment or {}),
        }

    def settings(self) -> Settings:
        """For services inside the test's own process."""
        server = self.postgres.server
        return Settings(
            _env_file=None,
            data_dir=warm(self.folder / "data-first"),
            seed_dir=self.folder / "seed",
            database_url=SecretStr(server.app_url),
            database_owner_url=SecretStr(server.owner_url),
            database_operator_url=SecretStr(server.maintenance_url),
            auth_jwt_secret=SecretStr(SECRET),
        )

    async def plant(self) -> None:
        """Migrate, bring a few documents in, sign tokens, and leave the model's files for the machines to copy."""
        for tenant, names in DOCUMENTS.items():
            for name in names:
                copy = self.folder / "seed" / tenant / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SEED / tenant / name, copy)
        with_demo_people(self.folder / "seed")
        services = await Services.open(self.settings())
        try:
            await services.seed()
            users = [f"{user.tenant}/{user.name}" for user in SEED_USERS]
            self.tokens = {user: demo_token(services.settings, user) for user in users}
        finally:
            await services.aclose()


@asynccontextmanager
async def open_house(nursery: Nursery, shape: Shape) -> AsyncIterator[House]:
    """A house whose machines are all up; nothing of it is left afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="conclave-house-"))
    postgres, valkey, born = Postgres(folder / "pg"), ValkeyServer(), list[Machine]()
    try:
        await asyncio.to_thread(postgres.start)
        if shape.redis:
            await asyncio.to_thread(valkey.start)
        async with scripted_model_server(paced_mind) as model:
            house = House(folder, nursery, postgres, valkey, model, shape)
            await house.plant()
            for _ in range(shape.apis):
                house.add_api()
            for queues in shape.workers:
                house.add_worker(queues)
            born = house.machines
            await asyncio.gather(*(machine.start() for machine in house.machines))
            await asyncio.gather(*(machine.ready() for machine in house.machines))
            yield house
    finally:
        await asyncio.gather(*(machine.kill() for machine in born if machine.is_up))
        valkey.close()
        await asyncio.to_thread(postgres.stop)
        shutil.rmtree(folder, ignore_errors=True)


def paced_mind(asked: Asked) -> Reply:
    """The good model, which asks only the agents concerned; a question with ``[slow 4]`` in it is answered over four
    seconds, delta by delta."""
    reply, stage = house_mind(asked), stage_of(asked)
    if stage == "plan":
        return _with_fewer_agents(asked, reply)
    if stage != "compose" or not reply.content:
        return reply
    first = reply.content.split("\n\n")[0]  # whole as it stands: what is unsupported would be held and marked
    slow = _SLOW.search(asked.text)
    if slow is None:
        return replace(reply, content=first)
    said = "\n\n".join([first] * _SLOW_SENTENCES)
    chars = max(1, len(said) // _SLOW_PIECES)
    return replace(reply, content=said, piece_chars=chars, between_seconds=float(slow[1]) / _SLOW_PIECES)


def _with_fewer_agents(asked: Asked, reply: Reply) -> Reply:
    question, plan = lines_of(asked)[-1]["question"], json.loads(reply.content or "{}")
    concerned = [one for one in plan["agents"] if _CONCERNS.get(one["agent"], "?") in question]
    return Reply.json({**plan, "agents": concerned or plan["agents"]})
