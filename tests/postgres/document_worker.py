"""Workers that kill themselves at a chosen moment: ``python -m tests.postgres.document_worker URL LEASE ASKED_FILE``.

Reads lines ``MOMENT TENANT``; for each one a child process works (imports are paid once) until it is dead, and the line
``dead SIGNAL`` is written. Every passage the model is asked for becomes a line of ASKED_FILE.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

from app.bus.relay import RelayingBus
from app.domain.documents import Progress
from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.embedding import Vectors
from app.ingestion import stages
from app.ingestion.passages import BATCH
from app.ingestion.pipeline import Ingestion
from app.ingestion.stages import Published, Tell
from app.journal import Journal
from app.main.working import run_ingestion
from app.storage.database import Database
from app.storage.notifications import NotificationChannel
from app.storage.publishing import publish
from app.tasks.run import TaskRun
from app.tasks.worker import Worker
from tests.postgres.arriving import PlainParser
from tests.postgres.library import WordEmbedder, admin, draft, today
from tests.postgres.running import rooms_on

MOMENTS = (
    "received", "parsing", "chunking", "embedding", "batch-1", "batch-2", "model-2", "uncommitted", "committed", "told",
)  # fmt: skip
"""The beginning of each stage; after a batch of vectors was kept; inside the model; before and after the commit that
publishes; after the terminal event."""
BULK_MOMENTS = ("model-1", "model-3", "uncommitted", "progress-1", "progress-5")
BULK_DOCUMENTS = 9


def text_of(version: int, sections: int = 80) -> str:
    """Three batches of passages, none of them like one of another version."""
    line = f"Quy định nghỉ phép của phiên bản v{version} ở mục {{}} nói rõ số ngày được nghỉ. "
    return "\n\n".join(f"## Mục {number}\n\n" + line.format(number) * 10 for number in range(sections))


def bulk_drafts(version: int) -> list[DocumentDraft]:
    """Of every group of documents that is published together a few."""
    made = (
        draft(f"bulk-{number}", f"Sổ tay {number}", text_of(version, 30 if number % 2 else 12))
        for number in range(BULK_DOCUMENTS)
    )
    return list(made)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class MortalEmbedder(WordEmbedder):
    """Writes down what it is asked for; dies in the call after so many, without an answer."""

    def __init__(self, asked: Path, moment: str):
        self._asked, self._moment, self._calls = asked, moment, 0

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self._calls += 1
        with self._asked.open("a", encoding="utf-8") as file:
            file.writelines(f"{text!r}\n" for text in texts)
        if self._moment == f"model-{self._calls}":
            die()
        return await super().embed_passages(texts)


class MortalIngestion(Ingestion):
    """Dies when it is told of the chosen moment."""

    moment = ""

    async def process(
        self, principal: Principal, document_id: UUID, task_id: UUID, tell: Tell, *, examine: bool = True
    ) -> Published:
        async def tell_and_die(stage: Progress) -> None:
            await tell(stage)
            kept, rest = divmod(stage.chunks_embedded, BATCH)
            batch = f"batch-{kept}" if kept and not rest else ""
            if self.moment in (
                stage.stage.value if not stage.chunks_embedded else batch,
                _AFTER.get(stage.stage.value),
            ):
                die()

        return await super().process(principal, document_id, task_id, tell_and_die, examine=examine)


_AFTER = {"ready": "committed"}


async def publish_and_die(*arguments: Any, **options: Any) -> None:
    await publish(*arguments, **options)
    die()


async def work(url: str, lease_seconds: float, ingestion: MortalIngestion, database: Database) -> None:
    """Take ingestion jobs until death."""
    bus = await RelayingBus.open(NotificationChannel(url))
    registry = rooms_on(database, lease_seconds, max_redispatches=10).registry

    async def handle(run: TaskRun) -> None:
        if ingestion.moment == "received":
            die()
        await run_ingestion(run, ingestion, registry)
        if ingestion.moment == "told":
            die()

    await Worker(database, registry, Journal(database, bus), {"ingest": handle}).start()
    await asyncio.Event().wait()


async def work_in_bulk(ingestion: MortalIngestion, tenant: str) -> None:
    """Bring many documents in until death."""

    def tell(done: int, _of: int, _title: str) -> None:
        if ingestion.moment == f"progress-{done}":
            die()

    await ingestion.ingest(admin(tenant), bulk_drafts(2), tell)


async def live(url: str, lease_seconds: float, asked: Path, moment: str, tenant: str) -> None:
    """One worker's life."""
    database = await Database.connect(url, pool_size=6)
    bulk = moment.removeprefix("bulk:")
    ingestion = MortalIngestion(database, MortalEmbedder(asked, bulk), parser=PlainParser(), today=today)
    ingestion.moment = bulk
    mortal = publish_and_die if bulk == "uncommitted" else publish
    with patch.object(stages, "publish", mortal):
        if bulk == moment:
            await work(url, lease_seconds, ingestion, database)
        else:
            await work_in_bulk(ingestion, tenant)


def main(url: str, lease_seconds: float, asked: Path) -> None:
    """One child a line."""
    say = partial(print, flush=True)
    say("ready")
    for line in sys.stdin:
        moment, tenant = line.split()
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(live(url, lease_seconds, asked, moment, tenant))
            finally:
                os._exit(1)
        say("dead", -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))
