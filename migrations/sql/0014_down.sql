alter table users drop column disabled_at;
