drop table if exists model_usage, model_calls;
