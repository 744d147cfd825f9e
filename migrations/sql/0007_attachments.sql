-- Files attached to questions, as they were read at upload: the bytes themselves are not kept. A person's own; nobody
-- else sees them, administrators neither. They live until `expires_at`; what is later is not there for anybody.
create table attachments (
    tenant_id uuid not null,
    user_id uuid not null,
    file_id uuid not null,
    name text not null,
    kind text not null,
    byte_count bigint not null check (byte_count >= 0),
    -- Of the bytes: the same file again is the same row.
    sha256 text not null,
    pages integer check (pages >= 0),
    tables integer not null default 0 check (tables >= 0),
    warnings jsonb not null default '[]',
    -- JSON text of what the file says; read as a whole or not at all.
    content text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    primary key (tenant_id, user_id, file_id)
);
create index attachments_of_user on attachments (tenant_id, user_id, expires_at);

alter table attachments enable row level security;
alter table attachments force row level security;
revoke all on attachments from public;
create policy own on attachments to conclave_app
    using (tenant_id = app_tenant() and user_id = app_user())
    with check (tenant_id = app_tenant() and user_id = app_user());
grant select, insert, update, delete on attachments to conclave_app;
create policy retention_sees on attachments for select to conclave_maintenance using (true);
create policy retention_removes on attachments for delete to conclave_maintenance using (true);
grant delete, select (tenant_id, user_id, file_id, created_at, expires_at) on attachments to conclave_maintenance;

-- Whoever is erased takes along what was attached. Not every caller has a row in `users` (tokens of an own provider), so
-- this is no foreign key.
create function forget_attachments_of_user() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    delete from attachments where tenant_id = old.tenant_id and user_id = old.user_id;
    return old;
end $$;
revoke all on function forget_attachments_of_user() from public;
create policy erasing on attachments for delete to current_user using (true);
create policy erasing_sees on attachments for select to current_user using (true);
create trigger attachments_go_with_their_user after delete on users
    for each row execute function forget_attachments_of_user();

-- Remove what has expired; every process of the service may ask for it. Gives how many files went.
create function sweep_attachments() returns integer language plpgsql security definer
    set search_path = public, pg_temp as $$
declare
    swept integer;
begin
    delete from attachments where expires_at <= now();
    get diagnostics swept = row_count;
    return swept;
end $$;
revoke all on function sweep_attachments() from public;
grant execute on function sweep_attachments() to conclave_app, conclave_maintenance;
