drop function drop_embedding_space(text);
drop function switch_embedding_space(text);
alter trigger documents_then_change_the_corpus on documents rename to documents_change_the_corpus;
create or replace function count_corpus_change() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
begin
    update tenants set corpus_version = corpus_version + 1 where tenant_id = coalesce(new.tenant_id, old.tenant_id);
    return null;
end $$;

-- Also what was made for single tenants.
do $$
declare
    one regclass;
begin
    for one in select indexrelid::regclass from pg_index
        where indrelid in ('chunks'::regclass, 'chunk_vectors'::regclass) and indpred is not null
    loop
        execute format('drop index %s', one);
    end loop;
end $$;
alter table chunks reset (toast_tuple_target);
alter table chunks alter column tsv set storage extended, alter column tsv_folded set storage extended;
drop index chunks_words;
drop index chunks_folded_words;
create index chunks_tsv on chunks using gin (tsv);
create index chunks_tsv_folded on chunks using gin (tsv_folded);
drop index chunk_vectors_of_department;
create index chunk_vectors_of_department on chunk_vectors (tenant_id, embedding_model, department, scope);

do $$
declare
    one text;
begin
    foreach one in array array['chunks', 'chunk_vectors'] loop
        execute format(
            'alter policy readers on %I using (tenant_id = app_tenant() and app_may_read(scope, department))', one);
    end loop;
end $$;
alter policy readers on documents
    using (tenant_id = app_tenant() and (app_may_read(scope, department) or app_is_admin()));
alter table tenants drop column embedding_space, drop column own_indexes;

-- A function a superuser made stays where it is.
do $$
begin
    drop schema word_lookup cascade;
exception
    when insufficient_privilege then null;
end $$;
