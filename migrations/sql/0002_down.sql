drop trigger documents_leave_nothing on documents;
drop function forget_document();
drop trigger documents_change_the_corpus on documents;
drop trigger documents_come on documents;
drop trigger documents_go on documents;
create trigger documents_change_the_corpus after insert or update or delete on documents
    for each row execute function count_corpus_change();
drop trigger documents_publish on documents;
drop table document_originals;
drop policy bringer on document_versions;
drop policy published on document_versions;
drop policy publishing on documents;
drop policy publishing on embedding_cache;
alter table documents no force row level security;
alter table document_versions no force row level security;
alter table chunks no force row level security;
delete from document_versions where published_at is null;
delete from documents d where not exists (
    select from document_versions v where v.tenant_id = d.tenant_id and v.document_id = d.document_id);
delete from chunks c using documents d
where d.tenant_id = c.tenant_id and d.document_id = c.document_id and c.version <> d.current_version;
alter table documents force row level security;
alter table document_versions force row level security;
alter table chunks force row level security;
drop function document_begins(uuid, uuid);
drop function version_days(uuid, uuid, integer);
drop index chunks_of_passage, documents_superseding;
alter table chunks drop column page, drop column passage_hash;
alter table document_versions
    alter column text drop default, drop column draft, drop column title, drop column effective_from,
    drop column effective_to, drop column kind, drop column file_name, drop column byte_count, drop column pages,
    drop column warnings, drop column is_parsed, drop column is_partial, drop column status, drop column status_code,
    drop column status_detail, drop column chunks_total, drop column chunks_embedded, drop column heartbeat_at,
    drop column task_id, drop column passages, drop column published_at;
alter table documents drop column status_code, drop column latest_version, drop column amended,
    drop column own_effective_to;
create or replace function publish_document() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    if new.current_version <> old.current_version then
        delete from chunks c
        where c.tenant_id = new.tenant_id and c.document_id = new.document_id and c.version <> new.current_version;
    end if;
    update document_versions v set department = new.department, scope = new.scope
    where v.tenant_id = new.tenant_id and v.document_id = new.document_id
        and (v.department, v.scope) is distinct from (new.department, new.scope);
    update chunks c set department = new.department, scope = new.scope, effective_from = new.effective_from,
        effective_to = new.effective_to, is_current = new.is_current
    where c.tenant_id = new.tenant_id and c.document_id = new.document_id
        and (c.department, c.scope, c.effective_from, c.effective_to, c.is_current)
            is distinct from (new.department, new.scope, new.effective_from, new.effective_to, new.is_current);
    update chunk_vectors c set department = new.department, scope = new.scope, effective_from = new.effective_from,
        effective_to = new.effective_to, is_current = new.is_current
    where c.tenant_id = new.tenant_id and c.document_id = new.document_id
        and (c.department, c.scope, c.effective_from, c.effective_to, c.is_current)
            is distinct from (new.department, new.scope, new.effective_from, new.effective_to, new.is_current);
    return null;
end $$;
create trigger documents_publish after update on documents
    for each row when (
        (old.department, old.scope, old.effective_from, old.effective_to, old.current_version, old.is_current)
        is distinct from
        (new.department, new.scope, new.effective_from, new.effective_to, new.current_version, new.is_current))
    execute function publish_document();
