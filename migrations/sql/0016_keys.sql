-- Keys of programs. Of a key only the SHA-256 is kept, and the app's role cannot read even that: whoever brings a key is
-- found by `use_key` alone, by the hash of the whole of it.
create table api_keys (
    tenant_id uuid not null,
    key_id uuid not null,
    user_id uuid not null,
    name text not null,
    -- The public part, to tell keys apart by.
    prefix text not null,
    hash bytea not null check (octet_length(hash) = 32),
    -- The secret before the last rotation, as long as that may still be used.
    old_hash bytea check (octet_length(old_hash) = 32),
    old_until timestamptz,
    -- What it gives at most; never more than the user has at the time.
    scopes text[] not null check (scopes <@ array['public', 'internal', 'private']),
    departments text[] not null,
    roles text[] not null,
    expires_at timestamptz not null,
    last_used_at timestamptz,
    created_by uuid not null,
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    revoked_by uuid,
    primary key (tenant_id, key_id),
    foreign key (tenant_id, user_id) references users on delete cascade,
    check ((old_hash is null) = (old_until is null))
);
create index api_keys_by_hash on api_keys (hash);
create index api_keys_by_old_hash on api_keys (old_hash) where old_hash is not null;
create index api_keys_by_time on api_keys (tenant_id, created_at, key_id);

alter table api_keys enable row level security;
alter table api_keys force row level security;
revoke all on api_keys from public;

-- People see their own keys, administrators those of the tenant. A key for somebody else is one for a service user, and
-- what is done to a person's key by others is revoking it: nobody gets a secret that speaks as another person.
create function is_service_user(whose uuid) returns boolean language sql stable return
    exists (select from users u where u.tenant_id = app_tenant() and u.user_id = whose and 'service' = any (u.roles));
create policy own_or_administered on api_keys for select to conclave_app
    using (tenant_id = app_tenant() and (user_id = app_user() or app_is_admin()));
create policy own_or_service_add on api_keys for insert to conclave_app
    with check (tenant_id = app_tenant() and created_by = app_user()
        and (user_id = app_user() or (app_is_admin() and is_service_user(user_id))));
create policy own_or_service_change on api_keys for update to conclave_app
    using (tenant_id = app_tenant() and (user_id = app_user() or app_is_admin()))
    with check (tenant_id = app_tenant() and (user_id = app_user()
        or (app_is_admin() and (revoked_at is not null or is_service_user(user_id)))));
grant insert on api_keys to conclave_app;
grant select (tenant_id, key_id, user_id, name, prefix, old_until, scopes, departments, roles, expires_at, last_used_at,
    created_by, created_at, revoked_at, revoked_by) on api_keys to conclave_app;
grant update (prefix, hash, old_until, revoked_at, revoked_by) on api_keys to conclave_app;

-- Who changes a secret says until when the one before is taken, and need not read it for that.
create function keep_old_secret() returns trigger language plpgsql as $$
begin
    new.old_hash := case when new.old_until is not null then old.hash end;
    return new;
end $$;
create trigger api_keys_keep_old_secret before update of hash on api_keys
    for each row execute function keep_old_secret();

-- The key with this hash, if it may be used now, and until when; notes the use, at most once a minute. Runs as the owner,
-- because whose it is nobody knows before; outside of it, on a connection of its own, the owner sees no key.
create policy looking_up on api_keys to current_user
    using (session_user <> current_user) with check (session_user <> current_user);
create function use_key(told bytea) returns table (tenant_id uuid, key_id uuid, user_id uuid, scopes text[],
        departments text[], roles text[], expires_at timestamptz)
    language sql security definer set search_path = public, pg_temp as $$
    with found as materialized (
        select k.tenant_id, k.key_id, k.user_id, k.scopes, k.departments, k.roles,
            case when k.hash = told then k.expires_at else least(k.expires_at, k.old_until) end as expires_at
        from api_keys k where (k.hash = told or (k.old_hash = told and k.old_until > now()))
            and k.revoked_at is null and k.expires_at > now()
    ), used as (
        update api_keys k set last_used_at = now() from found f
        where k.tenant_id = f.tenant_id and k.key_id = f.key_id
            and (k.last_used_at is null or k.last_used_at < now() - interval '1 minute')
    )
    select * from found
$$;
revoke all on function use_key(bytea) from public;
grant execute on function use_key(bytea) to conclave_app;
