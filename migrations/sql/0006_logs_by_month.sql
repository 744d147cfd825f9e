-- Log lines by month of their time (UTC). The months lie in a schema of their own and nobody is granted anything on them:
-- whoever reads or writes comes through system_logs and its policies. What belongs to no month that was made lies in
-- log_months.others, so nothing is ever lost.
create schema if not exists log_months;

alter table system_logs rename to system_logs_of_one_piece;
alter table system_logs_of_one_piece rename constraint system_logs_pkey to system_logs_of_one_piece_pkey;
alter index system_logs_by_time rename to system_logs_of_one_piece_by_time;

create table system_logs (
    tenant_id uuid not null,
    logged_at timestamptz not null,
    level text not null,
    source text not null,
    department text not null,
    scope text not null check (scope in ('public', 'internal', 'private')),
    message text not null,
    attributes jsonb not null default '{}',
    -- Lines that came twice are told from lines that were written twice: the second equal line of one delivery is 1.
    occurrence integer not null default 0,
    content_hash bigint not null generated always as (hashtextextended(
        source || e'\x1f' || level || e'\x1f' || department || e'\x1f' || scope || e'\x1f' || message, 0)) stored,
    -- Lines whose beginnings differ in numbers, addresses, ids and users alone are of one kind.
    kind bigint not null generated always as (hashtextextended(regexp_replace(left(message, 300),
        '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[[:alnum:]_.+-]+@[[:alnum:].-]+'
        '|\m[0-9a-fA-F]{12,}\M|\muser [[:alnum:]_.-]+|[0-9]+([.:,/-][0-9]+)*', '#', 'g'), 0)) stored,
    primary key (tenant_id, logged_at, content_hash, occurrence)
) partition by range (logged_at);
create table log_months.others partition of system_logs default;

-- Make the months from `since` to `until` that are not there yet; at most three years back and two months ahead. Lines of
-- such a month that came before go where they belong. A month that cannot be made now, because somebody reads for long,
-- is made the next time.
create function make_log_months(since timestamptz, until timestamptz) returns integer language plpgsql security definer
    set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
declare
    made integer := 0;
    first date;
    name text;
begin
    if app_is_admin() is not true and not pg_has_role(session_user, 'conclave_maintenance', 'member') then
        raise insufficient_privilege using message = 'only an administrator brings log lines in';
    end if;
    for first in select generate_series(
        date_trunc('month', greatest(since, now() - interval '3 years')),
        date_trunc('month', least(until, now() + interval '2 months')), interval '1 month')::date
    loop
        name := to_char(first, '"y"YYYY"m"MM');
        continue when to_regclass('log_months.' || name) is not null;
        begin
            perform pg_advisory_xact_lock(hashtextextended('log months', 0));
            continue when to_regclass('log_months.' || name) is not null;
            execute format('create table log_months.%I (like system_logs including all)', name);
            execute format(
                'with moved as (delete from log_months.others where logged_at >= %2$L and logged_at < %3$L returning *)
                insert into log_months.%1$I
                    (tenant_id, logged_at, level, source, department, scope, message, attributes, occurrence)
                select tenant_id, logged_at, level, source, department, scope, message, attributes, occurrence
                from moved', name, first::timestamptz, (first + interval '1 month')::timestamptz);
            execute format(
                'alter table system_logs attach partition log_months.%I for values from (%L) to (%L)',
                name, first::timestamptz, (first + interval '1 month')::timestamptz);
            made := made + 1;
        exception
            when lock_not_available or deadlock_detected then null;
        end;
    end loop;
    return made;
end $$;

-- Drop every month that ended before `before`; gives how many lines went with them.
create function drop_log_months(before timestamptz) returns bigint language plpgsql security definer
    set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    dropped bigint := 0;
    lines bigint;
    month regclass;
begin
    for month in
        select inhrelid::regclass from pg_inherits join pg_class on oid = inhrelid
        where inhparent = 'system_logs'::regclass and relname ~ '^y[0-9]{4}m[0-9]{2}$'
            and to_date(relname, '"y"YYYY"m"MM') + interval '1 month' <= before
        order by relname
    loop
        execute format('select count(*) from %s', month) into lines;
        execute format('drop table %s', month);
        dropped := dropped + lines;
    end loop;
    return dropped;
end $$;
revoke all on function make_log_months(timestamptz, timestamptz), drop_log_months(timestamptz) from public;
grant execute on function make_log_months(timestamptz, timestamptz) to conclave_app, conclave_maintenance;
grant execute on function drop_log_months(timestamptz) to conclave_maintenance;

-- The policies bind the owner too; this once it must see every tenant.
alter table system_logs_of_one_piece no force row level security;
do $$
declare
    first date;
begin
    for first in select distinct date_trunc('month', logged_at at time zone 'UTC')::date from system_logs_of_one_piece
        where logged_at >= now() - interval '3 years' and logged_at < now() + interval '2 months'
    loop
        execute format(
            'create table log_months.%I partition of system_logs for values from (%L) to (%L)',
            to_char(first, '"y"YYYY"m"MM'), first || ' 00:00+00', (first + interval '1 month')::date || ' 00:00+00');
    end loop;
end $$;
insert into system_logs (tenant_id, logged_at, level, source, department, scope, message, attributes, occurrence)
select tenant_id, logged_at, level, source, department, scope, message, attributes, row_number() over (
    partition by tenant_id, logged_at, level, source, department, scope, message order by log_id) - 1
from system_logs_of_one_piece;
drop table system_logs_of_one_piece;

alter table system_logs enable row level security;
alter table system_logs force row level security;
revoke all on system_logs from public;
-- The scopes of who asks are read once a statement, not once a row.
create policy readers on system_logs for select to conclave_app
    using (tenant_id = app_tenant() and scope = any ((select app_scopes())::text[])
        and (scope <> 'private' or department = 'general' or department = any (app_departments())));
create policy admins_add on system_logs for insert to conclave_app
    with check (tenant_id = app_tenant() and app_is_admin());
create policy admins_change on system_logs for update to conclave_app
    using (tenant_id = app_tenant() and app_is_admin()) with check (tenant_id = app_tenant() and app_is_admin());
create policy admins_remove on system_logs for delete to conclave_app
    using (tenant_id = app_tenant() and app_is_admin());
create policy retention_sees on system_logs for select to conclave_maintenance using (true);
create policy retention_removes on system_logs for delete to conclave_maintenance using (true);
grant select, insert, update, delete on system_logs to conclave_app;
grant delete, select (tenant_id, logged_at) on system_logs to conclave_maintenance;
