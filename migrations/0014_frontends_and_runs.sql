-- works from: 0011
-- Frontends that are or were there lately, with the sha256 of the admin key in the data folder of each, for all gateways.
create table frontends (
  owner text primary key,
  admin_key_hash text not null,
  seen_at bigint not null
);

-- Which run of its worker a node is. Null when a worker or a frontend of the release before has registered it.
alter table nodes add column run_id text;
-- The newest run that was refused, because the run above is connected: its id, where it called from, and when that was last.
alter table nodes add column refused_run text;
alter table nodes add column refused_address text;
alter table nodes add column refused_at bigint;
