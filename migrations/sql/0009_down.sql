alter table semantic_vectors drop column task_id;
alter table sessions drop column summary_rights;
