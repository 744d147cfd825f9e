drop trigger findings_come on document_findings;
drop trigger findings_change on document_findings;
drop trigger findings_go on document_findings;
drop function count_findings_change();
drop function known_contradictions(uuid[], date, boolean);
drop function document_health(date, integer, integer);
drop function days_since(date, date);
drop function waits_for_comparison(documents, date);
drop function versions_in_line(uuid[], integer, integer, integer);
drop function letters_of(uuid[], date);
drop function near_passages(uuid[], text, date, integer, float8);
drop function passages_to_compare(uuid, date, integer);
drop function is_compared(chunks, date);
drop function handle_finding(uuid, text, text, uuid, text, uuid);
drop function replace_findings(uuid, integer, jsonb, jsonb);
drop function finding_handling(document_findings);
drop function finding_judgement(document_findings);
drop function may_read_both(uuid, uuid);
revoke update on document_findings from conclave_app;
drop policy readers on document_findings;
drop policy adds on document_findings;
drop policy changes on document_findings;
drop policy removes on document_findings;
alter table document_findings no force row level security;
delete from document_findings where chunk_id is null or other_chunk_id is null;
alter table document_findings force row level security;
alter table document_findings
    drop constraint document_findings_tenant_id_chunk_id_fkey,
    drop constraint document_findings_tenant_id_other_chunk_id_fkey,
    alter column chunk_id set not null,
    alter column other_chunk_id set not null,
    add foreign key (tenant_id, chunk_id) references chunks on delete cascade,
    add foreign key (tenant_id, other_chunk_id) references chunks on delete cascade,
    drop column version, drop column other_version, drop column judge, drop column status, drop column verdict,
    drop column holds, drop column assignee, drop column decided_by, drop column decided_at, drop column note,
    drop column earlier;
do $$
declare
    readable constant text := 'tenant_id = app_tenant() and app_is_admin()
        and exists (select from chunks c where c.tenant_id = document_findings.tenant_id
            and c.chunk_id = document_findings.chunk_id and app_may_read(c.scope, c.department))
        and exists (select from chunks c where c.tenant_id = document_findings.tenant_id
            and c.chunk_id = document_findings.other_chunk_id and app_may_read(c.scope, c.department))';
begin
    execute format('create policy readers on document_findings for select to conclave_app using (%s)', readable);
    execute format('create policy adds on document_findings for insert to conclave_app with check (%s)', readable);
    execute format('create policy removes on document_findings for delete to conclave_app using (%s)', readable);
end $$;
