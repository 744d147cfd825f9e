-- What a person does with a conversation, and who made it: a person before the page or the command line, or a program.
-- Of what was there before nobody knows; it stays where people find it.
alter table sessions
    add column pinned boolean not null default false,
    add column archived boolean not null default false,
    add column origin text not null default 'page' check (origin in ('page', 'api'));

-- The words of a text in order, without case and accents, đ as d: `nghi phep` finds `nghỉ phép`. Says what
-- `app.text.language` says of folded words, in SQL, so that no way of writing a question or an answer can forget it, and
-- what was written before is found too. Never fails, as the end of a run would fail with it: a text counts up to 100,000
-- characters and a word up to 64. The collation is named, as the database's own may know no letters but ASCII.
create function words_said(said text) returns text[] language sql immutable strict parallel safe as $$
    select array(
        select left(word, 64) from regexp_split_to_table(
            lower(translate(
                regexp_replace(normalize(left(said, 100000), NFD),
                    '[\u0300-\u036f\u0001-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u200b-\u200f\u2060\ufeff]', '', 'g'),
                'đĐ', 'dd') collate pg_c_utf8),
            '[^[:alnum:]]+') as word
        where word <> '')
$$;

-- Question and answer of a turn; null for steps and for what is no conversation. Rewrites the table once.
alter table tasks add column said tsvector generated always as (
    case when parent_task_id is null and kind = 'chat' then array_to_tsvector(words_said(
        coalesce(request ->> 'query', '') || ' '
        || coalesce(nullif(result ->> 'answer', ''), result ->> 'fallback_answer', ''))) end) stored;
alter table sessions add column title_said tsvector
    generated always as (array_to_tsvector(words_said(title))) stored;

-- Each word stands behind the first letters of its owner (as `word_lookup` does it for tenants): in one index every person
-- has lists of their own, so looking a word up reads nobody else's, and takes as long as that word has turns of that
-- person. Where a superuser did not let row policies and word indexes work together (`superuser.sql`), the person's own
-- rows are read one by one, by the indexes that begin with tenant and user. Neither index hinders updates in place: their
-- columns change with a text, not with a lease.
create index tasks_said on tasks using gin (word_lookup.of_tenant(user_id, said))
    with (gin_pending_list_limit = 256) where said is not null;
create index sessions_title_said on sessions using gin (word_lookup.of_tenant(user_id, title_said))
    with (gin_pending_list_limit = 256);

-- The list: pinned first, then last used. Read from its end, in the order it is shown.
drop index sessions_by_use;
create index sessions_by_use on sessions (tenant_id, user_id, archived, pinned, updated_at, session_id);
