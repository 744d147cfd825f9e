-- What models were asked and what it cost: ids and counts, no text. Rows outlive the task they were made for, so that
-- erasing a conversation does not give its tokens back; they go when the user goes.
create table model_calls (
    tenant_id uuid not null,
    user_id uuid not null,
    call_id uuid not null,
    -- The root task, or an id of its own for a plan that is only looked at.
    run_id uuid not null,
    -- The step it was made for; null = the run itself.
    task_id uuid,
    agent varchar(50) not null default '',
    purpose text not null,
    model text not null,
    reserved_tokens integer not null check (reserved_tokens >= 0),
    prompt_tokens integer,
    completion_tokens integer,
    cost_micros bigint not null default 0,
    -- Null while the call is under way, and for good when its process died: then what was reserved counts.
    outcome text,
    duration_ms integer,
    created_at timestamptz not null default now(),
    primary key (tenant_id, user_id, call_id)
);
create index model_calls_of_run on model_calls (tenant_id, user_id, run_id);

-- Totals a day (UTC), for the tenant (subject = tenant_id) and for each of its users. Reserved tokens are in them.
create table model_usage (
    tenant_id uuid not null,
    subject uuid not null,
    day date not null,
    calls bigint not null,
    tokens bigint not null,
    cost_micros bigint not null default 0,
    primary key (tenant_id, day, subject)
) with (fillfactor = 70);

do $$
declare
    one text;
begin
    foreach one in array array['model_calls', 'model_usage'] loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('revoke all on %I from public', one);
        execute format('grant select, insert, update on %I to conclave_app', one);
        execute format('create policy retention_sees on %I for select to conclave_maintenance using (true)', one);
        execute format('create policy retention_removes on %I for delete to conclave_maintenance using (true)', one);
        execute format('grant select, delete on %I to conclave_maintenance', one);
    end loop;
end $$;

create policy own on model_calls to conclave_app
    using (tenant_id = app_tenant() and user_id = app_user())
    with check (tenant_id = app_tenant() and user_id = app_user());
create policy own_and_tenants on model_usage to conclave_app
    using (tenant_id = app_tenant() and subject in (app_user(), app_tenant()))
    with check (tenant_id = app_tenant() and subject in (app_user(), app_tenant()));
