drop function runs_past_waiting(integer);
create or replace function runs_without_job(quiet interval, most integer)
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
drop trigger deep_states_go_with_their_run on tasks;
drop function forget_deep_state();
create or replace function guard_task_state() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        if new.status <> 'pending' or new.attempt <> 0 then
            raise exception 'a task begins pending' using errcode = 'check_violation';
        end if;
    elsif new.attempt < old.attempt or not (
        (old.status = 'pending' and new.status in ('in_progress', 'cancelled'))
        or (old.status = 'in_progress' and new.status in ('in_progress', 'completed', 'failed', 'cancelled'))
    ) then
        raise exception 'a task cannot go from % to %', old.status, new.status using errcode = 'check_violation';
    end if;
    return new;
end $$;
alter table tasks drop column waiting_for, drop column parked_attempt;
drop table deep_states;
