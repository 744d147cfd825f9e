alter table tenants drop column answer_mode;
