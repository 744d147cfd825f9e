-- An administrator sees who of the tenant had models asked, and what it took: ids and counts, there is no text in it.
create policy administrators_look on model_calls for select to conclave_app
    using (tenant_id = app_tenant() and app_is_admin());
create index model_calls_of_tenant on model_calls (tenant_id, created_at);

-- The tasks of a tenant, newest first. Its columns never change, so that updates of a task stay on their page.
create index tasks_of_tenant on tasks (tenant_id, created_at, task_id);
