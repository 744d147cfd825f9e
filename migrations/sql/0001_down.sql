drop table if exists
    audit, system_logs, embedding_cache, chunk_vectors, chunks, document_versions, documents, idempotency_keys, feedback,
    conflicts, semantic_vectors, agent_contexts, events, tasks, sessions, users, tenants cascade;
drop function if exists publish_document(), count_corpus_change(), guard_task_state(), app_may_read(text, text), app_is_admin(),
    app_departments(), app_scopes(), app_user(), app_tenant();
