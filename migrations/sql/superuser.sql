-- To be run once per database by a superuser, after `0004_word_lookup.sql`; the embedded server and the compose file do.
-- Row policies stand before everything that is not leakproof, so without this PostgreSQL looks words up by reading every
-- chunk the asker may see: right, but slow from some thousand chunks on. Neither function tells anything about a row
-- but its result: neither raises, writes or waits.
alter function ts_match_vq(tsvector, tsquery) leakproof;
alter function word_lookup.of_tenant(uuid, tsvector) leakproof;
