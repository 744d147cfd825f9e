-- A tenant leaves: every row of it in every table. The operator's role reads no document and removes no audit row, so a
-- function does it as the owner, for the one tenant named, and only for members of the operator's role.
create function app_leaving() returns uuid language sql stable return case
    when pg_has_role(session_user, 'conclave_maintenance', 'member')
    then nullif(current_setting('app.leaving', true), '')::uuid end;

-- Every table with tenants in it needs this; later migrations call it for theirs.
create function let_leave(one regclass) returns void language plpgsql as $$
begin
    execute format('create policy leaving_is_seen on %s for select to %I using (tenant_id = app_leaving())',
        one, current_user);
    execute format('create policy leaving on %s for delete to %I using (tenant_id = app_leaving())', one, current_user);
end $$;
revoke execute on function let_leave(regclass) from public;

create function tables_of_tenants() returns setof regclass language sql stable as $$
    select c.oid::regclass from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and a.attname = 'tenant_id' and not a.attisdropped
    order by c.relname
$$;
select let_leave(one) from tables_of_tenants() one;

-- Gives how many rows went, by table; those that went with the row they hang on are not counted. People under legal hold
-- keep their tenant. What triggers write about the removal goes, too.
create function remove_tenant(of_tenant uuid) returns table (part text, gone bigint) language plpgsql
    security definer set search_path = public, pg_temp as $$
declare
    one regclass;
begin
    if not pg_has_role(session_user, 'conclave_maintenance', 'member') then
        raise insufficient_privilege using message = 'only the operator removes a tenant';
    end if;
    perform set_config('app.leaving', of_tenant::text, true);
    if exists (select from users u where u.tenant_id = of_tenant and u.legal_hold) then
        raise object_in_use using message = 'people of the tenant are under legal hold';
    end if;
    for round in 1..2 loop
        for one in select * from tables_of_tenants() loop
            execute format('delete from %s where tenant_id = $1', one) using of_tenant;
            get diagnostics gone = row_count;
            part := one::text;
            if gone > 0 and round = 1 then
                return next;
            end if;
        end loop;
        set constraints all immediate;
    end loop;
    delete from pgqueuer where payload is not null
        and convert_from(payload, 'UTF8')::jsonb ->> 'tenant_id' = of_tenant::text;
    perform set_config('app.leaving', '', true);
end $$;
revoke execute on function remove_tenant(uuid) from public;
grant execute on function remove_tenant(uuid) to conclave_maintenance;
