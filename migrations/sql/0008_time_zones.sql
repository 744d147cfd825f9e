-- What "today" and "yesterday" mean to the people of a tenant.
alter table tenants add column time_zone text not null default 'Asia/Ho_Chi_Minh';
