"""Writing a synthetic corpus into the service's tables, past row policies and triggers, as the superuser."""

import asyncpg

from app.domain.principal import SCOPES, tenant_id_of
from app.retrieval.text import index_text
from bench.size.corpus import DEPARTMENTS, MODEL, TENANTS, Corpus

_BATCH = 5_000
_STAGE = """
create unlogged table staged (
    tenant_id uuid, chunk_id uuid, document_id uuid, position integer, text text, words text, department text,
    scope text, embedding vector
)
"""
_WORD_INDEXES = """
select format('drop index %s', indexrelid::regclass) as drop, pg_get_indexdef(indexrelid) as create
from pg_index join pg_class i on i.oid = indexrelid join pg_am on pg_am.oid = i.relam
where indrelid = 'chunks'::regclass and amname = 'gin'
"""
_FILL = f"""
insert into tenants (tenant_id, name, corpus_version, embedding_space)
select distinct tenant_id, tenant_id::text, 1, '{MODEL}' from staged;
insert into documents (tenant_id, document_id, external_id, title, url, department, scope, lang, created_at,
    current_version, latest_version, status)
select distinct on (s.tenant_id, s.document_id) s.tenant_id, s.document_id, s.document_id::text as external_id,
    'A document', 'https://bench.example/' || s.document_id, s.department, s.scope, 'en', now(), 1, 1, 'ready'
from staged s;
insert into document_versions (tenant_id, document_id, version, content_hash, text, department, scope, created_by)
select tenant_id, document_id, 1, '', '', department, scope, tenant_id from documents;
insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded, department, scope,
    is_current)
select tenant_id, chunk_id, document_id, 1, position, text, words::tsvector, words::tsvector, department, scope, true
from staged;
insert into chunk_vectors (tenant_id, chunk_id, document_id, department, scope, is_current, embedding_model, embedding)
select tenant_id, chunk_id, document_id, department, scope, true, '{MODEL}', embedding from staged;
drop table staged;
"""


async def load(corpus: Corpus, superuser: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Write the corpus in the order it arrived; the connection must know vectors. Word indexes are built afterwards."""
    await superuser.execute("set session_replication_role = replica; set maintenance_work_mem = '512MB'")
    await superuser.execute(_STAGE)
    for start in range(0, corpus.size, _BATCH):
        rows = range(start, min(start + _BATCH, corpus.size))
        await superuser.copy_records_to_table("staged", records=[_record(corpus, row) for row in rows])
    indexes = await superuser.fetch(_WORD_INDEXES)
    for index in indexes:
        await superuser.execute(index["drop"])
    await superuser.execute(_FILL)
    for index in indexes:
        await superuser.execute(index["create"])
    await superuser.execute("reset session_replication_role; reset maintenance_work_mem")
    await superuser.execute("vacuum analyze")


_TENANTS = [tenant_id_of(f"size-{number}") for number in range(TENANTS)]


def _record(corpus: Corpus, row: int) -> tuple[object, ...]:
    text = corpus.text_of(row)
    return (
        _TENANTS[corpus.tenant[row]], corpus.chunk_ids[row], corpus.document_id(row), row, text, index_text(text),
        DEPARTMENTS[corpus.department[row]], SCOPES[corpus.scope[row]], corpus.vectors[row],
    )  # fmt: skip
