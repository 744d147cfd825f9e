"""A storm: chats that go on without end while blow after blow falls on the machines."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from uuid import uuid4

import httpx

from tests.chaos.chats import Chat
from tests.chaos.faults import Blow, Kind, Storm, schedule
from tests.chaos.house import House
from tests.chaos.machines import Machine, Worker, until

SMALL_TALK = "xin chào"
ASKED = ("mật khẩu dài bao nhiêu ký tự?", "đi muộn bị xử lý thế nào?", SMALL_TALK)
CHAT_SECONDS = 120
GRACE_SECONDS = 10
_OPEN = "select count(*) from tasks where status in ('pending', 'in_progress')"
_OPEN_ROWS = """
select kind, status::text, attempt, task_id::text, root_task_id::text, coalesce(claimed_by, '-') as holder,
       lease_until < clock_timestamp() as is_over
from tasks where status in ('pending', 'in_progress') limit 10
"""
_READ_SECONDS = 3.0
"""A client that hears nothing for so long comes back elsewhere; the service pings less often than that."""
_CUT = 0.15
"""How often a line is cut besides."""
_HOLDERS = """
select claimed_by, count(*) as runs from tasks
where status = 'in_progress' and parent_task_id is null and lease_until > clock_timestamp() group by 1
"""


class Tempest:
    """One storm over one house."""

    def __init__(self, house: House, storm: Storm, seed: int, tell: Callable[[str], None] = lambda _: None):
        self._house, self._storm, self._seed, self._tell = house, storm, seed, tell
        self.chats: list[Chat] = []
        self.struck: Counter[Kind] = Counter()
        self.died: list[str] = []
        """Machines that ended although nobody had killed them, with their exit codes."""
        self.pauses_of_holders = 0
        """Workers that were paused while they held runs."""
        self.calm_at = 0.0
        """When the last blow was over; `time.monotonic()`."""
        self.calm_seconds = float("inf")
        """From then until every task had ended."""
        self.late = 0
        """Tasks that had not ended in time."""
        self.still_open: list[str] = []
        """What is known of those that never ended."""
        self._is_over = False
        self._mending: set[asyncio.Task[None]] = set()
        self._away: set[Machine] = set()

    async def rage(self) -> None:
        """Ask and strike until every blow has fallen and every chat has ended."""
        headers = {"Authorization": f"Bearer {self._house.tokens['acme/lan']}"}
        timeout = httpx.Timeout(10, read=_READ_SECONDS, connect=_READ_SECONDS)
        async with httpx.AsyncClient(
            headers=headers, timeout=timeout, limits=httpx.Limits(max_connections=None)
        ) as http:
            lanes = [asyncio.create_task(self._keep_asking(http, lane)) for lane in range(self._storm.chats)]
            watching = asyncio.create_task(self._replace_the_dead())
            try:
                await asyncio.sleep(1)
                for blow in schedule(self._storm, self._seed, self._house.shape.lease_seconds):
                    await self._strike(blow)
                    await asyncio.sleep(blow.gap_seconds)
                self._is_over = True
                await asyncio.gather(self._measure_calm(), *lanes, *self._mending)
            finally:
                for task in (*lanes, watching, *self._mending):
                    task.cancel()
                await asyncio.gather(*lanes, watching, *self._mending, return_exceptions=True)

    async def _keep_asking(self, http: httpx.AsyncClient, lane: int) -> None:
        rng = random.Random(f"{self._seed} {lane}")
        while not self._is_over:
            question = f"{rng.choice(ASKED)} [slow {rng.choice((0.5, 1.5, 3))}] {lane}.{len(self.chats)}"
            # Small talk is answered without a database too: shown at once as a whole, so there is nothing to cut.
            is_short = question.startswith(SMALL_TALK)
            cut = (lambda: None) if is_short else lambda: _cut(rng)
            chat = Chat(http, self._addresses, question, uuid4().hex, rng, cut=cut)
            self.chats.append(chat)
            await chat.run(CHAT_SECONDS)

    async def _measure_calm(self) -> None:
        """How long every task takes to end after the last blow; the lease and ten seconds are granted."""
        async with self._house.looking() as db:
            left = 1
            while (left or self._away) and time.monotonic() < self.calm_at + CHAT_SECONDS:
                await asyncio.sleep(0.1)
                left = await db.fetchval(_OPEN)
                if time.monotonic() > self.calm_at + self._house.shape.lease_seconds + GRACE_SECONDS:
                    self.late = max(self.late, left)
            self.still_open = [str(dict(row)) for row in await db.fetch(_OPEN_ROWS)] if left else []
        self.calm_seconds = time.monotonic() - self.calm_at

    def _addresses(self) -> list[str]:
        """A client does not know which process is well."""
        return [api.address for api in self._house.apis]

    async def _strike(self, blow: Blow) -> None:
        self.struck[blow.kind] += 1
        self._tell(f"{blow.kind.value} {sum(self.struck.values())}")
        match blow.kind:
            case Kind.KILL_WORKER | Kind.KILL_API:
                machine = await self._victim(blow)
                await machine.kill()
                self._later(machine, self._bring_back(machine, blow.seconds))
            case Kind.PAUSE_WORKER | Kind.PAUSE_API:
                machine = await self._victim(blow)
                machine.pause()
                self._later(machine, self._wake(machine, blow.seconds))
            case Kind.CRASH_POSTGRES:
                await asyncio.to_thread(self._house.postgres.crash)
                await asyncio.sleep(blow.seconds)
                await asyncio.to_thread(self._house.postgres.start)
            case Kind.KILL_REDIS:
                self._house.valkey.kill()
                await asyncio.sleep(blow.seconds)
                await asyncio.to_thread(self._house.valkey.start)
            case Kind.PAUSE_REDIS:
                self._house.valkey.pause()
                await asyncio.sleep(blow.seconds)
                self._house.valkey.wake()
        self.calm_at = time.monotonic()

    async def _victim(self, blow: Blow) -> Machine:
        """A machine of the kind that is up; of workers that are to be paused, one that holds runs if there is any.
        One of each kind always stays."""
        of_workers = blow.kind in (Kind.KILL_WORKER, Kind.PAUSE_WORKER)
        every: list[Machine] = [*self._house.workers] if of_workers else [*self._house.apis]

        async def two_are_there() -> bool:
            return sum(self._is_there(machine) for machine in every) >= 2

        await until(two_are_there, CHAT_SECONDS)
        there = [machine for machine in every if self._is_there(machine)]
        if blow.kind is Kind.PAUSE_WORKER and (holders := await self._holders()):
            self.pauses_of_holders += 1
            there = holders
        return there[int(blow.pick * len(there))]

    async def _holders(self) -> list[Machine]:
        async with self._house.looking() as db:
            ids = {row["claimed_by"] for row in await db.fetch(_HOLDERS)}
        return [worker for worker in self._house.workers if self._is_there(worker) and worker.worker_id in ids]

    def _is_there(self, machine: Machine) -> bool:
        return machine.is_up and machine not in self._away

    def _later(self, machine: Machine, mending: Coroutine[None, None, None]) -> None:
        """Mend a machine in the background; it is nobody's victim until then."""
        self._away.add(machine)

        async def mended() -> None:
            await mending
            self._away.discard(machine)

        task = asyncio.create_task(mended())
        self._mending.add(task)
        task.add_done_callback(self._mending.discard)

    async def _wake(self, machine: Machine, seconds: float) -> None:
        await asyncio.sleep(seconds)
        machine.wake()
        self.calm_at = time.monotonic()

    async def _bring_back(self, machine: Machine, seconds: float) -> None:
        """Start it as a supervisor does: again and again, for it needs the database to start."""
        await asyncio.sleep(seconds)

        async def is_back() -> bool:
            return await _started(machine)

        await until(is_back, CHAT_SECONDS)
        if isinstance(machine, Worker) and sum(one.queues == machine.queues for one in self._house.workers) == 1:
            self.calm_at = time.monotonic()  # nobody else could do its work: it was away until now

    async def _replace_the_dead(self) -> None:
        """The supervisor of the machines that end by themselves."""
        while True:
            await asyncio.sleep(0.5)
            for machine in self._house.machines:
                if not machine.is_up and machine not in self._away:
                    self.died.append(f"{machine.name} {machine.process.returncode}")
                    self._later(machine, self._bring_back(machine, 0))


async def _started(machine: Machine) -> bool:
    try:
        await machine.restart()
    except AssertionError:
        return False
    return True


def _cut(rng: random.Random) -> int | None:
    return rng.randrange(1, 16_000) if rng.random() < _CUT else None
