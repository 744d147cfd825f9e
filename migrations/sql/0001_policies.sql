-- Who asks stands in settings of the transaction. Unset (a fresh connection: NULL) or empty (a reused one: '') gives
-- NULL here, and NULL never equals anything: nobody sees nothing. Plain SQL functions, so the planner inlines them.
create function app_tenant() returns uuid language sql stable parallel safe
    return nullif(current_setting('app.tenant_id', true), '')::uuid;
create function app_user() returns uuid language sql stable parallel safe
    return nullif(current_setting('app.user_id', true), '')::uuid;
create function app_scopes() returns text[] language sql stable parallel safe
    return nullif(current_setting('app.scopes', true), '')::text[];
create function app_departments() returns text[] language sql stable parallel safe
    return nullif(current_setting('app.departments', true), '')::text[];
create function app_is_admin() returns boolean language sql stable parallel safe
    return 'admin' = any (nullif(current_setting('app.roles', true), '')::text[]);

-- The permission rule inside one tenant: public everyone, internal whoever holds it, private whoever holds it and
-- belongs to the department; general belongs to everyone.
create function app_may_read(scope text, department text) returns boolean language sql stable parallel safe
    return scope = any (app_scopes())
        and (scope <> 'private' or department = 'general' or department = any (app_departments()));

do $$
declare
    one text;
begin
    foreach one in array array[
        'tenants', 'users', 'sessions', 'tasks', 'events', 'agent_contexts', 'semantic_vectors', 'documents',
        'document_versions', 'chunks', 'chunk_vectors', 'embedding_cache', 'conflicts', 'feedback', 'system_logs',
        'audit', 'idempotency_keys'
    ] loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('revoke all on %I from public', one);
    end loop;

    -- A person's own rows: only that person reads and writes them.
    foreach one in array array[
        'sessions', 'tasks', 'events', 'agent_contexts', 'semantic_vectors', 'conflicts', 'feedback', 'idempotency_keys'
    ] loop
        execute format(
            'create policy own on %I to conclave_app
                using (tenant_id = app_tenant() and user_id = app_user())
                with check (tenant_id = app_tenant() and user_id = app_user())', one);
        execute format('grant select, insert, update, delete on %I to conclave_app', one);
    end loop;

    -- Knowledge: read by the permission rule, written by administrators of the tenant.
    foreach one in array array['document_versions', 'chunks', 'chunk_vectors', 'system_logs'] loop
        execute format(
            'create policy readers on %I for select to conclave_app
                using (tenant_id = app_tenant() and app_may_read(scope, department))', one);
    end loop;
    execute 'create policy readers on documents for select to conclave_app
        using (tenant_id = app_tenant() and (app_may_read(scope, department) or app_is_admin()))';
    execute 'create policy readers on embedding_cache for select to conclave_app
        using (tenant_id = app_tenant() and app_is_admin())';
    execute 'create policy readers on users for select to conclave_app using (tenant_id = app_tenant())';
    foreach one in array array[
        'documents', 'document_versions', 'chunks', 'chunk_vectors', 'system_logs', 'embedding_cache', 'users'
    ] loop
        execute format(
            'create policy admins_add on %I for insert to conclave_app
                with check (tenant_id = app_tenant() and app_is_admin())', one);
        execute format(
            'create policy admins_change on %I for update to conclave_app
                using (tenant_id = app_tenant() and app_is_admin())
                with check (tenant_id = app_tenant() and app_is_admin())', one);
        execute format(
            'create policy admins_remove on %I for delete to conclave_app
                using (tenant_id = app_tenant() and app_is_admin())', one);
        execute format('grant select, insert, update, delete on %I to conclave_app', one);
    end loop;

    -- `publish_document` and `count_corpus_change` run as the owner and reach the rows of one tenant only.
    foreach one in array array['document_versions', 'chunks', 'chunk_vectors', 'tenants'] loop
        execute format(
            'create policy publishing on %I to current_user
                using (tenant_id = app_tenant()) with check (tenant_id = app_tenant())', one);
    end loop;

    -- The operator removes what is too old; it sees whose row it is and from when, never what it says.
    foreach one in array array[
        'sessions', 'tasks', 'events', 'conflicts', 'feedback', 'idempotency_keys', 'system_logs', 'embedding_cache'
    ] loop
        execute format('create policy retention_sees on %I for select to conclave_maintenance using (true)', one);
        execute format('create policy retention_removes on %I for delete to conclave_maintenance using (true)', one);
        execute format('grant delete on %I to conclave_maintenance', one);
    end loop;
end $$;

create policy administrators_look on tasks for select to conclave_app
    using (tenant_id = app_tenant() and app_is_admin());

create policy own_tenant on tenants for select to conclave_app using (tenant_id = app_tenant());
grant select on tenants to conclave_app;

-- The audit is written and read, never changed.
create policy administrators_look on audit for select to conclave_app
    using (tenant_id = app_tenant() and app_is_admin());
create policy everyone_adds on audit for insert to conclave_app
    with check (tenant_id = app_tenant() and user_id = app_user());
grant select, insert on audit to conclave_app;

-- The operator makes tenants and their users.
create policy operator on tenants to conclave_maintenance using (true) with check (true);
create policy operator on users to conclave_maintenance using (true) with check (true);
grant select, insert, update, delete on tenants, users to conclave_maintenance;
grant select (tenant_id, user_id, session_id, status, created_at, updated_at) on sessions to conclave_maintenance;
grant select (tenant_id, user_id, task_id, root_task_id, session_id, status, kind, created_at, completed_at)
    on tasks to conclave_maintenance;
grant select (tenant_id, user_id, root_task_id, seq, created_at) on events to conclave_maintenance;
grant select (tenant_id, user_id, root_task_id, created_at) on conflicts to conclave_maintenance;
grant select (tenant_id, user_id, task_id, created_at) on feedback to conclave_maintenance;
grant select (tenant_id, user_id, task_id, created_at) on idempotency_keys to conclave_maintenance;
grant select (tenant_id, log_id, logged_at) on system_logs to conclave_maintenance;
grant select (tenant_id, embedding_model, created_at) on embedding_cache to conclave_maintenance;

-- The job queue holds ids only ({tenant_id, user_id, task_id}); every process of the service works on it.
grant select, insert, update, delete on pgqueuer, pgqueuer_log, pgqueuer_statistics, pgqueuer_schedules to conclave_app;
grant usage, select on all sequences in schema public to conclave_app;
grant select on alembic_version to conclave_app, conclave_maintenance;
