-- What a tenant wants of a model: that it writes, or that it quotes and nothing else.
alter table tenants add column answer_mode text not null default 'model' check (answer_mode in ('model', 'strict'));
