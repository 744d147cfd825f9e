-- Accounts of people whose company has no identity provider. Of a password its Argon2id hash is kept, of a link its SHA-256,
-- of the secret of somebody's codes what was sealed with a key that is not in the database. The app's role reads none of
-- the three from a table: `own_account` gives them for the one user whose transaction it is.
create table accounts (
    tenant_id uuid not null,
    user_id uuid not null,
    password text not null check (password like '$argon2id$%'),
    set_at timestamptz not null default now(),
    totp bytea,
    -- Whether codes are asked for; before that the person has not shown one yet.
    has_totp boolean not null default false check (totp is not null or not has_totp),
    -- The time step of the last code that was taken: that one and older ones are not taken again.
    totp_step bigint not null default 0,
    primary key (tenant_id, user_id),
    foreign key (tenant_id, user_id) references users on delete cascade
);

-- Links with which people set their first password, or a new one. One a person: a new one replaces the one before.
create table invitations (
    tenant_id uuid not null,
    user_id uuid not null,
    hash bytea not null check (octet_length(hash) = 32),
    created_by uuid not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null check (expires_at <= created_at + interval '7 days'),
    used_at timestamptz,
    primary key (tenant_id, user_id),
    foreign key (tenant_id, user_id) references users on delete cascade
);
create index invitations_by_hash on invitations (hash);

-- How often a password was tried since the last success, for a user or, under no tenant, for a part of the network. There
-- need be no such user: nobody learns who there is by being made to wait.
create table sign_in_tries (
    tenant_id uuid not null,
    user_id uuid not null,
    tries integer not null,
    last_at timestamptz not null,
    primary key (tenant_id, user_id)
);
create index sign_in_tries_by_time on sign_in_tries (last_at);

do $$
declare
    one text;
begin
    foreach one in array array['accounts', 'invitations', 'sign_in_tries'] loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('revoke all on %I from public', one);
        -- The functions below run as the owner; outside of them, on a connection of its own, the owner sees nothing.
        execute format('create policy within_functions on %I to current_user
            using (session_user <> current_user) with check (session_user <> current_user)', one);
    end loop;
end $$;
select let_leave('accounts'), let_leave('invitations'), let_leave('sign_in_tries');

-- People see and change their own account; that there is one, administrators and auditors see, too. None comes into being
-- but through a link.
create policy own_or_looked_after on accounts for select to conclave_app
    using (tenant_id = app_tenant() and (user_id = app_user() or app_is_admin() or app_is_auditor()));
create policy own_change on accounts for update to conclave_app
    using (tenant_id = app_tenant() and user_id = app_user())
    with check (tenant_id = app_tenant() and user_id = app_user());
grant select (tenant_id, user_id, set_at, has_totp, totp_step) on accounts to conclave_app;
grant update (password, set_at, totp, has_totp, totp_step) on accounts to conclave_app;
create policy operator_sees on accounts for select to conclave_maintenance using (true);
grant select (tenant_id, user_id) on accounts to conclave_maintenance;

-- Administrators give links to people of their tenant; programs have keys instead.
create policy own_or_looked_after on invitations for select to conclave_app
    using (tenant_id = app_tenant() and (user_id = app_user() or app_is_admin() or app_is_auditor()));
create policy administrators_invite on invitations for insert to conclave_app
    with check (tenant_id = app_tenant() and app_is_admin() and created_by = app_user()
        and not is_service_user(user_id));
create policy administrators_invite_again on invitations for update to conclave_app
    using (tenant_id = app_tenant() and app_is_admin())
    with check (tenant_id = app_tenant() and app_is_admin() and created_by = app_user()
        and not is_service_user(user_id));
grant insert on invitations to conclave_app;
grant select (tenant_id, user_id, created_by, created_at, expires_at, used_at) on invitations to conclave_app;
grant update (hash, created_by, created_at, expires_at, used_at) on invitations to conclave_app;

create policy own on sign_in_tries for select to conclave_app
    using (tenant_id = app_tenant() and user_id = app_user());
grant select on sign_in_tries to conclave_app;

create function own_account() returns table (password text, totp bytea, has_totp boolean, totp_step bigint)
    language sql stable security definer set search_path = public, pg_temp as $$
    select a.password, a.totp, a.has_totp, a.totp_step from accounts a
    where a.tenant_id = app_tenant() and a.user_id = app_user()
$$;

-- Whose a link is that can be used now.
create function invited(told bytea) returns table (tenant_id uuid, user_id uuid)
    language sql stable security definer set search_path = public, pg_temp as $$
    select i.tenant_id, i.user_id from invitations i
    where i.hash = told and i.used_at is null and i.expires_at > now()
$$;

-- Use the link of the user whose transaction it is: the password becomes that user's, codes are not asked for any more. Of
-- two who use it at once the second waits for the first and gets nothing.
create function take_invitation(told bytea, new_password text) returns boolean
    language plpgsql security definer set search_path = public, pg_temp as $$
begin
    update invitations i set used_at = now()
    where i.tenant_id = app_tenant() and i.user_id = app_user() and i.hash = told
        and i.used_at is null and i.expires_at > now();
    if not found then
        return false;
    end if;
    insert into accounts as a (tenant_id, user_id, password) values (app_tenant(), app_user(), new_password)
    on conflict on constraint accounts_pkey do update
        set password = excluded.password, set_at = now(), totp = null, has_totp = false;
    return true;
end $$;

-- Count a try of the user, or part of the network, whose transaction it is, before anything is looked at; gives the seconds
-- to wait instead where it comes too early. The first `free` tries come when they like; after each further one the wait
-- doubles from a second, up to `most` seconds. Who has not tried for a day begins anew.
create function take_turn(free integer, most integer) returns integer
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    wait interval;
begin
    delete from sign_in_tries t where (t.tenant_id, t.user_id) in (
        select o.tenant_id, o.user_id from sign_in_tries o where o.last_at < now() - interval '1 day'
        limit 100 for update skip locked);
    insert into sign_in_tries as t (tenant_id, user_id, tries, last_at) values (app_tenant(), app_user(), 1, now())
    on conflict (tenant_id, user_id) do update set tries = t.tries + 1, last_at = now()
        where now() >= t.last_at + case when t.tries < free then interval '0'
            else make_interval(secs => least(most, power(2, least(t.tries - free, 20)))) end;
    if found then
        return 0;
    end if;
    select t.last_at + make_interval(secs => least(most, power(2, least(t.tries - free, 20)))) - now() into wait
    from sign_in_tries t where t.tenant_id = app_tenant() and t.user_id = app_user();
    return greatest(1, ceil(extract(epoch from wait)));
end $$;

-- A try was a success: forget all of them, or this one alone.
create function forget_tries(every_one boolean) returns void
    language sql security definer set search_path = public, pg_temp as $$
    update sign_in_tries t set tries = case when every_one then 0 else greatest(0, t.tries - 1) end
    where t.tenant_id = app_tenant() and t.user_id = app_user()
$$;

revoke all on function own_account(), invited(bytea), take_invitation(bytea, text), take_turn(integer, integer),
    forget_tries(boolean) from public;
grant execute on function own_account(), invited(bytea), take_invitation(bytea, text), take_turn(integer, integer),
    forget_tries(boolean) to conclave_app;
