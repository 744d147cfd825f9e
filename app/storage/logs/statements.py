"""The statements over system log lines. Each names tenant, scopes and departments itself, beside the row policies.

Words are compared line by line: under row policies PostgreSQL uses no text index, as its operators are not leakproof.
What is cheap goes first: a piece of text is looked for before a word's beginning is.
"""

INSERT = """
insert into system_logs (tenant_id, logged_at, source, level, department, scope, message, occurrence)
select $1, line.* from unnest(
    $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::integer[]) as line
on conflict do nothing
"""
_MATCHING = """
from system_logs
where tenant_id = $1 and scope = any($2::text[])
  and (scope <> 'private' or department = 'general' or department = any($3::text[]))
  and (cardinality($4::text[]) = 0 or department = any($4::text[]))
  and ($5::timestamptz is null or logged_at >= $5) and ($6::timestamptz is null or logged_at < $6)
  and (cardinality($7::text[]) = 0 or level = any($7::text[]))
  and ($8::text = '' or starts_with(lower(source), lower($8::text)))
  and ($12::text = '' or strpos(lower(message), lower($12::text)) > 0)
  and case when cardinality($9::text[]) = 0 then true
           when $11::boolean then case when lower(message) like any($10::text[])
                                       then lower(message) ~ any($9::text[]) else false end
           else case when lower(message) like all($10::text[]) then lower(message) ~ all($9::text[]) else false end
      end
"""
_SUMS = "sum(lines)::bigint as lines, min(first) as first, max(last) as last"
_NO_LINE = "null::timestamptz, null::text, null::text, null::text, null::text, null::text"
SUMMARISE = f"""
with grouped as materialized (
    select source, level, kind, count(*) as lines, min(logged_at) as first, max(logged_at) as last
    {_MATCHING}
    group by source, level, kind
), kinds as (
    select level, kind, {_SUMS} from grouped group by level, kind order by lines desc, last desc, kind limit $13
)
select 'all' as part, '' as name, coalesce(sum(lines), 0)::bigint as lines, min(first) as first, max(last) as last,
       {_NO_LINE} from grouped
union all (
    select 'source', source, {_SUMS}, {_NO_LINE} from grouped group by source order by lines desc, source limit $13)
union all (
    select 'level', level, {_SUMS}, {_NO_LINE} from grouped group by level order by lines desc, level limit $13)
union all (
    select 'kind', '', kinds.lines, kinds.first, kinds.last, newest.* from kinds cross join lateral (
        select logged_at, source, level, department, scope, message
        {_MATCHING} and logged_at = kinds.last and level = kinds.level and kind = kinds.kind
        order by source, message limit 1
    ) as newest
    order by kinds.lines desc, kinds.last desc
)
"""
"""Everything about the matching lines in one pass over them; the newest line of each kind is looked up by its time."""
COUNT = f"""
select coalesce(sum(lines), 0)::bigint as total, min(first) as first, max(last) as last
from (select count(*) as lines, min(logged_at) as first, max(logged_at) as last {_MATCHING}) as counted
"""
PAGE = f"""
select logged_at, source, level, department, scope, message, kind, content_hash, occurrence
{_MATCHING}
  and ($13::timestamptz is null or (logged_at, content_hash, occurrence) < ($13, $14::bigint, $15::integer))
order by logged_at desc, content_hash desc, occurrence desc
"""
