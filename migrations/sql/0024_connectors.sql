-- Other systems that documents come from, and what was brought in of each. Administrators of the tenant read and write both.
-- A secret never stands here: a connector names it, and a file of the operator says what the name means for this tenant.
create table connectors (
    tenant_id uuid not null,
    connector_id uuid not null,
    name text not null check (name ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
    kind text not null,
    definition jsonb not null,
    every_minutes integer not null check (every_minutes between 1 and 10080),
    -- What the source said of itself when everything in it was last brought in; empty = it is listed anew.
    cursor text not null default '',
    due_at timestamptz not null default now(),
    -- Whoever synchronises holds the row by this; a write without it changes nothing.
    lease uuid,
    leased_until timestamptz not null default now(),
    may_withdraw_all boolean not null default false,
    started_at timestamptz,
    finished_at timestamptz,
    succeeded_at timestamptz,
    last_error text not null default '',
    report jsonb not null default '{}',
    created_by uuid not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, connector_id),
    unique (tenant_id, name)
);
create index connectors_by_turn on connectors (due_at);

-- One thing of a source each: a document, or why it is none.
create table connector_documents (
    tenant_id uuid not null,
    connector_id uuid not null,
    source_id text not null,
    -- What the source says of its state, and the SHA-256 of the bytes that came.
    tag text not null,
    content_hash text not null default '',
    document_id uuid,
    fault text not null default '',
    primary key (tenant_id, connector_id, source_id),
    foreign key (tenant_id, connector_id) references connectors on delete cascade,
    foreign key (tenant_id, document_id) references documents on delete cascade
);
create index connector_documents_of_document on connector_documents (tenant_id, document_id);

alter table connectors enable row level security;
alter table connectors force row level security;
alter table connector_documents enable row level security;
alter table connector_documents force row level security;
revoke all on connectors, connector_documents from public;
select let_leave('connectors'), let_leave('connector_documents');
create policy administered on connectors to conclave_app
    using (tenant_id = app_tenant() and app_is_admin()) with check (tenant_id = app_tenant() and app_is_admin());
create policy administered on connector_documents to conclave_app
    using (tenant_id = app_tenant() and app_is_admin()) with check (tenant_id = app_tenant() and app_is_admin());
grant select, insert, update, delete on connectors, connector_documents to conclave_app;

-- Whose turn it is nobody knows before: this gives ids alone, runs as the owner, and outside of it, on a connection of its
-- own, the owner sees no row.
create policy taking_turns on connectors to current_user
    using (session_user <> current_user) with check (session_user <> current_user);
create function take_connector(seconds double precision) returns table (tenant_id uuid, connector_id uuid, lease uuid)
    language sql security definer set search_path = public, pg_temp as $$
    update connectors c set lease = gen_random_uuid(), leased_until = now() + make_interval(secs => seconds),
        started_at = now()
    from (
        select d.tenant_id, d.connector_id from connectors d where d.due_at <= now() and d.leased_until <= now()
        order by d.due_at limit 1 for update skip locked
    ) due
    where c.tenant_id = due.tenant_id and c.connector_id = due.connector_id
    returning c.tenant_id, c.connector_id, c.lease
$$;
revoke all on function take_connector(double precision) from public;
grant execute on function take_connector(double precision) to conclave_app;
