-- Which vectors of a tenant are searched (null: none are there yet), and for which spaces it has an index of its own:
-- {space: chunks when they were last counted}.
alter table tenants
    add column embedding_space text,
    add column own_indexes jsonb not null default '{}';
-- The policies bind the owner too; this once it must see every tenant.
alter table tenants no force row level security;
alter table chunk_vectors no force row level security;
update tenants t set embedding_space = (
    select v.embedding_model from chunk_vectors v where v.tenant_id = t.tenant_id
    group by v.embedding_model order by count(*) desc, v.embedding_model limit 1);
alter table tenants force row level security;
alter table chunk_vectors force row level security;

-- The scopes of who asks are read once a statement, not once a row: on a scan that alone was half of the time. (The tenant
-- is compared once anyway, as every statement names it, too; departments are asked for private rows only.)
do $$
declare
    one text;
    may_read constant text := 'scope = any ((select app_scopes())::text[])
        and (scope <> ''private'' or department = ''general'' or department = any (app_departments()))';
begin
    foreach one in array array['chunks', 'chunk_vectors'] loop
        execute format('alter policy readers on %I using (tenant_id = app_tenant() and %s)', one, may_read);
    end loop;
    execute format(
        'alter policy readers on documents using (tenant_id = app_tenant() and ((%s) or app_is_admin()))', may_read);
end $$;

-- Counting what somebody may see reads the index alone.
drop index chunk_vectors_of_department;
create index chunk_vectors_of_department on chunk_vectors (tenant_id, embedding_model, department, scope)
    include (is_current, effective_from, effective_to);

-- Lists of words that all tenants shared become lists of each tenant's own. New chunks wait in a short queue, which every
-- search reads: long enough to be sorted in three times as fast as one by one, too short to be noticed.
drop index chunks_tsv;
drop index chunks_tsv_folded;
create index chunks_words on chunks using gin (word_lookup.of_tenant(tenant_id, tsv))
    with (gin_pending_list_limit = 256);
create index chunks_folded_words on chunks using gin (word_lookup.of_tenant(tenant_id, tsv_folded))
    with (gin_pending_list_limit = 256);
-- Words stay in the row, as they are read of every chunk that is ranked; the text goes out of it first.
alter table chunks alter column tsv set storage main, alter column tsv_folded set storage main;
alter table chunks set (toast_tuple_target = 4080);

-- The space a tenant is searched in is that of its first vectors, until it is switched or none of them are left.
create or replace function count_corpus_change() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    update tenants t set corpus_version = t.corpus_version + 1, embedding_space = case
        when exists (select from chunk_vectors v
            where v.tenant_id = t.tenant_id and v.embedding_model = t.embedding_space) then t.embedding_space
        else (select v.embedding_model from chunk_vectors v where v.tenant_id = t.tenant_id limit 1) end
    where t.tenant_id = coalesce(new.tenant_id, old.tenant_id);
    return null;
end $$;

-- Triggers fire in the order of their names; this one must see what publishing left of the old vectors.
alter trigger documents_change_the_corpus on documents rename to documents_then_change_the_corpus;

-- Search the tenant in another space, if every chunk has its vector there. Gives the number of chunks that have none; an
-- administrator need not be able to read them for that, so this runs as the owner.
create function switch_embedding_space(space text) returns bigint language plpgsql security definer
    set search_path = public, pg_temp as $$
declare
    missing bigint;
begin
    if app_is_admin() is not true then
        raise insufficient_privilege using message = 'only an administrator changes the space that is searched';
    end if;
    perform pg_advisory_xact_lock(hashtextextended('documents ' || app_tenant(), 0));
    select count(*) into missing from chunks c
    where c.tenant_id = app_tenant() and not exists (
        select from chunk_vectors v
        where v.tenant_id = c.tenant_id and v.chunk_id = c.chunk_id and v.embedding_model = space);
    if missing = 0 then
        update tenants set embedding_space = space, corpus_version = corpus_version + 1
        where tenant_id = app_tenant() and embedding_space is distinct from space;
    end if;
    return missing;
end $$;

-- Remove the vectors of a space that is not searched; gives how many there were.
create function drop_embedding_space(space text) returns bigint language plpgsql security definer
    set search_path = public, pg_temp as $$
declare
    removed bigint;
begin
    if app_is_admin() is not true then
        raise insufficient_privilege using message = 'only an administrator removes vectors';
    end if;
    delete from chunk_vectors v using tenants t
    where t.tenant_id = app_tenant() and v.tenant_id = t.tenant_id and v.embedding_model = space
        and t.embedding_space is not null and t.embedding_space <> space;
    get diagnostics removed = row_count;
    return removed;
end $$;
revoke all on function switch_embedding_space(text), drop_embedding_space(text) from public;
grant execute on function switch_embedding_space(text), drop_embedding_space(text) to conclave_app;
