alter table system_logs rename to system_logs_by_month;
alter table system_logs_by_month rename constraint system_logs_pkey to system_logs_by_month_pkey;
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
-- The policies bind the owner too; this once it must see every tenant.
alter table system_logs_by_month no force row level security;
insert into system_logs (tenant_id, logged_at, level, source, department, scope, message, attributes)
select tenant_id, logged_at, level, source, department, scope, message, attributes from system_logs_by_month
order by logged_at, source, message, occurrence;
drop table system_logs_by_month;
drop function make_log_months(timestamptz, timestamptz), drop_log_months(timestamptz);
drop schema log_months;

alter table system_logs enable row level security;
alter table system_logs force row level security;
revoke all on system_logs from public;
create policy readers on system_logs for select to conclave_app
    using (tenant_id = app_tenant() and app_may_read(scope, department));
create policy admins_add on system_logs for insert to conclave_app
    with check (tenant_id = app_tenant() and app_is_admin());
create policy admins_change on system_logs for update to conclave_app
    using (tenant_id = app_tenant() and app_is_admin()) with check (tenant_id = app_tenant() and app_is_admin());
create policy admins_remove on system_logs for delete to conclave_app
    using (tenant_id = app_tenant() and app_is_admin());
create policy retention_sees on system_logs for select to conclave_maintenance using (true);
create policy retention_removes on system_logs for delete to conclave_maintenance using (true);
grant select, insert, update, delete on system_logs to conclave_app;
grant usage, select on sequence system_logs_log_id_seq to conclave_app;
grant delete, select (tenant_id, log_id, logged_at) on system_logs to conclave_maintenance;
