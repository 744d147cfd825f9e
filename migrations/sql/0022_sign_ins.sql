-- People who signed in at their company's provider. Of the cookie only the SHA-256 is kept, and the app's role cannot read
-- even that: whose a cookie is `use_sign_in` alone tells, by the hash of the whole of it.
create table sign_ins (
    tenant_id uuid not null,
    sign_in_id uuid not null,
    user_id uuid not null,
    hash bytea not null check (octet_length(hash) = 32),
    provider text not null,
    -- What the provider's claims gave at that time; never more than the user has at the time of use.
    scopes text[] not null check (scopes <@ array['public', 'internal', 'private']),
    departments text[] not null,
    roles text[] not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null check (expires_at <= created_at + interval '8 hours'),
    primary key (tenant_id, sign_in_id),
    foreign key (tenant_id, user_id) references users on delete cascade
);
create index sign_ins_by_hash on sign_ins (hash);
create index sign_ins_of_user on sign_ins (tenant_id, user_id);

alter table sign_ins enable row level security;
alter table sign_ins force row level security;
revoke all on sign_ins from public;
select let_leave('sign_ins');
create policy own on sign_ins to conclave_app
    using (tenant_id = app_tenant() and user_id = app_user())
    with check (tenant_id = app_tenant() and user_id = app_user());
grant insert, delete on sign_ins to conclave_app;
grant select (tenant_id, sign_in_id, user_id, provider, scopes, departments, roles, created_at, expires_at) on sign_ins
    to conclave_app;

-- Runs as the owner, because whose a cookie is nobody knows before; outside of it, on a connection of its own, the owner
-- sees none.
create policy looking_up on sign_ins for select to current_user using (session_user <> current_user);
create function use_sign_in(told bytea) returns table (tenant_id uuid, sign_in_id uuid, user_id uuid, provider text,
        scopes text[], departments text[], roles text[], expires_at timestamptz)
    language sql stable security definer set search_path = public, pg_temp as $$
    select s.tenant_id, s.sign_in_id, s.user_id, s.provider, s.scopes, s.departments, s.roles, s.expires_at
    from sign_ins s where s.hash = told and s.expires_at > now()
$$;
revoke all on function use_sign_in(bytea) from public;
grant execute on function use_sign_in(bytea) to conclave_app;

-- Which provider made a user: as long as nobody else changes what the user may do, every sign-in there sets it anew.
alter table users add column provider text;
create function provider_gives_way() returns trigger language plpgsql as $$
begin
    if (new.department, new.departments, new.scopes, new.roles)
            is distinct from (old.department, old.departments, old.scopes, old.roles)
        and current_setting('app.provider', true) is distinct from old.provider then
        new.provider := null;
    end if;
    return new;
end $$;
create trigger provider_gives_way before update on users
    for each row when (old.provider is not null) execute function provider_gives_way();
