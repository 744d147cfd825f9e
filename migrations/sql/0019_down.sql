drop function remove_tenant(uuid);
do $$
declare
    one regclass;
begin
    for one in select * from tables_of_tenants() loop
        execute format('drop policy leaving on %s', one);
        execute format('drop policy leaving_is_seen on %s', one);
    end loop;
end $$;
drop function let_leave(regclass), tables_of_tenants(), app_leaving();
