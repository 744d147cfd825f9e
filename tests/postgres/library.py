"""A small library of two companies, ingested with the bundled model."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, tzinfo
from typing import Any
from zlib import crc32

import numpy as np

from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.embedding import Embedder, Vectors
from app.storage.database import Database
from app.storage.tenants import add_tenant
from tests.factories import principal

TODAY = date(2026, 11, 21)


def today(_zone: tzinfo = UTC) -> date:
    return TODAY


def draft(external_id: str, title: str, text: str, **changes: Any) -> DocumentDraft:
    """A public Vietnamese hr document, in force without limits."""
    values: dict[str, Any] = {
        "title": title,
        "text": text,
        "url": f"https://intra.example/{external_id}",
        "department": "hr",
        "scope": "public",
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "external_id": external_id,
    }
    return DocumentDraft.model_validate(values | changes)


LATENESS = draft(
    "lateness",
    "Quy định đi muộn",
    "Nhân viên đi muộn quá 5 phút bị trừ 50.000 đồng mỗi lần vào phụ cấp chuyên cần.",
    scope="internal",
)
SALARY = draft(
    "salary",
    "Thang lương",
    "Kỹ sư bậc 3 nhận mức lương cơ bản 32.000.000 đồng một tháng, trả vào ngày 5.",
    scope="private",
)
PASSWORDS = draft(
    "passwords",
    "Chính sách mật khẩu",
    "Mật khẩu có ít nhất 12 ký tự và phải đổi sau 180 ngày. Quên mật khẩu thì vào trang password.acme.example.",
    department="it",
)
SERVERS = draft(
    "servers",
    "Server rota",
    "The engineer on call restarts mail-01 within 15 minutes.",
    department="it",
    scope="private",
)
HOLIDAYS = draft(
    "holidays",
    "Public holidays",
    "The office in Da Nang is closed on Reunification Day, 30 April.",
    department="general",
)
COMMITTEE = draft(
    "committee",
    "Uỷ ban hoà giải",
    "Uỷ ban hoà giải họp vào thứ Hai đầu tháng để giải quyết khiếu nại về khoẻ mạnh và an toàn.",
    department="general",
)
LEAVE_OLD = draft(
    "leave-2024",
    "Nghỉ phép 2024",
    "Nhân viên chính thức được hưởng 12 ngày nghỉ phép năm.",
    effective_from=date(2024, 1, 1),
)
LEAVE_NEW = draft(
    "leave-2026",
    "Nghỉ phép 2026",
    "Nhân viên chính thức được hưởng 14 ngày nghỉ phép năm.",
    effective_from=date(2026, 1, 1),
    supersedes="leave-2024",
)
LEAVE_NEXT = draft(
    "leave-2027",
    "Nghỉ phép 2027",
    "Nhân viên chính thức được hưởng 16 ngày nghỉ phép năm.",
    effective_from=date(2027, 1, 1),
    supersedes="leave-2026",
)
TRIAL = draft(
    "trial",
    "Thử nghiệm làm việc bốn ngày",
    "Tuần làm việc bốn ngày được thử nghiệm đến hết tháng sáu.",
    effective_from=date(2026, 1, 1),
    effective_to=date(2026, 6, 30),
)
ACME = (LATENESS, SALARY, PASSWORDS, SERVERS, HOLIDAYS, COMMITTEE, LEAVE_NEW, LEAVE_OLD, LEAVE_NEXT, TRIAL)
GLOBEX = (draft("lateness", "Lateness at Globex", "Globex staff late by more than ten minutes lose a bonus point."),)


def admin(tenant: str = "acme") -> Principal:
    """Administers a tenant and reads everything of it."""
    everything = principal(tenant, "admin", "general", roles=("admin",))
    return everything.model_copy(update={"departments": frozenset({"general", "hr", "it"})})


class WordEmbedder:
    """Vectors of the words alone: costs nothing, and is the same in every process."""

    model, dimensions = "words", 48

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(text) for text in texts])

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_queries(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def aclose(self) -> None:
        """Nothing to stop."""

    def _vector(self, text: str) -> Vectors:
        counts = np.full(self.dimensions, 0.01, np.float32)
        for word in text.lower().split():
            counts[crc32(word.encode()) % self.dimensions] += 1
        unit: Vectors = counts / np.linalg.norm(counts)
        return unit


class CountingEmbedder:
    """An embedder that counts the passages it was asked for, and can be told to fail."""

    def __init__(self, inner: Embedder):
        self._inner = inner
        self.model = inner.model
        self.dimensions = inner.dimensions
        self.passages: list[str] = []
        self.failure: Exception | None = None

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._inner.embed_queries(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if self.failure:
            raise self.failure
        self.passages += [text for text in texts if "\n" in text]  # title and text; a suspicious sentence is one line
        return await self._inner.embed_passages(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    async def aclose(self) -> None:
        """The inner embedder belongs to somebody else."""


async def add_tenants(maintenance_url: str, *names: str) -> None:
    operator = await Database.connect(maintenance_url, pool_size=2)
    async with operator.operator_scope() as tx:
        for name in names:
            await add_tenant(tx, name)
    await operator.dispose()
