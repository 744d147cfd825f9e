"""What a superuser does once for a database of the embedded server: roles, database, extension, trusted functions."""

from pathlib import Path

_PROVISION = """\
select format('create role %I login', name) from unnest(array[
  'conclave_owner', 'conclave_app', 'conclave_maintenance']) name
where not exists (select from pg_roles where rolname = name) \\gexec
select format('create database %I owner conclave_owner template %I', :'database', :'template')
where not exists (select from pg_database where datname = :'database') \\gexec
\\connect :"database"
create extension if not exists vector;
select coalesce(not proleakproof, true) as untrusted
from (select to_regprocedure('word_lookup.of_tenant(uuid, tsvector)') as oid) f left join pg_proc using (oid) \\gset
\\if :untrusted
{trust}
\\endif
"""
_SQL = Path(__file__).parents[2] / "migrations" / "sql"
_TRUST = ("0004_word_lookup.sql", "superuser.sql")
"""What lets row policies and word indexes work together; only a superuser can say so."""


def provisioning_script() -> str:
    """A psql script that may be run again; wants the variables ``database`` and ``template``."""
    trust = "\n".join((_SQL / name).read_text("utf-8") for name in _TRUST)
    return _PROVISION.replace("{trust}", trust)
