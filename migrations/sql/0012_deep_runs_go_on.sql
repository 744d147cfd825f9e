-- How far a deep run has come: what another attempt needs to go on with it. Overwritten at every step, with text of
-- documents in it, and gone in the commit that ends the run. A person's own: administrators, who may look at every task
-- of their tenant, do not see it.
create table deep_states (
    tenant_id uuid not null,
    user_id uuid not null,
    task_id uuid not null,
    -- Who kept it; any later attempt goes on with it.
    attempt integer not null check (attempt > 0),
    -- JSON text: numbers, the order of keys and what was left unset come back as they were.
    state text not null,
    kept_at timestamptz not null default now(),
    primary key (tenant_id, user_id, task_id),
    foreign key (tenant_id, task_id, user_id) references tasks on delete cascade
);
alter table deep_states enable row level security;
alter table deep_states force row level security;
revoke all on deep_states from public;
create policy own on deep_states to conclave_app
    using (tenant_id = app_tenant() and user_id = app_user())
    with check (tenant_id = app_tenant() and user_id = app_user());
grant select, insert, update, delete on deep_states to conclave_app;
create policy retention_sees on deep_states for select to conclave_maintenance using (true);
create policy retention_removes on deep_states for delete to conclave_maintenance using (true);
grant delete, select (tenant_id, user_id, task_id, kept_at) on deep_states to conclave_maintenance;

alter table tasks
    -- What a parked run waits for: it is pending, and nobody may take it up. It waits until `expires_at`.
    add column waiting_for text check (waiting_for = 'approval'),
    -- The attempt that parked the run last; 0 = none did. Starts without an end are counted from there.
    add column parked_attempt integer not null default 0,
    add check (waiting_for is null or (expires_at is not null and parent_task_id is null));

-- The state machine: pending → in_progress → completed | failed | cancelled; only a pending task may be cancelled
-- without having been started. One that is in progress may be parked, which makes it pending. An attempt number never
-- goes back.
create or replace function guard_task_state() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.status <> 'pending' or new.attempt <> 0 then
            raise exception 'a task begins pending' using errcode = 'check_violation';
        end if;
    elsif new.attempt < old.attempt or (new.waiting_for is not null and new.status <> 'pending') or not (
        (old.status = 'pending' and new.status in ('in_progress', 'cancelled'))
        or (old.status = 'in_progress' and new.status in ('in_progress', 'completed', 'failed', 'cancelled'))
        or (old.status = 'in_progress' and new.status = 'pending' and new.waiting_for is not null)
    ) then
        raise exception 'a task cannot go from % to %', old.status, new.status using errcode = 'check_violation';
    end if;
    return new;
end $$;

create function forget_deep_state() returns trigger language plpgsql as $$
begin
    delete from deep_states
    where tenant_id = new.tenant_id and user_id = new.user_id and task_id = new.task_id;
    return null;
end $$;
create trigger deep_states_go_with_their_run after update of status on tasks
    for each row when (new.parent_task_id is null and new.status in ('completed', 'failed', 'cancelled'))
    execute function forget_deep_state();

-- As before, but for runs that wait for a person.
create or replace function runs_without_job(quiet interval, most integer)
    returns table (tenant_id uuid, user_id uuid, task_id uuid, kind text)
    language sql stable security definer set search_path = public, pg_temp as $$
    select t.tenant_id, t.user_id, t.task_id, t.kind from tasks t
    where t.parent_task_id is null and t.status in ('pending', 'in_progress') and t.waiting_for is null
        and t.created_at < clock_timestamp() - quiet
        and (t.status = 'pending' or t.lease_until < clock_timestamp() - quiet)
        and not exists (
            select from pgqueuer j
            where j.entrypoint in ('run_task', 'ingest_document')
                and convert_from(j.payload, 'UTF8')::jsonb ->> 'task_id' = t.task_id::text
                and (j.status = 'queued' or (j.status = 'picked' and j.heartbeat > clock_timestamp() - 5 * quiet
                    and coalesce(t.lease_until > clock_timestamp() - 5 * quiet, true))))
    order by t.created_at limit most
$$;

-- Runs that waited in vain, oldest first. Ids and nothing else, as above.
create function runs_past_waiting(most integer) returns table (tenant_id uuid, user_id uuid, task_id uuid)
    language sql stable security definer set search_path = public, pg_temp as $$
    select t.tenant_id, t.user_id, t.task_id from tasks t
    where t.parent_task_id is null and t.status in ('pending', 'in_progress') and t.waiting_for is not null
        and t.expires_at <= clock_timestamp()
    order by t.created_at limit most
$$;
revoke all on function runs_past_waiting(integer) from public;
grant execute on function runs_past_waiting(integer) to conclave_app;
