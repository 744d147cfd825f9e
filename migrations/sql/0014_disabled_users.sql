-- Since when a person is shut out, whatever token is brought; null = not.
alter table users add column disabled_at timestamptz;

-- Links of answers open pages with http or https and paths of this service; what else was taken in opens the document itself.
-- The policies bind the owner too; this once it must see every tenant.
alter table documents no force row level security;
alter table documents disable trigger user;
update documents set url = '/api/v1/documents/' || document_id
where url !~* '^(https?://[^\s\\<>"''/?#][^\s\\<>"'']*|/([^\s\\<>"''/][^\s\\<>"'']*)?)?$';
alter table documents enable trigger user;
alter table documents force row level security;
