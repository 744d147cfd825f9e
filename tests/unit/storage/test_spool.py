"""The spool: bounded, ordered, durable, taken over from the dead, and gone when it is empty."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from app.storage.spool import Entry, Spool, SpoolFile, SpoolFull, SpoolLimits, waiting_in

TENANTS = [UUID(int=number) for number in (1, 2)]
RUNS = [UUID(int=number) for number in range(10, 14)]
CHILD = """
import asyncio, sys
from pathlib import Path
from uuid import UUID
from app.storage.spool import Entry, Spool

async def main():
    spool = Spool(Path(sys.argv[1]))
    for number in range(3):
        await spool.put(UUID(int=1), UUID(int=10), [Entry("kind", f"secret {number}")])
    print("kept", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def entries(*texts: str) -> list[Entry]:
    return [Entry("kind", text) for text in texts]


class TestSpool:
    async def test_gives_back_what_was_put_in_in_order(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path / "spool")
        await spool.put(TENANTS[0], RUNS[0], entries("a", "b"))
        await spool.put(TENANTS[0], RUNS[1], entries("x"))
        await spool.put(TENANTS[0], RUNS[0], entries("c"))
        [(origin, first), (_, second)] = await spool.runs()
        found = await spool.read(origin, first)
        assert (first, second) == (RUNS[0], RUNS[1]) and found is not None
        assert [entry.body for _, entry in found.numbered] == ["a", "b", "c"]
        await spool.remove(origin, first, found.numbered[1][0])
        left = await spool.read(origin, first)
        assert left is not None and [entry.body for _, entry in left.numbered] == ["c"]
        await spool.aclose()
        assert waiting_in(tmp_path / "spool")[:2] == (2, 2)

    async def test_can_be_read_by_its_owner_only_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        folder = tmp_path / "spool"
        spool = Spool(folder)
        assert not folder.exists()
        await spool.put(TENANTS[0], RUNS[0], entries("lương của Lan là 31 triệu"))
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        assert any("31 triệu".encode() in path.read_bytes() for path in folder.iterdir())
        await spool.put(TENANTS[0], RUNS[1], entries("y"))
        [(origin, _), _] = await spool.runs()
        await spool.remove(origin, RUNS[0], 1)
        await spool.tidy()
        assert not any("31 triệu".encode() in path.read_bytes() for path in folder.iterdir())
        await spool.remove(origin, RUNS[1], 2)
        assert not list(folder.iterdir())
        await spool.put(TENANTS[0], RUNS[0], entries("again"))
        assert [name for name, _ in await spool.runs()] != [origin], "a new file never has the name of an old one"
        await spool.aclose()

    async def test_takes_over_what_the_dead_left_and_nothing_of_the_living(self, tmp_path: Path) -> None:
        child = subprocess.Popen(  # noqa: ASYNC220 - it says at once that it is there
            (sys.executable, "-c", CHILD, str(tmp_path)), stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}
        )
        assert child.stdout is not None and child.stdout.readline() == b"kept\n"
        spool = Spool(tmp_path)
        await spool.put(TENANTS[1], RUNS[1], entries("mine"))
        assert await spool.take_over() == 0
        assert waiting_in(tmp_path)[:2] == (2, 4)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        assert await spool.take_over() == 3
        assert await spool.take_over() == 3, "once"
        [(theirs, run), (mine, own)] = await spool.runs()
        found = await spool.read(theirs, run)
        assert (run, own) == (RUNS[0], RUNS[1]) and theirs != mine and found is not None
        assert [entry.body for _, entry in found.numbered] == ["secret 0", "secret 1", "secret 2"]
        await spool.remove(theirs, run, found.upto)
        assert [one for _, one in await spool.runs()] == [own]
        await spool.aclose()
        assert waiting_in(tmp_path)[:2] == (1, 1)

    @pytest.mark.parametrize(
        "limits",
        [
            SpoolLimits(max_entries=2),
            SpoolLimits(max_bytes=1_000),
            SpoolLimits(tenant_max_entries=2),
            SpoolLimits(tenant_max_bytes=1_000),
        ],
    )
    async def test_keeps_all_of_a_put_or_nothing(self, tmp_path: Path, limits: SpoolLimits) -> None:
        spool = Spool(tmp_path, limits)
        await spool.put(TENANTS[0], RUNS[0], entries("a"))
        with pytest.raises(SpoolFull):
            await spool.put(TENANTS[0], RUNS[0], entries("b" * 400, "c" * 400))
        assert (await spool.waiting())[:2] == (1, 1)
        await spool.discard(RUNS[0])
        assert (await spool.waiting())[:2] == (0, 0)
        await spool.put(TENANTS[0], RUNS[0], entries("b"))
        await spool.aclose()

    async def test_a_folder_that_cannot_be_written_is_a_full_spool(self, tmp_path: Path) -> None:
        (tmp_path / "taken").write_text("")
        spool = Spool(tmp_path / "taken")
        with pytest.raises(SpoolFull):
            await spool.put(TENANTS[0], RUNS[0], entries("a"))
        await spool.aclose()


class FileMachine(RuleBasedStateMachine):
    """A file against a list, with limits that are met all the time, closed and opened again in between."""

    @initialize(folder=st.builds(uuid4))
    def begin(self, folder: UUID) -> None:
        self.path = Path(os.environ.get("TMPDIR", "/tmp")) / f"conclave-spool-{folder.hex}.sqlite"
        self.limits = SpoolLimits(max_bytes=4_000, max_entries=12, tenant_max_bytes=2_500, tenant_max_entries=8)
        self.file = SpoolFile(self.path, self.limits)
        self.known: list[tuple[UUID, UUID, Entry]] = []

    @rule(
        run=st.integers(0, 3),
        texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=200), min_size=1),
    )
    def put(self, run: int, texts: list[str]) -> None:
        tenant, put = TENANTS[run % 2], entries(*texts)
        own = [entry for whose, _, entry in self.known if whose == tenant]
        everybody = [entry for _, _, entry in self.known]
        fits = (
            len(everybody) + len(put) <= self.limits.max_entries
            and sum(entry.size_bytes for entry in (*everybody, *put)) <= self.limits.max_bytes
            and len(own) + len(put) <= self.limits.tenant_max_entries
            and sum(entry.size_bytes for entry in (*own, *put)) <= self.limits.tenant_max_bytes
        )
        if not fits:
            with pytest.raises(SpoolFull):
                self.file.put(tenant, RUNS[run], put)
            return
        self.file.put(tenant, RUNS[run], put)
        self.known += [(tenant, RUNS[run], entry) for entry in put]

    @rule(run=st.integers(0, 3), some=st.integers(1, 5))
    def remove(self, run: int, some: int) -> None:
        found = self.file.read(RUNS[run])
        if found is None:
            return
        gone = found.numbered[:some]
        self.file.remove(RUNS[run], gone[-1][0])
        for _, entry in gone:
            self.known.remove((TENANTS[run % 2], RUNS[run], entry))

    @rule()
    def open_again(self) -> None:
        self.file.close()
        self.file = SpoolFile(self.path, self.limits)

    @invariant()
    def holds_what_was_put_in(self) -> None:
        if not hasattr(self, "file"):
            return
        order = list(dict.fromkeys(run for _, run, _ in self.known))
        assert self.file.runs() == order
        for run in order:
            found = self.file.read(run)
            own = [entry for _, whose, entry in self.known if whose == run]
            assert found is not None and [entry for _, entry in found.numbered] == own
        size = sum(entry.size_bytes for _, _, entry in self.known)
        assert self.file.waiting() == (len(order), len(self.known), size)

    def teardown(self) -> None:
        if hasattr(self, "file"):
            for run in RUNS:
                if (found := self.file.read(run)) is not None:
                    self.file.remove(run, found.upto)
            self.file.close()
            assert not self.path.exists()


TestFile = FileMachine.TestCase
TestFile.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
