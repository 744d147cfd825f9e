#!/bin/sh
# Run once by the database container: the three roles, and the extension only a superuser can make.
set -eu
psql -v ON_ERROR_STOP=1 -v owner="$CONCLAVE_OWNER_PASSWORD" -v app="$CONCLAVE_APP_PASSWORD" \
  --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
create role conclave_owner login password :'owner';
create role conclave_app login password :'app';
create role conclave_maintenance nologin;
grant conclave_maintenance to conclave_owner;
create extension if not exists vector;
select format('alter database %I owner to conclave_owner', current_database()) \gexec
alter schema public owner to conclave_owner;
SQL
