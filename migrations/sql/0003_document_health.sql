-- Two passages that contradict or repeat each other. A finding quotes both, so it is as secret as the more secret of the
-- two: whoever may not read one of them sees no finding at all, not even that there is one. The rights are read from
-- the chunks, never copied, and a finding goes with the chunks it speaks of.
create table document_findings (
    tenant_id uuid not null,
    finding_id uuid not null,
    kind text not null check (kind in ('contradiction', 'duplicate')),
    document_id uuid not null,
    chunk_id uuid not null,
    other_document_id uuid not null check (other_document_id <> document_id),
    other_chunk_id uuid not null,
    -- What is counted in a contradiction (day, VND …); empty for a duplicate.
    unit text not null default '',
    value text not null default '',
    other_value text not null default '',
    sentence text not null,
    other_sentence text not null,
    similarity real not null,
    score real not null check (score between 0 and 1),
    created_at timestamptz not null default now(),
    primary key (tenant_id, finding_id),
    foreign key (tenant_id, document_id) references documents on delete cascade,
    foreign key (tenant_id, chunk_id) references chunks on delete cascade,
    foreign key (tenant_id, other_document_id) references documents on delete cascade,
    foreign key (tenant_id, other_chunk_id) references chunks on delete cascade
);
create index document_findings_of_document on document_findings (tenant_id, document_id);
create index document_findings_of_other_document on document_findings (tenant_id, other_document_id);
create index document_findings_of_chunk on document_findings (tenant_id, chunk_id);
create index document_findings_of_other_chunk on document_findings (tenant_id, other_chunk_id);

-- Which version of a document was compared last, and by whose rights: somebody who may read more compares it again.
create table document_examinations (
    tenant_id uuid not null,
    document_id uuid not null,
    version integer not null,
    scopes text[] not null,
    departments text[] not null,
    examined_at timestamptz not null default now(),
    primary key (tenant_id, document_id),
    foreign key (tenant_id, document_id) references documents on delete cascade
);

do $$
declare
    one text;
    readable constant text := 'tenant_id = app_tenant() and app_is_admin()
        and exists (select from chunks c where c.tenant_id = document_findings.tenant_id
            and c.chunk_id = document_findings.chunk_id and app_may_read(c.scope, c.department))
        and exists (select from chunks c where c.tenant_id = document_findings.tenant_id
            and c.chunk_id = document_findings.other_chunk_id and app_may_read(c.scope, c.department))';
begin
    foreach one in array array['document_findings', 'document_examinations'] loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('revoke all on %I from public', one);
    end loop;
    execute format('create policy readers on document_findings for select to conclave_app using (%s)', readable);
    execute format('create policy adds on document_findings for insert to conclave_app with check (%s)', readable);
    execute format('create policy removes on document_findings for delete to conclave_app using (%s)', readable);
end $$;
create policy admins on document_examinations to conclave_app
    using (tenant_id = app_tenant() and app_is_admin()) with check (tenant_id = app_tenant() and app_is_admin());
grant select, insert, delete on document_findings to conclave_app;
grant select, insert, update, delete on document_examinations to conclave_app;
