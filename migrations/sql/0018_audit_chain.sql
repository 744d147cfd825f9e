-- The audit is a chain: every row of a tenant has its number, the hash of the row before and its own. The database makes
-- all three, and the time, so that no writer can forget or choose them. One small row a tenant holds the end of its chain;
-- whoever writes locks it until the commit, so the order is certain.
create function app_is_auditor() returns boolean language sql stable parallel safe
    return 'auditor' = any (nullif(current_setting('app.roles', true), '')::text[]);

create table audit_heads (
    tenant_id uuid primary key,
    seq bigint not null default 0,
    hash bytea not null default '',
    removed_seq bigint not null default 0,
    removed_hash bytea not null default ''
);
alter table audit_heads enable row level security;
alter table audit_heads force row level security;
revoke all on audit_heads from public;
create policy auditors_look on audit_heads for select to conclave_app
    using (tenant_id = app_tenant() and (app_is_admin() or app_is_auditor()));
grant select on audit_heads to conclave_app;
create policy chaining on audit_heads to current_user using (true) with check (true);

alter table users add column legal_hold boolean not null default false;
alter table audit add column seq bigint, add column previous_hash bytea, add column hash bytea;

-- What a hash is made of: one line a value, in this order. `app/trust/chain.py` makes the same text from a row it read.
create function audit_hash(one audit) returns bytea language sql stable set search_path = public, pg_temp as $$
    select sha256(convert_to(concat_ws(E'\n', one.seq, encode(one.previous_hash, 'hex'), one.tenant_id, one.user_id,
        to_json(one.action), to_json(one.target),
        to_char(one.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), one.details), 'UTF8'))
$$;
revoke execute on function audit_hash(audit) from public;

-- What is there already, in the order it was written.
alter table audit no force row level security;
do $$
declare
    one audit;
    head audit_heads;
begin
    for one in select * from audit order by tenant_id, created_at, audit_id loop
        if head.tenant_id is distinct from one.tenant_id then
            insert into audit_heads (tenant_id) values (one.tenant_id) returning * into head;
        end if;
        one.seq := head.seq + 1;
        one.previous_hash := head.hash;
        one.hash := audit_hash(one);
        update audit set seq = one.seq, previous_hash = one.previous_hash, hash = one.hash
        where tenant_id = one.tenant_id and audit_id = one.audit_id;
        update audit_heads set seq = one.seq, hash = one.hash where tenant_id = one.tenant_id returning * into head;
    end loop;
end $$;
alter table audit force row level security;
alter table audit alter column seq set not null, alter column previous_hash set not null, alter column hash set not null;
create unique index audit_by_seq on audit (tenant_id, seq);

create function chain_audit() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
declare
    head audit_heads;
begin
    insert into audit_heads (tenant_id) values (new.tenant_id) on conflict do nothing;
    select * into head from audit_heads where tenant_id = new.tenant_id for update;
    new.seq := head.seq + 1;
    new.previous_hash := head.hash;
    new.created_at := clock_timestamp();
    new.hash := audit_hash(new);
    update audit_heads set seq = new.seq, hash = new.hash where tenant_id = new.tenant_id;
    return new;
end $$;
create trigger audit_is_chained before insert on audit for each row execute function chain_audit();

-- The service adds and reads. Auditors read beside administrators.
revoke update, delete, truncate, references, trigger on audit from conclave_app;
drop policy administrators_look on audit;
create policy auditors_look on audit for select to conclave_app
    using (tenant_id = app_tenant() and (app_is_admin() or app_is_auditor()));

-- For the functions below, which run as the owner.
create policy acts_are_added on audit for insert to current_user with check (true);
create policy oldest_are_seen on audit for select to current_user using (true);
create policy oldest_go on audit for delete to current_user using (true);
create policy holds_are_seen on users for select to current_user using (true);

-- Questions: that one was asked, and how it ended with the documents it cited; nothing that was asked or told. Written
-- at the commit, whoever changed the task, so that the chain is locked as briefly as can be.
create index documents_by_url on documents using hash (url);
create function audit_question() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    if tg_op = 'INSERT' then
        insert into audit (tenant_id, user_id, action, target, details) values (new.tenant_id, new.user_id,
            'question_asked', new.task_id, jsonb_strip_nulls(jsonb_build_object('mode', new.request -> 'mode')));
    else
        insert into audit (tenant_id, user_id, action, target, details) values (new.tenant_id, new.user_id,
            'question_ended', new.task_id, jsonb_strip_nulls(jsonb_build_object(
                'status', new.status, 'outcome', coalesce(new.metadata -> 'outcome', new.result -> 'outcome'),
                'documents', (
                    select coalesce(jsonb_agg(d.document_id order by d.document_id), '[]') from documents d
                    where d.tenant_id = new.tenant_id and d.current_version > 0 and d.url in (
                        select e.value ->> 'url' from jsonb_array_elements(case jsonb_typeof(new.result -> 'evidence')
                            when 'array' then new.result -> 'evidence' else '[]' end) e)))));
    end if;
    return null;
end $$;
create constraint trigger questions_are_audited after insert on tasks deferrable initially deferred
    for each row when (new.kind = 'chat' and new.parent_task_id is null) execute function audit_question();
create constraint trigger answers_are_audited after update on tasks deferrable initially deferred
    for each row when (new.kind = 'chat' and new.parent_task_id is null and new.status is distinct from old.status
        and new.status in ('completed', 'failed', 'cancelled'))
    execute function audit_question();

-- People: what they may do, and since when; no name. Who acted is nobody when the operator did.
create function audit_person() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
declare
    one users := coalesce(new, old);
begin
    insert into audit (tenant_id, user_id, action, target, details) values (one.tenant_id,
        coalesce(app_user(), '00000000-0000-0000-0000-000000000000'),
        case tg_op when 'INSERT' then 'user_added' when 'UPDATE' then 'user_changed' else 'user_removed' end,
        one.user_id, jsonb_build_object('department', one.department, 'departments', one.departments,
            'scopes', one.scopes, 'roles', one.roles, 'disabled', one.disabled_at is not null,
            'legal_hold', one.legal_hold));
    return null;
end $$;
create constraint trigger people_are_audited after insert or delete on users deferrable initially deferred
    for each row execute function audit_person();
create constraint trigger rights_are_audited after update on users deferrable initially deferred
    for each row when ((new.department, new.departments, new.scopes, new.roles, new.disabled_at, new.legal_hold)
        is distinct from (old.department, old.departments, old.scopes, old.roles, old.disabled_at, old.legal_hold))
    execute function audit_person();
revoke execute on function chain_audit(), audit_question(), audit_person() from public;

-- The oldest rows may go, whole prefixes of a chain alone: none that follows a younger one, none of or about a person
-- under legal hold or behind it, never the last. What the chain began with is kept, and a row says that some went.
create function remove_audit(of_tenant uuid, before timestamptz, most integer) returns bigint language plpgsql
    security definer set search_path = public, pg_temp as $$
declare
    head audit_heads;
    until audit;
    count bigint;
begin
    select * into head from audit_heads where tenant_id = of_tenant for update;
    select * into until from audit a
    where a.tenant_id = of_tenant and a.seq > head.removed_seq and a.seq < head.seq
        and a.seq <= head.removed_seq + most and a.seq < coalesce((
            select min(b.seq) from audit b
            where b.tenant_id = of_tenant and b.seq > head.removed_seq and (b.created_at >= before or exists (
                select from users u where u.tenant_id = of_tenant and u.legal_hold
                    and (u.user_id = b.user_id or u.user_id::text = b.target)))), head.seq)
    order by a.seq desc limit 1;
    if until.seq is null then
        return 0;
    end if;
    delete from audit where tenant_id = of_tenant and seq <= until.seq;
    get diagnostics count = row_count;
    update audit_heads set removed_seq = until.seq, removed_hash = until.hash where tenant_id = of_tenant;
    insert into audit (tenant_id, user_id, action, details) values (of_tenant, '00000000-0000-0000-0000-000000000000',
        'audit_removed', jsonb_build_object('until', until.seq, 'hash', encode(until.hash, 'hex'), 'rows', count));
    return count;
end $$;
revoke execute on function remove_audit(uuid, timestamptz, integer) from public;
grant execute on function remove_audit(uuid, timestamptz, integer) to conclave_maintenance;
