-- Labels that a node must have (JSON), and how requests find their replica.
alter table rules add column node_selector text not null default '{}';
alter table rules add column route_policy text not null default 'least_loaded';

-- Who may ask. Only a hash is kept; a key may end by time or by being revoked. Scopes and models are JSON, null models are all.
create table api_keys (
  id text primary key,
  name text not null,
  key_hash text not null unique,
  scopes text not null,
  models text,
  created_at bigint not null,
  expires_at bigint,
  last_used_at bigint,
  revoked_at bigint
);
