alter table tenants drop column time_zone;
