-- Since when a person is shut out, whatever token is brought; null = not.
alter table users add column disabled_at timestamptz;
