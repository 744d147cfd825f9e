drop function conflict_figures(timestamptz, uuid, integer, integer);
drop policy figures on conflicts;
drop index conflicts_of_user, conflicts_of_tenant;
