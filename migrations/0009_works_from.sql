-- What the oldest program knows that may work on a store after a migration: so releases may run side by side for a while.
alter table schema_migrations add column works_from integer;
