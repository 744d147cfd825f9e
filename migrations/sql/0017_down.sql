drop index sessions_by_use;
create index sessions_by_use on sessions (tenant_id, user_id, updated_at desc, session_id);
drop index tasks_said, sessions_title_said;
alter table tasks drop column said;
alter table sessions drop column title_said, drop column pinned, drop column archived, drop column origin;
drop function words_said(text);
