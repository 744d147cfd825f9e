drop function runs_without_job(interval, integer), lost_attempts(uuid[], uuid[], uuid[], integer[]);
drop policy delivery on tasks;
drop index tasks_unfinished;
drop table handoffs;
alter table tasks drop column expires_at, drop column root_attempt;
