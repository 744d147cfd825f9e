-- What two documents say differently (or alike: a duplicate) is a row people decide. It is known by its documents and
-- sentences, so that a verdict outlives new versions as long as both sentences stand; the chunks are only where they
-- stand now.
alter table document_findings no force row level security;
alter table chunks no force row level security;
alter table document_findings
    add column version integer,
    add column other_version integer,
    -- Who says so: an examination by rules or by a model, or a person, whom neither overrules.
    add column judge text not null default 'rule' check (judge in ('rule', 'model', 'person')),
    add column status text not null default 'open' check (status in ('open', 'decided', 'dismissed')),
    add column verdict text check (verdict in ('holds', 'different_cases', 'no_contradiction')),
    -- The document that holds, by the verdict `holds`.
    add column holds uuid check (holds in (document_id, other_document_id)),
    add column assignee uuid,
    add column decided_by uuid,
    add column decided_at timestamptz,
    add column note text not null default '',
    -- The verdict before: a person took it back, or one of the sentences changed.
    add column earlier jsonb,
    add check ((status = 'decided') = (verdict is not null)),
    add check ((verdict is not null and verdict = 'holds') = (holds is not null)),
    add check ((status <> 'open') = (decided_at is not null and decided_by is not null and judge = 'person')),
    alter column chunk_id drop not null,
    alter column other_chunk_id drop not null,
    drop constraint document_findings_tenant_id_chunk_id_fkey,
    drop constraint document_findings_tenant_id_other_chunk_id_fkey,
    add foreign key (tenant_id, chunk_id) references chunks on delete set null (chunk_id),
    add foreign key (tenant_id, other_chunk_id) references chunks on delete set null (other_chunk_id);

-- The same whichever of the two documents was examined; `app.ingestion.comparison` says the same in Python.
create function finding_key(kind text, unit text, one uuid, other uuid, sentence text, other_sentence text)
    returns uuid language sql immutable return md5(
        least(one, other) || ' ' || greatest(one, other) || ' ' || kind || case kind when 'duplicate' then '' else
        ' ' || unit || E'\n' || case when one < other then sentence || E'\n' || other_sentence
            else other_sentence || E'\n' || sentence end end)::uuid;
delete from document_findings f using (
    select tenant_id, finding_id, row_number() over (
        partition by tenant_id, finding_key(kind, unit, document_id, other_document_id, sentence, other_sentence)
        order by score desc, finding_id) as place
    from document_findings) copies
where copies.place > 1 and f.tenant_id = copies.tenant_id and f.finding_id = copies.finding_id;
update document_findings f set version = c.version, other_version = o.version,
    finding_id = finding_key(f.kind, f.unit, f.document_id, f.other_document_id, f.sentence, f.other_sentence)
from chunks c, chunks o
where c.tenant_id = f.tenant_id and c.chunk_id = f.chunk_id and o.tenant_id = f.tenant_id
    and o.chunk_id = f.other_chunk_id;
drop function finding_key(text, text, uuid, uuid, text, text);
alter table document_findings force row level security;
alter table chunks force row level security;

-- As secret as the more secret of its documents, whose rights all their chunks and published versions have. Everybody
-- who may read both reads it, since answers go by it; administrators write.
drop policy readers on document_findings;
drop policy adds on document_findings;
drop policy removes on document_findings;
do $$
declare
    readable constant text := 'tenant_id = app_tenant() and 2 = (select count(*) from documents d
        where d.tenant_id = document_findings.tenant_id and d.current_version > 0
            and d.document_id in (document_findings.document_id, document_findings.other_document_id)
            and app_may_read(d.scope, d.department))';
    written constant text := readable || ' and app_is_admin()';
begin
    execute format('create policy readers on document_findings for select to conclave_app using (%s)', readable);
    execute format('create policy adds on document_findings for insert to conclave_app with check (%s)', written);
    execute format('create policy changes on document_findings for update to conclave_app using (%s) with check (%s)',
        written, written);
    execute format('create policy removes on document_findings for delete to conclave_app using (%s)', written);
end $$;
grant update on document_findings to conclave_app;

-- Answers go by findings, so what is remembered of answers ends when one comes, goes or is decided.
create function count_findings_change() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    update tenants set corpus_version = corpus_version + 1 where tenant_id in (select tenant_id from changed);
    return null;
end $$;
create trigger findings_come after insert on document_findings referencing new table as changed
    for each statement execute function count_findings_change();
create trigger findings_change after update on document_findings referencing new table as changed
    for each statement execute function count_findings_change();
create trigger findings_go after delete on document_findings referencing old table as changed
    for each statement execute function count_findings_change();

-- What statements over findings say themselves; the row policies say it again.
create function may_read_both(one uuid, other uuid) returns boolean language sql stable return 2 = (
    select count(*) from documents d where d.tenant_id = app_tenant() and d.document_id in (one, other)
        and d.current_version > 0 and app_may_read(d.scope, d.department));
create function finding_judgement(f document_findings) returns jsonb language sql stable return jsonb_build_object(
    'status', f.status, 'verdict', f.verdict, 'holds', f.holds, 'decided_by', f.decided_by, 'decided_at', f.decided_at,
    'note', f.note);
create function finding_handling(f document_findings) returns jsonb language sql stable return finding_judgement(f)
    || jsonb_build_object('finding_id', f.finding_id, 'judge', f.judge, 'assignee', f.assignee, 'earlier', f.earlier);

-- What a document is compared by: its passages in force that the caller may read, from their beginning; the passages of
-- other documents that lie nearest to each, by stored vectors of one space, on a common day from today on, without those
-- that one of the two replaces; and how long the documents are.
create function is_compared(c chunks, today date) returns boolean language sql stable return
    c.tenant_id = app_tenant() and app_may_read(c.scope, c.department) and c.is_current
    and coalesce(c.effective_to, 'infinity') >= today;
create function passages_to_compare(of_document uuid, today date, most integer)
    returns table (chunk_id uuid, document_id uuid, section text, text text, lang text, title text, day date)
    language sql stable as $$
    select c.chunk_id, c.document_id, c.section, c.text, d.lang, d.title, coalesce(d.effective_from, d.created_at::date)
    from chunks c join documents d on d.tenant_id = c.tenant_id and d.document_id = c.document_id
    where is_compared(c, today) and c.document_id = of_document
    order by c.version desc, c.position limit most
$$;
create function near_passages(of_chunks uuid[], space text, today date, most integer, at_least float8)
    returns table (mine uuid, similarity float8, chunk_id uuid, document_id uuid, section text, text text, lang text,
        title text, day date)
    language sql stable as $$
with asked as materialized (
    select v.chunk_id, v.document_id, v.embedding, v.effective_from, v.effective_to
    from chunk_vectors v
    where v.tenant_id = app_tenant() and app_may_read(v.scope, v.department) and v.chunk_id = any(of_chunks)
        and v.embedding_model = space
),
related as materialized (
    select o.document_id from documents d join documents o on o.tenant_id = d.tenant_id
    where d.tenant_id = app_tenant() and d.document_id in (select document_id from asked)
        and (o.document_id = d.document_id or o.external_id = d.supersedes or o.supersedes = d.external_id)
),
near as materialized (
    select asked.chunk_id, n.chunk_id as other_chunk_id, -n.distance as similarity
    from asked cross join lateral (
        select v.chunk_id, v.embedding <#> asked.embedding as distance
        from chunk_vectors v
        where v.tenant_id = app_tenant() and app_may_read(v.scope, v.department) and v.embedding_model = space
            and v.is_current and coalesce(v.effective_to, 'infinity') >= today
            and coalesce(v.effective_from, '-infinity') <= coalesce(asked.effective_to, 'infinity')
            and coalesce(asked.effective_from, '-infinity') <= coalesce(v.effective_to, 'infinity')
            and v.document_id <> all(array(select document_id from related))
        order by distance, v.chunk_id limit most
    ) n
    where n.distance <= -at_least
)
select near.chunk_id, near.similarity, c.chunk_id, c.document_id, c.section, c.text, d.lang, d.title,
    coalesce(d.effective_from, d.created_at::date)
from near
join chunks c on c.tenant_id = app_tenant() and c.chunk_id = near.other_chunk_id
join documents d on d.tenant_id = app_tenant() and d.document_id = c.document_id
order by near.chunk_id, near.similarity desc, c.chunk_id
$$;
create function letters_of(of_documents uuid[], today date) returns table (document_id uuid, letters integer)
    language sql stable as $$
    select c.document_id, sum(length(c.text))::integer from chunks c
    where is_compared(c, today) and c.document_id = any(of_documents) group by c.document_id
$$;

-- The versions of these documents, and of those they replace and are replaced by over at most `links` of them, newest
-- first for each; of each the first `letters` of its text.
create function versions_in_line(of_documents uuid[], links integer, letters integer, most integer)
    returns table (document_id uuid, external_id text, supersedes text, version integer, title text, url text,
        department text, scope text, language text, authority text, created_at timestamptz, effective_from date,
        effective_to date, published_at timestamptz, closes date, text text, planted text[])
    language sql stable as $$
with recursive line as (
    select d.document_id, d.external_id, d.supersedes, 0 as far from documents d
    where d.tenant_id = app_tenant() and app_may_read(d.scope, d.department) and d.current_version > 0
        and d.document_id = any(of_documents)
    union
    select o.document_id, o.external_id, o.supersedes, line.far + 1
    from line join documents o on o.tenant_id = app_tenant() and o.document_id <> line.document_id
        and (o.external_id = line.supersedes or o.supersedes = line.external_id)
    where line.far < links and app_may_read(o.scope, o.department) and o.current_version > 0
)
select d.document_id, d.external_id, d.supersedes, v.version, v.title, d.url, d.department, d.scope, d.lang,
    d.authority,
    case when v.version = d.current_version then d.created_at
        else coalesce((v.draft ->> 'created_at')::timestamptz, v.created_at) end,
    v.effective_from, v.effective_to, v.published_at, d.effective_to, left(v.text, letters),
    array(select jsonb_path_query(v.warnings, '$[*].sentences[*]') #>> '{}')
from documents d
join document_versions v on v.tenant_id = d.tenant_id and v.document_id = d.document_id
where d.tenant_id = app_tenant() and app_may_read(d.scope, d.department) and app_may_read(v.scope, v.department)
    and d.document_id in (select line.document_id from line) and v.published_at is not null
    and v.version <= d.current_version
order by d.document_id, v.version desc limit most
$$;

-- Put what was found of a document in the place of what the caller may see of it, and note who compared; false, and
-- nothing is written, when that version is not what is found any more. What a person said of a finding stays with it; of
-- one that was not found again, while the document's sentence stands (`said`: sentence to chunk). Else it lapses, and
-- what takes its place names it.
create function replace_findings(of_document uuid, of_version integer, told jsonb, said jsonb) returns boolean
    language plpgsql as $$
declare
    fresh constant uuid[] := array(select (one ->> 'finding_id')::uuid from jsonb_array_elements(told) one);
begin
    perform pg_advisory_xact_lock(hashtextextended('findings ' || app_tenant()::text, 0));
    if not exists (select from documents d where d.tenant_id = app_tenant() and d.document_id = of_document
            and d.current_version = of_version) then
        return false;
    end if;
    -- A passage that went away meanwhile is not written of; one that is there stays until the commit.
    insert into document_findings as known (tenant_id, finding_id, kind, document_id, chunk_id, other_document_id,
        other_chunk_id, unit, value, other_value, sentence, other_sentence, similarity, score, version, other_version)
    select app_tenant(), f.*, c.version, o.version
    from jsonb_to_recordset(told) as f (finding_id uuid, kind text, document_id uuid, chunk_id uuid,
        other_document_id uuid, other_chunk_id uuid, unit text, value text, other_value text, sentence text,
        other_sentence text, similarity real, score real)
    join chunks c on c.tenant_id = app_tenant() and c.chunk_id = f.chunk_id
    join chunks o on o.tenant_id = app_tenant() and o.chunk_id = f.other_chunk_id
    for key share of c, o
    on conflict (tenant_id, finding_id) do update set (document_id, chunk_id, other_document_id, other_chunk_id, value,
            other_value, sentence, other_sentence, similarity, score, version, other_version)
        = row(excluded.document_id, excluded.chunk_id, excluded.other_document_id, excluded.other_chunk_id,
            excluded.value, excluded.other_value, excluded.sentence, excluded.other_sentence, excluded.similarity,
            excluded.score, excluded.version, excluded.other_version)
    where (known.chunk_id, known.other_chunk_id, known.value, known.other_value, known.sentence, known.similarity,
            known.score)
        is distinct from (excluded.chunk_id, excluded.other_chunk_id, excluded.value, excluded.other_value,
            excluded.sentence, excluded.similarity, excluded.score);
    update document_findings f set
        (chunk_id, version) = row(case when f.document_id = of_document then c.chunk_id else f.chunk_id end,
            case when f.document_id = of_document then c.version else f.version end),
        (other_chunk_id, other_version) = row(
            case when f.document_id = of_document then f.other_chunk_id else c.chunk_id end,
            case when f.document_id = of_document then f.other_version else c.version end)
    from chunks c
    where f.tenant_id = app_tenant() and of_document in (f.document_id, f.other_document_id)
        and may_read_both(f.document_id, f.other_document_id) and f.status <> 'open' and f.finding_id <> all(fresh)
        and c.tenant_id = f.tenant_id and c.chunk_id = (said
            ->> case when f.document_id = of_document then f.sentence else f.other_sentence end)::uuid;
    with gone as (
        delete from document_findings f
        where f.tenant_id = app_tenant() and of_document in (f.document_id, f.other_document_id)
            and may_read_both(f.document_id, f.other_document_id) and f.finding_id <> all(fresh)
            and (f.status = 'open' or f.kind = 'duplicate'
                or not said ? case when f.document_id = of_document then f.sentence else f.other_sentence end)
        returning f.kind, f.unit, f.assignee, array[f.document_id, f.other_document_id] as pair,
            case f.status when 'open' then f.earlier else finding_judgement(f) end as earlier
    )
    update document_findings n set earlier = coalesce(gone.earlier, n.earlier),
        assignee = coalesce(n.assignee, gone.assignee)
    from gone
    where n.tenant_id = app_tenant() and n.status = 'open' and n.finding_id = any(fresh) and n.kind = gone.kind
        and n.unit = gone.unit and n.document_id = any(gone.pair) and n.other_document_id = any(gone.pair)
        and (gone.earlier is not null or gone.assignee is not null);
    insert into document_examinations (tenant_id, document_id, version, scopes, departments)
    values (app_tenant(), of_document, of_version, app_scopes(), app_departments())
    on conflict (tenant_id, document_id) do update set version = excluded.version, scopes = excluded.scopes,
        departments = excluded.departments, examined_at = now();
    return true;
end $$;

-- Write what an administrator says of a finding; what was said before becomes the earlier verdict.
create function handle_finding(one uuid, to_status text, says text, which uuid, why text, by_whom uuid)
    returns jsonb language sql as $$
    update document_findings f set status = to_status, judge = case to_status when 'open' then 'rule' else 'person' end,
        verdict = says, holds = which, note = why, assignee = by_whom,
        earlier = case f.status when 'open' then f.earlier else finding_judgement(f) end,
        decided_by = case when to_status <> 'open' then app_user() end,
        decided_at = case when to_status <> 'open' then now() end
    where f.tenant_id = app_tenant() and f.finding_id = one and may_read_both(f.document_id, f.other_document_id)
    returning finding_handling(f)
$$;

-- Whether nobody with the caller's rights has compared a document in force as it is now.
create function waits_for_comparison(d documents, today date) returns boolean language sql stable return
    d.is_current and d.current_version > 0 and coalesce(d.effective_to, 'infinity') >= today
    and app_may_read(d.scope, d.department) and not exists (select from document_examinations e
        where e.tenant_id = d.tenant_id and e.document_id = d.document_id and e.version = d.current_version
            and e.scopes @> app_scopes() and e.departments @> app_departments() and e.examined_at >= d.updated_at);

-- Days since; the first and the last day of all are kept as infinite ones.
create function days_since(day date, today date) returns integer language sql immutable return
    today - greatest(least(day, '9999-12-30'), '0001-01-02');

-- What is wrong with the documents of the tenant: gravest rank first, then the heaviest. `soon` days before its last, and
-- `old` months after its first day, a document counts as stale.
create function document_health(today date, soon integer, old integer)
    returns table (kind text, rank integer, weight float8, key uuid, document_id uuid, chunk_id uuid, section text,
        value text, sentence text, other_document_id uuid, other_chunk_id uuid, other_section text, other_value text,
        other_sentence text, unit text, score float8, detail text, day date, state text, handling jsonb,
        external_id text, title text, url text, department text, scope text, other_external_id text, other_title text,
        other_url text, other_department text, other_scope text)
    language sql stable as $$
with items as materialized (
    select f.kind, case f.kind when 'contradiction' then 0 else 1 end as rank, f.score::float8 as weight,
        f.finding_id as key, f.document_id, f.chunk_id, c.section, f.value, f.sentence, f.other_document_id,
        f.other_chunk_id, o.section as other_section, f.other_value, f.other_sentence, f.unit,
        f.score::float8 as score, '' as detail, null::date as day, f.status as state, finding_handling(f) as handling
    from document_findings f
    join chunks c on c.tenant_id = f.tenant_id and c.chunk_id = f.chunk_id
    join chunks o on o.tenant_id = f.tenant_id and o.chunk_id = f.other_chunk_id
    where f.tenant_id = app_tenant() and app_may_read(c.scope, c.department) and app_may_read(o.scope, o.department)
        and c.is_current and coalesce(c.effective_to, 'infinity') >= today
        and o.is_current and coalesce(o.effective_to, 'infinity') >= today
        and coalesce(c.effective_from, '-infinity') <= coalesce(o.effective_to, 'infinity')
        and coalesce(o.effective_from, '-infinity') <= coalesce(c.effective_to, 'infinity')
        and not exists (select from documents a join documents b on b.tenant_id = a.tenant_id
            where a.tenant_id = f.tenant_id and a.document_id in (f.document_id, f.other_document_id)
                and b.document_id in (f.document_id, f.other_document_id) and a.supersedes = b.external_id)
    union all
    select k.kind, k.rank, k.weight::float8, d.document_id, d.document_id, null, null, '', '', null, null, null, '', '',
        '', 1, case when k.rank < 4 then d.status_detail else '' end, k.day, 'open', null
    from documents d cross join lateral (values
        ('failed', 2, 0, d.status = 'failed', null::date),
        ('partial', 3, 0, d.status = 'partial', null),
        ('empty', 4, 0, d.status in ('ready', 'partial') and app_may_read(d.scope, d.department) and not exists (
            select from chunks c where c.tenant_id = d.tenant_id and c.document_id = d.document_id), null),
        ('expired', 5, days_since(d.effective_to, today), d.effective_to < today, d.effective_to),
        ('expiring', 6, days_since(d.effective_to, today),
            d.effective_to >= today and d.effective_to <= today + soon, d.effective_to),
        ('old', 7, days_since(coalesce(d.effective_from, d.created_at::date), today),
            coalesce(d.effective_to, 'infinity') >= today
            and coalesce(d.effective_from, d.created_at::date) < today - make_interval(months => old),
            coalesce(d.effective_from, d.created_at::date)),
        ('not_compared', 8, 0, waits_for_comparison(d, today), null)
    ) k (kind, rank, weight, holds, day)
    where d.tenant_id = app_tenant() and app_is_admin() and k.holds
        and (k.rank not between 5 and 7 or d.is_current and d.current_version > 0 and not exists (
            select from documents s where s.tenant_id = d.tenant_id and s.supersedes = d.external_id
                and s.current_version > 0))
)
select i.*, d.external_id, d.title, d.url, d.department, d.scope, p.external_id, p.title, p.url, p.department, p.scope
from items i
join documents d on d.tenant_id = app_tenant() and d.document_id = i.document_id
left join documents p on p.tenant_id = app_tenant() and p.document_id = i.other_document_id
$$;

-- What is known of these chunks and others they contradict, from either side, with the other one as it is found on that
-- day (with `old_too` also what was superseded). What a person dismissed does not count. Planned once in a
-- connection: planning takes longer than looking.
create function known_contradictions(of_chunks uuid[], on_day date, old_too boolean)
    returns table (chunk_id uuid, sentence text, other jsonb, other_sentence text, verdict text, holds uuid,
        decided_on date)
    language plpgsql stable set plan_cache_mode = 'force_generic_plan' as $$
#variable_conflict use_column
begin
    return query select s.mine, s.sentence, jsonb_build_object('chunk_id', c.chunk_id, 'document_id', c.document_id,
            'external_id', d.external_id, 'title', d.title, 'section', c.section, 'text', c.text, 'page', c.page,
            'url', d.url, 'department', c.department, 'scope', c.scope, 'language', d.lang, 'created_at', d.created_at,
            'effective_from', c.effective_from, 'effective_to', c.effective_to, 'authority', d.authority,
            'similarity', 0, 'text_rank', 0, 'relevance_score', 0, 'fused_score', 0),
        s.other_sentence, f.verdict, f.holds,
        (f.decided_at at time zone (select t.time_zone from tenants t where t.tenant_id = f.tenant_id))::date
    from document_findings f
    cross join lateral (
        values (f.document_id, f.chunk_id, f.sentence, f.other_document_id, f.other_chunk_id, f.other_sentence),
            (f.other_document_id, f.other_chunk_id, f.other_sentence, f.document_id, f.chunk_id, f.sentence)
    ) s (own, mine, sentence, foreign_id, theirs, other_sentence)
    -- Joins, not `may_read_both`: a function would be called for every row.
    join documents o on o.tenant_id = f.tenant_id and o.document_id = s.own and app_may_read(o.scope, o.department)
    join documents d on d.tenant_id = f.tenant_id and d.document_id = s.foreign_id
        and app_may_read(d.scope, d.department)
    join chunks c on c.tenant_id = f.tenant_id and c.chunk_id = s.theirs and app_may_read(c.scope, c.department)
    where f.tenant_id = app_tenant() and (f.chunk_id = any(of_chunks) or f.other_chunk_id = any(of_chunks))
        and s.mine = any(of_chunks) and f.kind = 'contradiction' and f.status <> 'dismissed'
        and (s.theirs = any(of_chunks) or (c.is_current or old_too) and on_day between
            coalesce(c.effective_from, '-infinity') and coalesce(c.effective_to, 'infinity'))
    limit 200;
end $$;
