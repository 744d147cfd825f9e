"""PostgreSQL: the only room with SQL. Every function takes a transaction opened for one principal."""
