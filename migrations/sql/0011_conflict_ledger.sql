-- The conflict ledger is listed newest first: a person's own, or a tenant's.
create index conflicts_of_user on conflicts (tenant_id, user_id, created_at);
create index conflicts_of_tenant on conflicts (tenant_id, created_at);

-- What an administrator may see of the tenant's conflicts: which documents, how they were weighed, what was decided. Not
-- who asked what, and no word of a document; nor which file somebody brought along. Runs as the owner, for the tenant of
-- the transaction alone and only for its administrators; outside of it the owner sees no conflict.
create policy figures on conflicts for select to current_user
    using (session_user <> current_user and tenant_id = app_tenant() and app_is_admin());
create function conflict_figures(since timestamptz, run uuid, place integer, most integer)
    returns table (task_id uuid, number integer, created_at timestamptz, details jsonb)
    language sql stable security definer set search_path = public, pg_temp as $$
    select root_task_id, (c.details ->> 'number')::integer, c.created_at,
        c.details - 'subject' || jsonb_build_object(
            'winner', (c.details -> 'winner') - told
                - (case when c.details #>> '{winner,kind}' = 'document' then '' else 'document_id' end),
            'loser', (c.details -> 'loser') - told
                - (case when c.details #>> '{loser,kind}' = 'document' then '' else 'document_id' end))
    from conflicts c, (values ('{claim,title,url}'::text[])) words (told)
    where tenant_id = app_tenant() and c.details ? 'number' and (since is null
        or (c.created_at, root_task_id, (c.details ->> 'number')::integer) < (since, run, place))
    order by c.created_at desc, root_task_id desc, (c.details ->> 'number')::integer desc limit most
$$;
revoke all on function conflict_figures(timestamptz, uuid, integer, integer) from public;
grant execute on function conflict_figures(timestamptz, uuid, integer, integer) to conclave_app;
