-- The words of a chunk, each behind the first letters of its tenant: in one index every tenant has lists of its own, so
-- that looking a word up reads nothing of anybody else. In a schema of its own, as a superuser may have made it before.
create schema if not exists word_lookup;
grant usage on schema word_lookup to public;
create or replace function word_lookup.of_tenant(tenant uuid, words tsvector) returns tsvector
    language sql immutable strict parallel safe as $$
    select array_to_tsvector(array(
        select left(tenant::text, 8) || word from unnest(tsvector_to_array(words)) as word))
$$;
