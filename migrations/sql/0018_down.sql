drop trigger people_are_audited on users;
drop trigger rights_are_audited on users;
drop trigger questions_are_audited on tasks;
drop trigger answers_are_audited on tasks;
drop trigger audit_is_chained on audit;
drop function remove_audit(uuid, timestamptz, integer), audit_person(), audit_question(), chain_audit(), audit_hash(audit);
drop index documents_by_url;
drop policy holds_are_seen on users;
drop policy acts_are_added on audit;
drop policy oldest_are_seen on audit;
drop policy oldest_go on audit;
drop policy auditors_look on audit;
create policy administrators_look on audit for select to conclave_app
    using (tenant_id = app_tenant() and app_is_admin());
alter table audit drop column seq, drop column previous_hash, drop column hash;
drop table audit_heads;
drop function app_is_auditor();
alter table users drop column legal_hold;
