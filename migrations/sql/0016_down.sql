drop function use_key(bytea);
drop table api_keys;
drop function is_service_user(uuid), keep_old_secret();
