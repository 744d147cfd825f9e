-- A version is made when a document arrives and goes through its stages; `documents` tells the stage of the newest one,
-- while `current_version` goes on being what is found (0: nothing yet).
alter table documents
    add column status_code text not null default '',
    add column latest_version integer not null default 0,
    -- Fields an administrator changed since the newest version arrived: they hold for that version too.
    add column amended jsonb not null default '{}',
    -- The end the bringer named; `effective_to` may be earlier, when another document takes this one's place.
    add column own_effective_to date;
-- Forced row security binds the owner too, who is nobody's principal here.
alter table documents no force row level security;
alter table document_versions no force row level security;
update documents set latest_version = current_version, own_effective_to = effective_to;

alter table document_versions
    alter column text set default '',
    add column draft jsonb not null default '{}',
    add column title text not null default '',
    add column effective_from date,
    add column effective_to date,
    add column kind text not null default 'markdown',
    add column file_name text not null default '',
    add column byte_count bigint not null default 0 check (byte_count >= 0),
    add column pages integer[] not null default '{}',
    add column warnings jsonb not null default '[]',
    add column is_parsed boolean not null default true,
    add column is_partial boolean not null default false,
    add column status text not null default 'ready'
        check (status in ('received', 'parsing', 'chunking', 'embedding', 'ready', 'partial', 'failed')),
    add column status_code text not null default '',
    add column status_detail text not null default '',
    add column chunks_total integer not null default 0 check (chunks_total >= 0),
    add column chunks_embedded integer not null default 0 check (chunks_embedded >= 0),
    add column heartbeat_at timestamptz not null default now(),
    add column task_id uuid,
    -- Hashes of what was embedded for it, so that it can all be forgotten again.
    add column passages text[] not null default '{}',
    add column published_at timestamptz;
update document_versions v set title = d.title, effective_from = d.effective_from, effective_to = d.effective_to,
    published_at = v.created_at
from documents d where d.tenant_id = v.tenant_id and d.document_id = v.document_id;
alter table documents force row level security;
alter table document_versions force row level security;
create index document_versions_of_task on document_versions (tenant_id, task_id) where task_id is not null;

alter table chunks
    add column page integer check (page > 0),
    add column passage_hash text not null default '';
create index chunks_of_passage on chunks (tenant_id, passage_hash);

create index documents_superseding on documents (tenant_id, supersedes) where supersedes is not null;

-- The bytes as they came; whoever may see a version may see what it was made from.
create table document_originals (
    tenant_id uuid not null,
    document_id uuid not null,
    version integer not null,
    content bytea not null,
    sha256 text not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, document_id, version),
    foreign key (tenant_id, document_id, version) references document_versions on delete cascade
);
alter table document_originals alter column content set storage external;
alter table document_originals enable row level security;
alter table document_originals force row level security;
revoke all on document_originals from public;
create policy readers on document_originals for select to conclave_app using (
    tenant_id = app_tenant() and exists (
        select from document_versions v where v.tenant_id = document_originals.tenant_id
            and v.document_id = document_originals.document_id and v.version = document_originals.version));
create policy admins_add on document_originals for insert to conclave_app
    with check (tenant_id = app_tenant() and app_is_admin());
create policy admins_remove on document_originals for delete to conclave_app
    using (tenant_id = app_tenant() and app_is_admin());
grant select, insert, delete on document_originals to conclave_app;

-- What is on its way is nobody's to read yet but the administrators'.
create policy published on document_versions as restrictive for select to conclave_app
    using (tenant_id = app_tenant() and (published_at is not null or app_is_admin()));

-- Whoever brought a version in sees it through its stages, also when its rights are wider than the bringer's own.
create policy bringer on document_versions for select to conclave_app
    using (tenant_id = app_tenant() and app_is_admin() and created_by = app_user());

create policy publishing on documents to current_user
    using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());
create policy publishing on embedding_cache to current_user
    using (tenant_id = app_tenant()) with check (tenant_id = app_tenant());

-- Which days the chunks of each version stand for: its own, up to the day before a later version begins. A version that
-- begins no later than the one that replaces it is wrong, not old: it stands for no day, and takes none from others.
create function version_days(of_tenant uuid, of_document uuid, current integer)
    returns table (version integer, effective_from date, effective_to date) language sql stable as $$
    select v.version, v.effective_from, least(v.effective_to, later.began - 1)
    from document_versions v
    cross join lateral (
        select min(coalesce(l.effective_from, '-infinity')) as began from document_versions l
        where l.tenant_id = of_tenant and l.document_id = of_document and l.version > v.version
            and l.version <= current and l.published_at is not null
            and (l.version = current or exists (
                select from chunks c
                where c.tenant_id = of_tenant and c.document_id = of_document and c.version = l.version))
    ) later
    where v.tenant_id = of_tenant and v.document_id = of_document and v.version < current
        and v.published_at is not null
        and later.began > coalesce(v.effective_from, '-infinity') and later.began > '-infinity'
$$;

-- The day from which a document says something: that of the oldest version that still stands for days of its own.
create function document_begins(of_tenant uuid, of_document uuid) returns date language sql stable strict security definer
    set search_path = public, pg_temp as $$
    select min(began) from (
        select coalesce(d.effective_from, d.created_at::date) as began from documents d
        where d.tenant_id = of_tenant and d.document_id = of_document and d.current_version > 0
        union all
        select coalesce(s.effective_from, (v.draft ->> 'created_at')::timestamptz::date, v.created_at::date)
        from documents d
        cross join lateral version_days(d.tenant_id, d.document_id, d.current_version) s
        join document_versions v on v.tenant_id = d.tenant_id and v.document_id = d.document_id and v.version = s.version
        where d.tenant_id = of_tenant and d.document_id = of_document and exists (
            select from chunks c
            where c.tenant_id = d.tenant_id and c.document_id = d.document_id and c.version = s.version)
    ) beginnings
    where app_is_admin()
$$;

-- Every published version has the document's rights; one on its way has those it will be published with: its own, and
-- what was changed since it arrived. A document that closes takes its older versions with it.
create or replace function publish_document() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    if new.amended ?| '{department,scope}' then
        update document_versions v set department = coalesce(new.amended ->> 'department', v.department),
            scope = coalesce(new.amended ->> 'scope', v.scope)
        where v.tenant_id = new.tenant_id and v.document_id = new.document_id and v.published_at is null;
    end if;
    if new.current_version = 0 then
        return null;
    end if;
    update document_versions v set title = new.title, effective_from = new.effective_from,
        effective_to = new.own_effective_to, published_at = coalesce(v.published_at, now())
    where v.tenant_id = new.tenant_id and v.document_id = new.document_id and v.version = new.current_version
        and (v.title, v.effective_from, v.effective_to) is distinct from
            (new.title, new.effective_from, new.own_effective_to);
    update document_versions v set department = new.department, scope = new.scope
    where v.tenant_id = new.tenant_id and v.document_id = new.document_id and v.published_at is not null
        and (v.department, v.scope) is distinct from (new.department, new.scope);
    if old.current_version = 0 then
        return null;  -- the first publication: its chunks were written just now, as it says
    end if;
    delete from chunks c
    where c.tenant_id = new.tenant_id and c.document_id = new.document_id and c.version < new.current_version
        and c.version not in (
            select d.version from version_days(new.tenant_id, new.document_id, new.current_version) d);
    update chunks c set department = new.department, scope = new.scope, effective_from = d.effective_from,
        effective_to = d.effective_to, is_current = new.is_current
    from (
        select new.current_version as version, new.effective_from, new.effective_to
        union all
        select v.version, v.effective_from, least(v.effective_to, new.effective_to)
        from version_days(new.tenant_id, new.document_id, new.current_version) v
    ) d
    where c.tenant_id = new.tenant_id and c.document_id = new.document_id and c.version = d.version
        and (c.department, c.scope, c.effective_from, c.effective_to, c.is_current)
            is distinct from (new.department, new.scope, d.effective_from, d.effective_to, new.is_current);
    update chunk_vectors v set department = c.department, scope = c.scope, effective_from = c.effective_from,
        effective_to = c.effective_to, is_current = c.is_current
    from chunks c
    where c.tenant_id = new.tenant_id and c.document_id = new.document_id
        and v.tenant_id = new.tenant_id and v.document_id = new.document_id and v.chunk_id = c.chunk_id
        and (v.department, v.scope, v.effective_from, v.effective_to, v.is_current)
            is distinct from (c.department, c.scope, c.effective_from, c.effective_to, c.is_current);
    return null;
end $$;

drop trigger documents_publish on documents;
create trigger documents_publish after update on documents
    for each row when (
        (old.title, old.department, old.scope, old.effective_from, old.effective_to, old.own_effective_to,
            old.current_version, old.is_current, old.amended)
        is distinct from
        (new.title, new.department, new.scope, new.effective_from, new.effective_to, new.own_effective_to,
            new.current_version, new.is_current, new.amended))
    execute function publish_document();

-- The stage of a version on its way changes nothing that can be found.
drop trigger documents_change_the_corpus on documents;
create trigger documents_come after insert on documents
    for each row when (new.current_version > 0) execute function count_corpus_change();
create trigger documents_go after delete on documents for each row execute function count_corpus_change();
create trigger documents_change_the_corpus after update on documents
    for each row when (
        (old.title, old.url, old.department, old.scope, old.lang, old.authority, old.created_at, old.effective_from,
            old.effective_to, old.supersedes, old.current_version, old.is_current)
        is distinct from
        (new.title, new.url, new.department, new.scope, new.lang, new.authority, new.created_at, new.effective_from,
            new.effective_to, new.supersedes, new.current_version, new.is_current))
    execute function count_corpus_change();

-- A document leaves nothing behind, also not the vectors that were kept for the next time.
create function forget_document() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
declare
    hashes text[];
begin
    select array_agg(distinct one.hash) into hashes
    from document_versions v cross join unnest(v.passages) as one (hash)
    where v.tenant_id = old.tenant_id and v.document_id = old.document_id;
    delete from embedding_cache e
    where e.tenant_id = old.tenant_id and e.content_hash = any(hashes) and e.content_hash not in (
        select c.passage_hash from chunks c
        where c.tenant_id = old.tenant_id and c.document_id <> old.document_id and c.passage_hash = any(hashes));
    return old;
end $$;
create trigger documents_leave_nothing before delete on documents
    for each row execute function forget_document();
