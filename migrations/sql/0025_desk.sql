-- The desk of whoever owns a department: what is wrong with its documents, and what people asked of them in vain. What is
-- shown is worked out when it is read; kept is only what became of it, and who told owners of which conflict.
create function app_is_keeper() returns boolean language sql stable parallel safe
    return app_is_admin() or 'owner' = any (nullif(current_setting('app.roles', true), '')::text[]);
-- Administrators look after every department, owners after their own.
create function app_owns(of_departments text[]) returns boolean language sql stable parallel safe
    return app_is_admin() or (app_is_keeper() and of_departments && app_departments());

create table desk_items (
    tenant_id uuid not null,
    item_id uuid not null,
    kind text not null check (kind in ('contradiction', 'ending', 'correction', 'unanswered', 'unused')),
    departments text[] not null,
    -- Of a contradiction they stand with its finding.
    state text not null default 'open' check (state in ('open', 'dismissed', 'done')),
    assignee uuid,
    reason text not null default '',
    changed_at timestamptz not null default now(),
    -- The question of the item, asked again by an owner before and after; the answers stand in that person's own runs.
    asked_by uuid,
    before_task uuid,
    after_task uuid,
    -- What an owner would answer to a question nobody could answer; an administrator brings it in as a document.
    answer jsonb,
    primary key (tenant_id, item_id)
);

-- Whoever was shown a conflict told the owners. The question is read where it stands, and goes with its conversation.
create table desk_tellings (
    tenant_id uuid not null,
    user_id uuid not null,
    task_id uuid not null,
    finding_id uuid not null,
    told_at timestamptz not null default now(),
    primary key (tenant_id, user_id, task_id, finding_id),
    foreign key (tenant_id, task_id, user_id) references tasks on delete cascade,
    foreign key (tenant_id, finding_id) references document_findings on delete cascade
);
create index desk_tellings_of_finding on desk_tellings (tenant_id, finding_id);
do $$
declare
    one text;
begin
    foreach one in array array['desk_items', 'desk_tellings'] loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('revoke all on %I from public', one);
    end loop;
end $$;
select let_leave('desk_items'), let_leave('desk_tellings');

create policy owners on desk_items to conclave_app
    using (tenant_id = app_tenant() and app_owns(departments))
    with check (tenant_id = app_tenant() and app_owns(departments));
grant select, insert, update on desk_items to conclave_app;

-- Whether a run of the caller weighed these two documents against each other and showed it.
create function was_weighed(run uuid, one uuid, other uuid) returns boolean language sql stable return exists (
    select from conflicts c
    where c.tenant_id = app_tenant() and c.user_id = app_user() and c.root_task_id = coalesce(run, c.root_task_id)
        and c.details #>> '{winner,document_id}' in (one::text, other::text)
        and c.details #>> '{loser,document_id}' in (one::text, other::text));
create policy own on desk_tellings for select to conclave_app
    using (tenant_id = app_tenant() and user_id = app_user());
create policy tells_what_was_shown on desk_tellings for insert to conclave_app
    with check (tenant_id = app_tenant() and user_id = app_user() and exists (
        select from document_findings f where f.tenant_id = desk_tellings.tenant_id
            and f.finding_id = desk_tellings.finding_id and was_weighed(task_id, f.document_id, f.other_document_id)));
grant select, insert on desk_tellings to conclave_app;

-- A conflict that no examination found becomes a finding when somebody tells of it: nothing but what was shown, undecided.
create policy tellers_add on document_findings for insert to conclave_app
    with check (tenant_id = app_tenant() and kind = 'contradiction' and judge = 'person' and status = 'open' and note = ''
        and assignee is null and earlier is null and may_read_both(document_id, other_document_id)
        and was_weighed(null, document_id, other_document_id));
-- Who may read both documents and owns their departments decides about them.
create function owns_both(one uuid, other uuid) returns boolean language sql stable return 2 = (
    select count(*) from documents d where d.tenant_id = app_tenant() and d.document_id in (one, other)
        and d.current_version > 0 and app_may_read(d.scope, d.department) and app_owns(array[d.department]));
create policy owners_change on document_findings for update to conclave_app
    using (tenant_id = app_tenant() and owns_both(document_id, other_document_id))
    with check (tenant_id = app_tenant() and owns_both(document_id, other_document_id));

-- An examination leaves what people told of as it leaves what they decided: as long as the document's sentence stands.
do $$
declare
    said text := pg_get_functiondef('replace_findings'::regproc);
    changed constant text := replace(replace(said,
        'f.status <> ''open'' and f.finding_id', '(f.status <> ''open'' or f.judge = ''person'') and f.finding_id'),
        '(f.status = ''open'' or', '(f.status = ''open'' and f.judge <> ''person'' or');
begin
    if length(changed) <> length(said) + 48 then
        raise 'replace_findings is not what migration 0015 made';
    end if;
    execute changed;
    -- Nor does it end by being assigned.
    execute replace(pg_get_functiondef('handle_finding'::regproc), 'case to_status when ''open'' then ''rule''',
        'case when to_status = ''open'' and f.status = ''open'' then f.judge when to_status = ''open'' then ''rule''');
end $$;

-- Until now nobody else read what people think of an answer: what they wrote then stays so.
alter table feedback add column for_owners boolean not null default false;
alter table feedback alter column for_owners set default true;

-- The functions below read for keepers what is other people's, and give a part of it: run as the owner, for the tenant of
-- the transaction alone; outside of them the owner sees none of it.
do $$
declare
    one text;
begin
    foreach one in array array['tasks', 'feedback', 'semantic_vectors', 'desk_tellings', 'document_findings'] loop
        execute format('create policy desk_looks on %I for select to current_user
            using (session_user <> current_user and tenant_id = app_tenant() and app_is_keeper())', one);
    end loop;
end $$;

-- What people asked when they were shown a conflict, for whoever owns one of its documents and may read both; no name.
create function desk_told() returns table (finding_id uuid, questions text[], told_at timestamptz)
    language sql stable security definer set search_path = public, pg_temp as $$
    select f.finding_id, array_agg(q.request ->> 'query' order by t.told_at desc), max(t.told_at)
    from desk_tellings t
    join document_findings f on f.tenant_id = t.tenant_id and f.finding_id = t.finding_id
    join tasks q on q.tenant_id = t.tenant_id and q.user_id = t.user_id and q.task_id = t.task_id
    where t.tenant_id = app_tenant() and app_is_keeper() and may_read_both(f.document_id, f.other_document_id)
        and exists (select from documents d where d.tenant_id = f.tenant_id and app_owns(array[d.department])
            and d.document_id in (f.document_id, f.other_document_id))
    group by f.finding_id
$$;

-- Thumbs down with a correction, where everything the answer cites is a document the caller may read, one of them of an
-- own department, and it was asked with no scope the caller has not; without the answer, and no name.
create function desk_corrections()
    returns table (task_id uuid, question text, correction text, said_at timestamptz, departments text[], documents jsonb)
    language sql stable security definer set search_path = public, pg_temp as $$
    select t.task_id, t.request ->> 'query', f.correction, f.updated_at, cited.departments, cited.documents
    from feedback f
    join tasks t on t.tenant_id = f.tenant_id and t.user_id = f.user_id and t.task_id = f.task_id
    cross join lateral (
        select array_agg(distinct e.value ->> 'url') as urls
        from jsonb_array_elements(case jsonb_typeof(t.result -> 'evidence') when 'array' then t.result -> 'evidence'
            else '[]' end) e) told
    cross join lateral (
        select array_agg(distinct d.url) as urls, array_agg(distinct d.department) as departments,
            jsonb_agg(jsonb_build_object('document_id', d.document_id, 'title', d.title, 'url', d.url,
                'department', d.department, 'scope', d.scope) order by d.document_id) as documents
        from documents d
        where d.tenant_id = t.tenant_id and d.current_version > 0 and d.url = any(told.urls)
            and app_may_read(d.scope, d.department)) cited
    where f.tenant_id = app_tenant() and app_is_keeper() and f.rating = -1 and f.correction <> '' and f.for_owners
        and t.principal -> 'scopes' <@ to_jsonb(app_scopes()) and cited.urls @> told.urls
        and app_owns(cited.departments)
$$;

-- Questions of the last 90 days without an answer, told from three people on who asked nearly the same: the shortest
-- wording, and how many people. `agents` names the departments of each agent. Asked with a scope the caller has not, a
-- question does not count. No more than the last 500 are looked at.
create function desk_unanswered(agents jsonb)
    returns table (first_task uuid, question text, askers integer, asked_at timestamptz, departments text[])
    language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
    taken uuid[] := '{}';
    one record;
begin
    for one in
        with asked as materialized (
            select t.task_id, t.user_id, t.created_at, v.metadata ->> 'question' as question, v.embedding,
                v.embedding_model, own.departments
            from tasks t
            join semantic_vectors v on v.tenant_id = t.tenant_id and v.user_id = t.user_id and v.task_id = t.task_id
            cross join lateral (
                select coalesce(array_agg(distinct d.value), '{}') as departments
                from jsonb_object_keys(case jsonb_typeof(t.plan -> 'agents') when 'object' then t.plan -> 'agents'
                    else '{}' end) a (name)
                cross join lateral jsonb_array_elements_text(coalesce(agents -> a.name, '[]')) d) own
            where t.tenant_id = app_tenant() and app_is_keeper() and t.parent_task_id is null and t.kind = 'chat'
                and t.created_at > now() - interval '90 days' and t.metadata ->> 'outcome' in ('not_found', 'partial')
                and t.principal -> 'scopes' <@ to_jsonb(app_scopes()) and app_owns(own.departments)
            order by t.created_at desc limit 500
        ),
        near as materialized (
            select a.task_id as about, b.* from asked a join asked b
                on case when a.embedding_model = b.embedding_model then a.embedding <=> b.embedding end <= 0.07
        )
        select n.about, count(distinct n.user_id)::integer as askers, max(n.created_at) as latest,
            array_agg(n.task_id order by n.created_at, n.task_id) as tasks,
            (array_agg(n.question order by length(n.question), n.question))[1] as wording,
            (select array_agg(distinct d) from near m, unnest(m.departments) d where m.about = n.about) as departments
        from near n group by n.about having count(distinct n.user_id) >= 3
        order by askers desc, min(n.created_at), n.about
    loop
        continue when one.about = any(taken);
        taken := taken || one.tasks;
        first_task := one.tasks[1]; question := one.wording; askers := one.askers; asked_at := one.latest;
        departments := coalesce(one.departments, '{}');
        return next;
    end loop;
end $$;

-- The documents answers cited since then, as far back as the audit goes.
create function desk_cited_since(since timestamptz) returns setof uuid
    language sql stable security definer set search_path = public, pg_temp as $$
    select distinct d.value::uuid
    from audit a cross join lateral jsonb_array_elements_text(case jsonb_typeof(a.details -> 'documents')
        when 'array' then a.details -> 'documents' else '[]' end) d
    where a.tenant_id = app_tenant() and app_is_keeper() and a.action = 'question_ended' and a.created_at > since
$$;

revoke all on function desk_told(), desk_corrections(), desk_unanswered(jsonb), desk_cited_since(timestamptz) from public;
grant execute on function desk_told(), desk_corrections(), desk_unanswered(jsonb), desk_cited_since(timestamptz)
    to conclave_app;

create function desk_document(d documents, sentence text) returns jsonb language sql stable return jsonb_build_object(
    'document_id', d.document_id, 'title', d.title, 'url', d.url, 'department', d.department, 'scope', d.scope,
    'sentence', sentence);

-- All that stands on the caller's desk, whatever became of it; everything in it the caller may read.
create function desk_rows(today date, agents jsonb)
    returns table (item_id uuid, kind text, detail text, since timestamptz, departments text[], documents jsonb,
        question text, correction text, askers integer, day date, finding_id uuid, may_act boolean, state text,
        assignee uuid, reason text, changed_at timestamptz, asked_by uuid, before_task uuid, after_task uuid)
    language plpgsql stable as $$
#variable_conflict use_column
declare
    answered constant text[] := array(select jsonb_array_elements_text(a.value) from jsonb_each(agents) a);
begin
    return query
with own as materialized (
    select d as one, d.document_id, d.external_id, d.department, d.effective_to, d.updated_at,
        least(greatest(coalesce(d.effective_from, d.created_at::date), '1970-01-01'), today) as begins
    from documents d
    where d.tenant_id = app_tenant() and d.current_version > 0 and d.is_current and app_may_read(d.scope, d.department)
        and app_owns(array[d.department])
),
found as (
    select 'contradiction' as kind, h.key, case when t.told_at is null then 'found' else 'told' end as detail,
        coalesce(t.told_at, f.created_at) as since,
        array(select distinct d from unnest(array[h.department, h.other_department]) d order by d) as departments,
        jsonb_build_array(desk_document(one, h.sentence), desk_document(other, h.other_sentence)) as documents,
        t.questions[1] as question, '' as correction, coalesce(cardinality(t.questions), 0) as askers,
        null::date as day, h.key as finding_id,
        owns_both(h.document_id, h.other_document_id) as may_act, h.state as finding_state, h.handling
    from document_health(today, 30, 18) h
    join document_findings f on f.tenant_id = app_tenant() and f.finding_id = h.key
    join documents one on one.tenant_id = f.tenant_id and one.document_id = h.document_id
    join documents other on other.tenant_id = f.tenant_id and other.document_id = h.other_document_id
    left join desk_told() t on t.finding_id = h.key
    where h.kind = 'contradiction' and app_owns(array[h.department, h.other_department])
    union all
    select k.kind, o.document_id, k.detail, k.since, array[o.department],
        jsonb_build_array(desk_document(o.one, '')), null, '', 0, k.day, null, true, null, null
    from own o
    cross join lateral (values
        ('ending', 'expired', greatest(o.effective_to, '1970-01-01')::timestamptz, o.effective_to, o.effective_to < today),
        ('ending', 'expiring', today::timestamptz, o.effective_to,
            o.effective_to >= today and o.effective_to <= today + 30),
        ('ending', 'old', o.begins::timestamptz, o.begins,
            coalesce(o.effective_to, 'infinity') > today + 30 and o.begins < today - interval '18 months'),
        ('unused', 'no_agent', o.updated_at, null, o.department <> all(answered))
    ) k (kind, detail, since, day, holds)
    where k.holds and (k.kind <> 'ending' or o.external_id not in (select s.supersedes from documents s
        where s.tenant_id = app_tenant() and s.supersedes is not null and s.current_version > 0))
    union all
    select 'unused', o.document_id, 'not_cited', p.published + interval '1 year', array[o.department],
        jsonb_build_array(desk_document(o.one, '')), null, '', 0, null, null, true, null, null
    from own o
    join (select v.document_id, min(v.published_at) as published from document_versions v
        where v.tenant_id = app_tenant() and app_may_read(v.scope, v.department) group by v.document_id) p
        on p.document_id = o.document_id
    where p.published < now() - interval '1 year' and coalesce(o.effective_to, 'infinity') >= today
        and o.department = any(answered) and o.document_id not in (select desk_cited_since(now() - interval '1 year'))
    union all
    select 'correction', c.task_id, 'corrected', c.said_at, c.departments, c.documents, c.question, c.correction, 1, null,
        null, true, null, null
    from desk_corrections() c
    union all
    select 'unanswered', u.first_task, 'asked', u.asked_at, u.departments, '[]', u.question, '', u.askers, null, null,
        true, null, null
    from desk_unanswered(agents) u
)
select i.id, f.kind, f.detail, f.since, f.departments, f.documents, f.question, f.correction, f.askers, f.day,
    f.finding_id, f.may_act,
    case f.finding_state when 'open' then 'open' when 'decided' then 'done' when 'dismissed' then 'dismissed'
        else coalesce(s.state, 'open') end,
    case when f.handling is null then s.assignee else (f.handling ->> 'assignee')::uuid end,
    coalesce(f.handling ->> 'note', s.reason, ''),
    coalesce((f.handling ->> 'decided_at')::timestamptz, s.changed_at), s.asked_by, s.before_task, s.after_task
from found f
cross join lateral (select md5(f.kind || ' ' || f.key)::uuid as id) i
left join desk_items s on s.tenant_id = app_tenant() and s.item_id = i.id and app_owns(s.departments);
end $$;
