drop trigger provider_gives_way on users;
drop function provider_gives_way();
alter table users drop column provider;
drop function use_sign_in(bytea);
drop table sign_ins;
