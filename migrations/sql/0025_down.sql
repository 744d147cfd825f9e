drop function desk_rows(date, jsonb), desk_document(documents, text), desk_told(), desk_corrections(),
    desk_unanswered(jsonb), desk_cited_since(timestamptz);
do $$
declare
    one text;
begin
    foreach one in array array['tasks', 'feedback', 'semantic_vectors', 'document_findings'] loop
        execute format('drop policy desk_looks on %I', one);
    end loop;
    execute replace(replace(pg_get_functiondef('replace_findings'::regproc),
        '(f.status <> ''open'' or f.judge = ''person'') and f.finding_id', 'f.status <> ''open'' and f.finding_id'),
        '(f.status = ''open'' and f.judge <> ''person'' or', '(f.status = ''open'' or');
    execute replace(pg_get_functiondef('handle_finding'::regproc),
        'case when to_status = ''open'' and f.status = ''open'' then f.judge when to_status = ''open'' then ''rule''',
        'case to_status when ''open'' then ''rule''');
end $$;
alter table feedback drop column for_owners;
drop policy tellers_add on document_findings;
drop policy owners_change on document_findings;
drop table desk_tellings, desk_items;
drop function was_weighed(uuid, uuid, uuid), owns_both(uuid, uuid), app_owns(text[]), app_is_keeper();
