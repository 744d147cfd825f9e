-- Steps of remote agents are handed from a leader to a worker on another machine.
alter table tasks
    -- Which attempt at the run handed this step out; null = it is done in the leader's own process. When the run is at
    -- another attempt, or has ended, nobody works on the step any more.
    add column root_attempt integer,
    -- When the time of a handed out step is over, by the database's clock.
    add column expires_at timestamptz;

-- What travels with a handed out step: the order on the way out, the outcome on the way back. The only rows with text of
-- documents in them; whoever takes the outcome removes the row, and the end of the run removes what is left. A person's
-- own: administrators, who may look at every task of their tenant, do not see it.
create table handoffs (
    tenant_id uuid not null,
    user_id uuid not null,
    task_id uuid not null,
    task_order text not null,
    outcome text,
    created_at timestamptz not null default now(),
    primary key (tenant_id, user_id, task_id),
    foreign key (tenant_id, task_id, user_id) references tasks on delete cascade
);
alter table handoffs enable row level security;
alter table handoffs force row level security;
revoke all on handoffs from public;
create policy own on handoffs to conclave_app
    using (tenant_id = app_tenant() and user_id = app_user())
    with check (tenant_id = app_tenant() and user_id = app_user());
grant select, insert, update, delete on handoffs to conclave_app;
create policy retention_sees on handoffs for select to conclave_maintenance using (true);
create policy retention_removes on handoffs for delete to conclave_maintenance using (true);
grant delete, select (tenant_id, user_id, task_id, created_at) on handoffs to conclave_maintenance;

-- Runs that have not ended are few; those among them that nobody works on are found here.
create index tasks_unfinished on tasks (created_at) where parent_task_id is null and status in ('pending', 'in_progress');

-- The two functions below run as the owner and look at the tasks of every tenant. They tell ids and nothing else; outside
-- of them, on a connection of its own, the owner sees no task, as before.
create policy delivery on tasks for select to current_user using (session_user <> current_user);

-- Runs without a job that would bring them to a worker: waiting, or left by a worker whose lease is over for `quiet`.
-- A job counts while it waits or its worker gives signs of life; when a lease is over for five times `quiet`, one that
-- waits.
create function runs_without_job(quiet interval, most integer)
    returns table (tenant_id uuid, user_id uuid, task_id uuid, kind text)
    language sql stable security definer set search_path = public, pg_temp as $$
    select t.tenant_id, t.user_id, t.task_id, t.kind from tasks t
    where t.parent_task_id is null and t.status in ('pending', 'in_progress')
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

-- Which of the named attempts no longer hold their task: it ended, was taken by a later attempt or erased, or the run a
-- handed out step belongs to did so.
create function lost_attempts(tenants uuid[], users uuid[], ids uuid[], attempts integer[]) returns setof uuid
    language sql stable security definer set search_path = public, pg_temp as $$
    select held.task_id from unnest(tenants, users, ids, attempts) held (tenant_id, user_id, task_id, attempt)
    where not exists (
        select from tasks t
        where t.tenant_id = held.tenant_id and t.user_id = held.user_id and t.task_id = held.task_id
            and t.attempt = held.attempt and t.status = 'in_progress'
            and (t.root_attempt is null or exists (
                select from tasks r
                where r.tenant_id = t.tenant_id and r.user_id = t.user_id and r.task_id = t.root_task_id
                    and r.attempt = t.root_attempt and r.status = 'in_progress')))
$$;
revoke all on function runs_without_job(interval, integer), lost_attempts(uuid[], uuid[], uuid[], integer[]) from public;
grant execute on function runs_without_job(interval, integer), lost_attempts(uuid[], uuid[], uuid[], integer[])
    to conclave_app;
