-- What an owner would answer to a question nobody could answer; an administrator brings it in as a document.
alter table desk_items add column answer jsonb;
