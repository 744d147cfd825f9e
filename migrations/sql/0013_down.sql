drop index tasks_of_tenant;
drop index model_calls_of_tenant;
drop policy administrators_look on model_calls;
