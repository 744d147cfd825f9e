"""A small world with rows of several tenants in every table, written past the row policies by the superuser."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise, product
from uuid import UUID, uuid4

import asyncpg

from app.domain.principal import SCOPES, Principal, Scope
from tests.factories import principal

DEPARTMENTS = ("hr", "it", "finance", "general")
NOW = datetime(2026, 11, 21, tzinfo=UTC)


@dataclass(frozen=True)
class KnowledgeRow:
    """A row that the permission rule speaks about."""

    key: str
    tenant_id: UUID
    department: str
    scope: Scope
    is_on_its_way: bool = False
    """A version that is not published yet: only administrators see it."""

    def is_seen_by(self, caller: Principal) -> bool:
        is_known = caller.tenant_id == self.tenant_id and caller.may_read(self.scope, self.department)
        return is_known and (caller.is_admin or not self.is_on_its_way)


@dataclass
class World:
    """What was written: rows of knowledge and rows of persons, by table."""

    knowledge: dict[str, list[KnowledgeRow]] = field(default_factory=dict)
    personal: dict[str, list[tuple[str, UUID, UUID]]] = field(default_factory=dict)
    """(key, tenant, user) by table."""
    findings: list[tuple[KnowledgeRow, KnowledgeRow]] = field(default_factory=list)
    """The two chunks of each; the first one's key is the finding's."""
    desk: list[tuple[str, UUID, frozenset[str]]] = field(default_factory=list)
    """(key, tenant, departments) of what waits for owners."""

    def know(self, table: str, row: KnowledgeRow) -> None:
        self.knowledge.setdefault(table, []).append(row)

    def own(self, table: str, key: object, who: Principal) -> None:
        self.personal.setdefault(table, []).append((str(key), who.tenant_id, who.user_id))


KEYS = {
    "documents": "document_id", "document_versions": "document_id || ' ' || version",
    "document_originals": "document_id || ' ' || version", "chunks": "chunk_id", "chunk_vectors": "chunk_id",
    "document_findings": "chunk_id", "document_examinations": "document_id",
    "system_logs": "message", "sessions": "session_id", "tasks": "task_id", "events": "root_task_id",
    "agent_contexts": "context_data ->> 'key'", "semantic_vectors": "content", "conflicts": "topic",
    "feedback": "correction", "idempotency_keys": "key", "audit": "target", "embedding_cache": "content_hash",
    "users": "user_id", "tenants": "tenant_id", "model_calls": "call_id", "model_usage": "subject",
    "attachments": "file_id", "api_keys": "key_id", "handoffs": "task_order", "deep_states": "state",
    "audit_heads": "tenant_id", "sign_ins": "sign_in_id", "connectors": "name", "connector_documents": "source_id",
    "desk_items": "item_id", "desk_tellings": "task_id", "accounts": "user_id", "invitations": "user_id",
    "sign_in_tries": "user_id",
}  # fmt: skip
"""An expression that tells the rows of a table apart."""


def principals(rng: random.Random, tenants: Sequence[str], count: int) -> list[Principal]:
    """Callers with random departments, scopes and roles; every tenant has an administrator with public scope only."""
    made = [principal(tenant, "admin", "general", ("public",), ("admin",)) for tenant in tenants]
    for number in range(count - len(made)):
        one = principal(
            rng.choice(tenants),
            f"user-{number}",
            rng.choice(DEPARTMENTS),
            tuple(scope for scope in SCOPES if rng.random() < 0.6),
            rng.choices(((), ("admin",), ("auditor",), ("owner",)), (70, 10, 10, 10))[0],
        )
        further = {name for name in DEPARTMENTS if rng.random() < 0.2}
        made.append(one.model_copy(update={"departments": one.departments | further}))
    return made


async def write_world(
    superuser: "asyncpg.Connection[asyncpg.Record]", callers: Sequence[Principal], documents_each: int
) -> World:
    """Knowledge of every department and scope for every tenant of `callers`, and personal rows for every caller."""
    world = World()
    for tenant_id in dict.fromkeys(caller.tenant_id for caller in callers):
        await superuser.execute("insert into tenants (tenant_id, name) values ($1, $2)", tenant_id, str(tenant_id))
        for number, department, scope in product(range(documents_each), DEPARTMENTS, SCOPES):
            await _write_document(superuser, world, tenant_id, number, department, scope)
        await _write_findings(superuser, world, tenant_id)
    for caller in callers:
        await _write_personal(superuser, world, caller)
    return world


async def _write_document(
    superuser: "asyncpg.Connection[asyncpg.Record]", world: World, tenant_id: UUID, number: int, department: str,
    scope: Scope,
) -> None:  # fmt: skip
    document_id, chunk_id = uuid4(), uuid4()
    line = f"{department} {scope} {number} {tenant_id}"
    await superuser.execute(
        "insert into documents (tenant_id, document_id, external_id, title, url, department, scope, created_at,"
        " current_version) values ($1, $2, $3, $3, '', $4, $5, $6, 1)",
        tenant_id, document_id, line, department, scope, NOW,
    )  # fmt: skip
    for version in range(1, number + 2):
        await _write_version(superuser, world, KnowledgeRow(str(document_id), tenant_id, department, scope), version)
    await superuser.execute(
        "insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded, department,"
        " scope, is_current) values ($1, $2, $3, 1, 0, $4, to_tsvector('simple', $4), '', $5, $6, true)",
        tenant_id, chunk_id, document_id, line, department, scope,
    )  # fmt: skip
    await superuser.execute(
        "insert into chunk_vectors (tenant_id, chunk_id, document_id, department, scope, is_current, embedding_model,"
        " embedding) values ($1, $2, $3, $4, $5, true, 'm', '[1,0,0]')",
        tenant_id, chunk_id, document_id, department, scope,
    )  # fmt: skip
    await superuser.execute(
        "insert into system_logs (tenant_id, logged_at, level, source, department, scope, message)"
        " values ($1, $2, 'INFO', 's', $3, $4, $5)",
        tenant_id, NOW, department, scope, line,
    )  # fmt: skip
    for table, key in (
        ("documents", document_id), ("chunks", chunk_id), ("chunk_vectors", chunk_id), ("system_logs", line),
    ):  # fmt: skip
        world.know(table, KnowledgeRow(str(key), tenant_id, department, scope))


async def _write_version(
    superuser: "asyncpg.Connection[asyncpg.Record]", world: World, document: KnowledgeRow, version: int
) -> None:
    """A version with its original; all but the first are still on their way."""
    await superuser.execute(
        "insert into document_versions (tenant_id, document_id, version, content_hash, text, department, scope,"
        " created_by, published_at) values ($1, $2::text::uuid, $3::integer, '', $4, $4, $5, $1,"
        " case when $3 = 1 then now() end)",
        document.tenant_id, document.key, version, document.department, document.scope,
    )  # fmt: skip
    await superuser.execute(
        "insert into document_originals (tenant_id, document_id, version, content, sha256)"
        " values ($1, $2::text::uuid, $3, 'bytes', '')",
        document.tenant_id, document.key, version,
    )  # fmt: skip
    row = replace(document, key=f"{document.key} {version}", is_on_its_way=version > 1)
    world.know("document_versions", row)
    world.know("document_originals", row)


async def _write_findings(superuser: "asyncpg.Connection[asyncpg.Record]", world: World, tenant_id: UUID) -> None:
    """Every chunk contradicts the next one, and every document was compared."""
    documents, chunks = (
        [row for row in world.knowledge[table] if row.tenant_id == tenant_id] for table in ("documents", "chunks")
    )
    for (document, other), (chunk, against) in zip(pairwise(documents), pairwise(chunks), strict=True):
        await superuser.execute(
            "insert into document_findings (tenant_id, finding_id, kind, document_id, chunk_id, other_document_id,"
            " other_chunk_id, sentence, other_sentence, similarity, score) values ($1, gen_random_uuid(), 'duplicate',"
            " $2::text::uuid, $3::text::uuid, $4::text::uuid, $5::text::uuid, '', '', 1, 1)",
            tenant_id, document.key, chunk.key, other.key, against.key,
        )  # fmt: skip
        world.findings.append((chunk, against))
    for document in documents:
        await superuser.execute(
            "insert into document_examinations (tenant_id, document_id, version, scopes, departments)"
            " values ($1, $2::text::uuid, 1, '{}', '{}')",
            tenant_id, document.key,
        )  # fmt: skip
    for departments in ({one} for one in DEPARTMENTS):
        key = await superuser.fetchval(
            "insert into desk_items (tenant_id, item_id, kind, departments)"
            " values ($1, gen_random_uuid(), 'unused', $2) returning item_id",
            tenant_id, list(departments),
        )  # fmt: skip
        world.desk.append((str(key), tenant_id, frozenset(departments)))


async def _write_personal(superuser: "asyncpg.Connection[asyncpg.Record]", world: World, who: Principal) -> None:
    session_id, task_id, text = uuid4(), uuid4(), f"row of {who.name} in {who.tenant_id}"
    whose = (who.tenant_id, who.user_id)
    statements: tuple[tuple[str, str, object, tuple[object, ...]], ...] = (
        ("sessions", "session_id, user_input) values ($1, $2, $3, '')", session_id, (session_id,)),
        (
            "tasks",
            "task_id, root_task_id, session_id, kind, title) values ($1, $2, $3, $3, $4, 'chat', '')",
            task_id,
            (task_id, session_id),
        ),
        (
            "events",
            "root_task_id, seq, attempt, type, event) values ($1, $2, $3, 1, 1, 'heartbeat', '{}')",
            task_id,
            (task_id,),
        ),
        ("handoffs", "task_id, task_order) values ($1, $2, $3, $4)", text, (task_id, text)),
        ("deep_states", "task_id, attempt, state) values ($1, $2, $3, 1, $4)", text, (task_id, text)),
        (
            "agent_contexts",
            "session_id, agent_id, context_data) values ($1, $2, $3, 'hr', jsonb_build_object('key', $4::text))",
            text,
            (session_id, text),
        ),
        (
            "semantic_vectors",
            "session_id, content, embedding_model, embedding) values ($1, $2, $3, $4, 'm', '[1]')",
            text,
            (session_id, text),
        ),
        (
            "attachments",
            "file_id, name, kind, byte_count, sha256, content, expires_at) values"
            " ($1, $2, $3, 'a.csv', 'csv', 1, '', '{}', now() + interval '1 day')",
            session_id,
            (session_id,),
        ),
        ("conflicts", "root_task_id, topic) values ($1, $2, $3, $4)", text, (task_id, text)),
        (
            "desk_tellings",
            "task_id, finding_id) select $1, $2, $3, finding_id from document_findings where tenant_id = $1 limit 1",
            task_id,
            (task_id,),
        ),
        ("feedback", "task_id, rating, correction) values ($1, $2, $3, 1, $4)", text, (task_id, text)),
        ("idempotency_keys", "task_id, key, request_hash) values ($1, $2, $3, $4, '')", text, (task_id, text)),
        ("audit", "action, target) values ($1, $2, 'look', $3)", text, (text,)),
        (
            "model_calls",
            "call_id, run_id, purpose, model, reserved_tokens) values ($1, $2, $3, $3, '', '', 1)",
            task_id,
            (task_id,),
        ),
        (
            "users",
            "name, department, departments, scopes) values ($1, $2, $3, 'hr', '{hr}', '{public}')",
            who.user_id,
            (who.name,),
        ),
        (
            "api_keys",
            "key_id, name, prefix, hash, scopes, departments, roles, expires_at, created_by) values"
            " ($1, $2, $3, '', 'cvk_', sha256($4::text::bytea), '{public}', '{hr}', '{}', now() + '1 day', $2)",
            task_id,
            (task_id, text),
        ),
        (
            "sign_ins",
            "sign_in_id, hash, provider, scopes, departments, roles, expires_at) values"
            " ($1, $2, $3, sha256($4::text::bytea), 'company', '{public}', '{hr}', '{}', now() + interval '1 hour')",
            task_id,
            (task_id, text),
        ),
    )
    statements += (
        ("accounts", "password) values ($1, $2, '$argon2id$' || $3::text)", who.user_id, (text,)),
        (
            "invitations",
            "hash, created_by, expires_at) values ($1, $2, sha256($3::text::bytea), $2, now() + interval '1 day')",
            who.user_id,
            (text,),
        ),
        ("sign_in_tries", "tries, last_at) values ($1, $2, 1, now())", who.user_id, ()),
    )
    for table, rest, key, values in statements:
        await superuser.execute(f"insert into {table} (tenant_id, user_id, {rest}", *whose, *values)
        world.own(table, key, who)
    await superuser.execute(
        "insert into embedding_cache (tenant_id, embedding_model, content_hash, embedding) values ($1, 'm', $2, '[1]')",
        who.tenant_id,
        text,
    )
    world.own("embedding_cache", text, who)
    await superuser.execute(
        "insert into connectors (tenant_id, connector_id, name, kind, definition, every_minutes, created_by)"
        " values ($1, $3, $3::uuid::text, '', '{}', 1, $2)",
        *whose, task_id,
    )  # fmt: skip
    await superuser.execute(
        "insert into connector_documents (tenant_id, connector_id, source_id, tag) values ($1, $2, $3, '')",
        who.tenant_id, task_id, text,
    )  # fmt: skip
    world.own("connectors", task_id, who)
    world.own("connector_documents", text, who)
    await superuser.execute(
        "insert into model_usage (tenant_id, subject, day, calls, tokens) values ($1, $2, now()::date, 1, 1)", *whose
    )
    world.own("model_usage", who.user_id, who)
