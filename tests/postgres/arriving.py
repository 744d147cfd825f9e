"""Bringing documents in for tests: a tenant's administrator, uploads, and what is found afterwards."""

from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.documents import DocumentFields, Progress, Upload
from app.domain.principal import Principal
from app.errors import AppError
from app.ingestion.catalogue import Catalogue
from app.ingestion.intake import Arrival
from app.ingestion.parsing import FileKind, ParsedFile, Parser
from app.ingestion.pipeline import Ingestion
from app.ingestion.stages import Published
from app.retrieval.ranking import load_calibration
from app.retrieval.search import Retriever
from app.storage.database import Database
from tests.factories import principal
from tests.postgres.library import CountingEmbedder, WordEmbedder, today

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
DAY = timedelta(days=1)
Y2025, Y2026, Y2027 = date(2025, 1, 1), date(2026, 1, 1), date(2027, 1, 1)
QUESTION = "Quy định nghỉ phép năm"
LONG = "\n\n".join(
    f"## Mục {number}\n\n" + f"Quy định nghỉ phép số {number} của công ty. " * 20 for number in range(80)
)
"""Three batches of passages."""


def text_upload(external_id: str, text: str, **fields: Any) -> Upload:
    """A text for everybody of hr, unless the fields say otherwise."""
    return Upload(fields=_fields({"external_id": external_id} | fields), text=text)


def file_upload(file_name: str, text: str | bytes, **fields: Any) -> Upload:
    content = text.encode() if isinstance(text, str) else text
    return Upload(fields=_fields(fields), content=content, file_name=file_name)


def _fields(said: dict[str, Any]) -> DocumentFields:
    return DocumentFields.model_validate({"department": "hr", "scope": "public"} | said)


class PlainParser(Parser):
    """Reads Markdown here and now, where a test is not about files."""

    async def parse(self, content: bytes, file_name: str) -> ParsedFile:
        return ParsedFile(kind=FileKind.MARKDOWN, title="", text=content.decode())


@dataclass
class Desk:
    """The rooms of one process, and the administrator who works there."""

    database: Database
    embedder: CountingEmbedder
    ingestion: Ingestion
    catalogue: Catalogue
    retriever: Retriever
    owner: Principal

    @classmethod
    def of(cls, database: Database, owner: Principal, parser: Parser | None = None, *, caching: bool = False) -> "Desk":
        embedder = CountingEmbedder(WordEmbedder())
        retriever = Retriever(database, embedder, load_calibration(embedder.model), caching=caching, today=today)
        ingestion = Ingestion(database, embedder, parser=parser, today=today)
        return cls(database, embedder, ingestion, Catalogue(database, today), retriever, owner)

    def reader(self, *scopes: Any, department: str = "hr") -> Principal:
        """Somebody of the same tenant who administers nothing."""
        return principal(str(self.owner.tenant_id), f"{department}-{'-'.join(scopes)}", department, scopes)

    async def bring(
        self, upload: Upload, who: Principal | None = None, told: list[Progress] | None = None
    ) -> Published:
        async def tell(stage: Progress) -> None:
            if told is not None:
                told.append(stage)

        return await self.ingestion.bring_in(who or self.owner, upload, tell)

    async def arrive(self, upload: Upload, who: Principal | None = None) -> tuple[UUID, UUID]:
        """(document, task) of an upload that waits for its worker."""
        task_id = uuid4()
        self.ingestion.intake.check(who or self.owner, upload)
        async with self.database.principal_scope(who or self.owner) as tx:
            arrival: Arrival = await self.ingestion.intake.take_in(tx, upload, task_id)
        return arrival.document_id, task_id

    async def work(self, document_id: UUID, task_id: UUID, who: Principal | None = None) -> Published:
        """What the worker does for it."""

        async def tell(_stage: Progress) -> None:
            return

        return await self.ingestion.process(who or self.owner, document_id, task_id, tell)

    async def found(
        self, asker: Principal | None = None, as_of: date | None = None, query: str = QUESTION
    ) -> list[str]:
        """The texts of all passages, sorted."""
        result = await self.retriever.search(asker or self.owner, query, departments=None, limit=50, as_of=as_of)
        return sorted(passage.text for passage in result.passages)


async def refusal(action: Awaitable[object]) -> AppError:
    """The error of something that must be refused."""
    with pytest.raises(AppError) as caught:
        await action
    return caught.value


async def rows_of(superuser: Superuser, desk: Desk, table: str, columns: str = "count(*)") -> list[tuple[Any, ...]]:
    """What really stands in a table, of the desk's tenant."""
    query = f"select {columns} from {table} where tenant_id = $1 order by 1"
    return [tuple(row) for row in await superuser.fetch(query, desk.owner.tenant_id)]
