-- What a session remembers: one row of semantic_vectors a turn, which goes with the turn, and a summary of its turns.
-- The rights a turn was answered under stand in its task (`principal`); the summary keeps those of all its turns
-- together ({"scopes": [...], "departments": [...]}): whoever holds fewer, or finds none there, is not shown it.
alter table sessions add column summary_rights jsonb;

alter table semantic_vectors add column task_id uuid;
alter table semantic_vectors add constraint semantic_vectors_of_a_turn
    foreign key (tenant_id, task_id, user_id) references tasks on delete cascade;
create unique index semantic_vectors_of_task on semantic_vectors (tenant_id, task_id, user_id);
