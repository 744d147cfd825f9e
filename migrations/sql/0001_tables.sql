-- Every table carries tenant_id, and every key and reference carries it too: a row can only point at its own tenant.

create table tenants (
    tenant_id uuid primary key,
    name text not null unique,
    display_name text not null default '',
    language text not null default 'vi',
    -- Grows with every change of a document, in the same commit: what was found before is out of date then.
    corpus_version bigint not null default 0,
    created_at timestamptz not null default now()
);

create table users (
    tenant_id uuid not null references tenants on delete cascade,
    user_id uuid not null,
    name text not null,
    display_name text not null default '',
    department text not null,
    departments text[] not null,
    scopes text[] not null check (scopes <@ array['public', 'internal', 'private']),
    roles text[] not null default '{}',
    created_at timestamptz not null default now(),
    primary key (tenant_id, user_id),
    unique (tenant_id, name),
    check (department = any (departments))
);

create table sessions (
    tenant_id uuid not null,
    user_id uuid not null,
    session_id uuid not null,
    title text not null default '',
    user_input text not null,
    final_output text,
    summary text,
    status varchar(20) not null default 'running',
    active_agent text,
    metadata jsonb not null default '{}',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    completed_at timestamptz,
    primary key (tenant_id, user_id, session_id)
) with (fillfactor = 80);
create index sessions_by_use on sessions (tenant_id, user_id, updated_at desc, session_id);

create table tasks (
    tenant_id uuid not null,
    task_id uuid not null,
    user_id uuid not null,
    session_id uuid not null,
    parent_task_id uuid,
    root_task_id uuid not null,
    kind text not null,
    title varchar(500) not null,
    description text not null default '',
    status varchar(20) not null default 'pending'
        check (status in ('pending', 'in_progress', 'completed', 'failed', 'cancelled')),
    assignee_agent_id varchar(50),
    request jsonb not null default '{}',
    plan jsonb,
    result jsonb,
    flow_action jsonb,
    metadata jsonb not null default '{}',
    error_message text,
    attempt integer not null default 0 check (attempt >= 0),
    claimed_by text,
    lease_until timestamptz,
    token_limit integer,
    deadline timestamptz,
    principal jsonb,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    completed_at timestamptz,
    primary key (tenant_id, task_id, user_id),
    foreign key (tenant_id, user_id, session_id) references sessions on delete cascade,
    foreign key (tenant_id, parent_task_id, user_id) references tasks on delete cascade
) with (fillfactor = 70);
create index tasks_of_session on tasks (tenant_id, user_id, session_id, created_at);
create index tasks_of_parent on tasks (tenant_id, parent_task_id) where parent_task_id is not null;
create index tasks_of_root on tasks (tenant_id, root_task_id) where parent_task_id is not null;

create table events (
    tenant_id uuid not null,
    user_id uuid not null,
    root_task_id uuid not null,
    seq integer not null check (seq > 0),
    attempt integer not null,
    type text not null,
    event jsonb not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, user_id, root_task_id, seq),
    foreign key (tenant_id, root_task_id, user_id) references tasks on delete cascade
);

create table agent_contexts (
    tenant_id uuid not null,
    id bigint generated always as identity,
    user_id uuid not null,
    session_id uuid not null,
    agent_id varchar(50) not null,
    context_data jsonb not null default '{}',
    updated_at timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (tenant_id, user_id, session_id, agent_id),
    foreign key (tenant_id, user_id, session_id) references sessions on delete cascade
);

create table semantic_vectors (
    tenant_id uuid not null,
    id bigint generated always as identity,
    user_id uuid not null,
    session_id uuid not null,
    agent_id varchar(50),
    content text not null,
    embedding_model text not null,
    embedding vector not null,
    metadata jsonb not null default '{}',
    created_at timestamptz not null default now(),
    primary key (tenant_id, id),
    foreign key (tenant_id, user_id, session_id) references sessions on delete cascade
);
create index semantic_vectors_of_session on semantic_vectors (tenant_id, user_id, session_id);

create table conflicts (
    tenant_id uuid not null,
    conflict_id bigint generated always as identity,
    user_id uuid not null,
    root_task_id uuid not null,
    topic text not null,
    details jsonb not null default '{}',
    created_at timestamptz not null default now(),
    primary key (tenant_id, conflict_id),
    foreign key (tenant_id, root_task_id, user_id) references tasks on delete cascade
);
create index conflicts_of_task on conflicts (tenant_id, root_task_id);

create table feedback (
    tenant_id uuid not null,
    user_id uuid not null,
    task_id uuid not null,
    rating smallint not null check (rating between -1 and 1),
    correction text not null default '',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (tenant_id, user_id, task_id),
    foreign key (tenant_id, task_id, user_id) references tasks on delete cascade
);

create table idempotency_keys (
    tenant_id uuid not null,
    user_id uuid not null,
    key text not null,
    request_hash text not null,
    task_id uuid not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, user_id, key),
    -- The key is taken before its task is written, both in one transaction.
    foreign key (tenant_id, task_id, user_id) references tasks on delete cascade deferrable initially deferred
);
create index idempotency_keys_of_task on idempotency_keys (tenant_id, task_id);

create table documents (
    tenant_id uuid not null,
    document_id uuid not null,
    external_id text not null,
    title text not null,
    url text not null,
    department text not null,
    scope text not null check (scope in ('public', 'internal', 'private')),
    lang text not null default '',
    authority text not null default 'policy',
    created_at timestamptz not null,
    effective_from date,
    effective_to date,
    supersedes text,
    status text not null default 'received'
        check (status in ('received', 'parsing', 'chunking', 'embedding', 'ready', 'partial', 'failed')),
    status_detail text not null default '',
    current_version integer not null default 0,
    is_current boolean not null default true,
    updated_at timestamptz not null default now(),
    primary key (tenant_id, document_id),
    unique (tenant_id, external_id)
);

create table document_versions (
    tenant_id uuid not null,
    document_id uuid not null,
    version integer not null check (version > 0),
    content_hash text not null,
    text text not null,
    department text not null,
    scope text not null,
    created_by uuid not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, document_id, version),
    foreign key (tenant_id, document_id) references documents on delete cascade
);

create table chunks (
    tenant_id uuid not null,
    chunk_id uuid not null,
    document_id uuid not null,
    version integer not null,
    position integer not null check (position >= 0),
    section text not null default '',
    text text not null,
    tsv tsvector not null,
    tsv_folded tsvector not null,
    department text not null,
    scope text not null,
    effective_from date,
    effective_to date,
    is_current boolean not null default false,
    primary key (tenant_id, chunk_id),
    unique (tenant_id, document_id, version, position),
    foreign key (tenant_id, document_id, version) references document_versions on delete cascade
);
create index chunks_tsv on chunks using gin (tsv);
create index chunks_tsv_folded on chunks using gin (tsv_folded);
create index chunks_of_department on chunks (tenant_id, department, scope);

-- Narrow, and the vector stays in the row: an exact scan of a tenant reads nothing else.
create table chunk_vectors (
    tenant_id uuid not null,
    chunk_id uuid not null,
    document_id uuid not null,
    department text not null,
    scope text not null,
    is_current boolean not null default false,
    effective_from date,
    effective_to date,
    embedding_model text not null,
    embedding vector not null,
    primary key (tenant_id, chunk_id, embedding_model),
    foreign key (tenant_id, chunk_id) references chunks on delete cascade
);
alter table chunk_vectors alter column embedding set storage main;
create index chunk_vectors_of_department on chunk_vectors (tenant_id, embedding_model, department, scope);
create index chunk_vectors_of_document on chunk_vectors (tenant_id, document_id);

create table embedding_cache (
    tenant_id uuid not null,
    embedding_model text not null,
    content_hash text not null,
    embedding vector not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, embedding_model, content_hash)
);
alter table embedding_cache alter column embedding set storage main;

create table system_logs (
    tenant_id uuid not null,
    log_id bigint generated always as identity,
    logged_at timestamptz not null,
    level text not null,
    source text not null,
    department text not null,
    scope text not null check (scope in ('public', 'internal', 'private')),
    message text not null,
    attributes jsonb not null default '{}',
    primary key (tenant_id, log_id)
);
create index system_logs_by_time on system_logs (tenant_id, logged_at desc);

create table audit (
    tenant_id uuid not null,
    audit_id bigint generated always as identity,
    user_id uuid not null,
    action text not null,
    target text not null default '',
    details jsonb not null default '{}',
    created_at timestamptz not null default now(),
    primary key (tenant_id, audit_id)
);
create index audit_by_time on audit (tenant_id, created_at desc);

-- The state machine: pending → in_progress → completed | failed | cancelled; only a pending task may be cancelled
-- without having been started. An attempt number never goes back.
create function guard_task_state() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.status <> 'pending' or new.attempt <> 0 then
            raise exception 'a task begins pending' using errcode = 'check_violation';
        end if;
    elsif new.attempt < old.attempt or not (
        (old.status = 'pending' and new.status in ('in_progress', 'cancelled'))
        or (old.status = 'in_progress' and new.status in ('in_progress', 'completed', 'failed', 'cancelled'))
    ) then
        raise exception 'a task cannot go from % to %', old.status, new.status using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger tasks_begin_pending before insert on tasks for each row execute function guard_task_state();
create trigger tasks_keep_their_order before update of status, attempt on tasks
    for each row when (old.status is distinct from new.status or old.attempt is distinct from new.attempt)
    execute function guard_task_state();

-- Who may read a chunk is written on the chunk, and changes in the same commit as its document. An administrator need
-- not be able to read the text for that, so this runs as the owner, whose policies know the tenant only.
create function publish_document() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    if new.current_version <> old.current_version then
        delete from chunks c
        where c.tenant_id = new.tenant_id and c.document_id = new.document_id and c.version <> new.current_version;
    end if;
    update document_versions v set department = new.department, scope = new.scope
    where v.tenant_id = new.tenant_id and v.document_id = new.document_id
        and (v.department, v.scope) is distinct from (new.department, new.scope);
    update chunks c set department = new.department, scope = new.scope, effective_from = new.effective_from,
        effective_to = new.effective_to, is_current = new.is_current
    where c.tenant_id = new.tenant_id and c.document_id = new.document_id
        and (c.department, c.scope, c.effective_from, c.effective_to, c.is_current)
            is distinct from (new.department, new.scope, new.effective_from, new.effective_to, new.is_current);
    update chunk_vectors c set department = new.department, scope = new.scope, effective_from = new.effective_from,
        effective_to = new.effective_to, is_current = new.is_current
    where c.tenant_id = new.tenant_id and c.document_id = new.document_id
        and (c.department, c.scope, c.effective_from, c.effective_to, c.is_current)
            is distinct from (new.department, new.scope, new.effective_from, new.effective_to, new.is_current);
    return null;
end $$;
create trigger documents_publish after update on documents
    for each row when (
        (old.department, old.scope, old.effective_from, old.effective_to, old.current_version, old.is_current)
        is distinct from
        (new.department, new.scope, new.effective_from, new.effective_to, new.current_version, new.is_current))
    execute function publish_document();

create function count_corpus_change() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    update tenants set corpus_version = corpus_version + 1 where tenant_id = coalesce(new.tenant_id, old.tenant_id);
    return null;
end $$;
create trigger documents_change_the_corpus after insert or update or delete on documents
    for each row execute function count_corpus_change();
