-- One portable text for SQLite and PostgreSQL: ids are text, times are bigint milliseconds, flags are 0/1,
-- JSON is text that is parsed at the edge. now_ms() is the store's own clock in both.

-- Who may act alone (the leader, for one). The epoch grows with every change of owner and fences what an old owner does late.
create table leases (
  name text primary key,
  owner text not null,
  epoch bigint not null,
  expires_at bigint not null
);

-- Approval, desired and liveness are three independent facts; the API derives one status from them. What a worker
-- declares and what an admin sets over it are kept apart, so that taking the override away brings the former back.
create table nodes (
  id text primary key,
  name text not null unique,
  public_key text not null unique,
  node_type text not null check (node_type in ('backend', 'agent')),
  address text not null,
  version text not null,
  approved_at bigint,
  desired text not null default 'active' check (desired in ('active', 'draining')),
  liveness text not null default 'offline' check (liveness in ('online', 'unreachable', 'offline')),
  -- When liveness last changed: nodes that went silent together are a lost network, not many lost machines.
  liveness_since bigint not null,
  -- Empty after a graceful goodbye: no heartbeat brings the node back, only a registration does.
  boot_id text not null,
  heartbeat_seq bigint not null default 0,
  last_heartbeat bigint,
  max_replicas_per_model integer not null default 1 check (max_replicas_per_model >= 1),
  max_replicas_override integer check (max_replicas_override >= 1),
  -- As written: "80%", "12GiB", bytes. Null is no cap.
  vram_budget text,
  vram_budget_override text,
  -- JSON: names of the engines the worker can run, and its GPUs.
  engines text not null default '[]',
  devices text not null default '[]',
  gpu_vendor text,
  total_ram bigint,
  available_ram bigint,
  total_disk bigint,
  available_disk bigint,
  registered_at bigint not null
);

-- One key may be set by several sources: an admin's value wins over the worker's, the worker's over the automatic one.
create table node_labels (
  node_id text not null references nodes (id) on delete cascade,
  key text not null,
  source text not null check (source in ('admin', 'worker', 'auto')),
  value text not null,
  primary key (node_id, key, source)
);

-- What lets a worker ask to join. Only a hash is kept; a token may end by time, by number of uses, or by being revoked.
create table join_tokens (
  id text primary key,
  name text not null,
  token_hash text not null unique,
  created_at bigint not null,
  expires_at bigint,
  max_uses integer check (max_uses >= 1),
  uses integer not null default 0,
  last_used_at bigint,
  revoked_at bigint
);

-- What happened, who did it and why; numbered without gaps in the order of commit, so that a reader can go on where it stopped.
create table events (
  id bigint primary key,
  at bigint not null,
  actor text not null,
  action text not null,
  node_id text,
  model_name text,
  reason text not null,
  data text not null default '{}'
);

create table models (
  name text primary key,
  engine text not null,
  options text not null default '{}',
  revision text not null,
  created_at bigint not null,
  updated_at bigint not null
);

-- How many replicas of a model to keep. The model need not exist yet; max 0 means no cap.
create table rules (
  model_name text primary key,
  min_replicas integer not null default 0 check (min_replicas >= 0),
  max_replicas integer not null default 0 check (max_replicas >= 0),
  updated_at bigint not null
);

-- Every row holds its slot on its node until it is deleted. (node, model, index) is unique for good.
create table replicas (
  id text primary key,
  node_id text not null references nodes (id) on delete cascade,
  model_name text not null,
  replica_index integer not null check (replica_index >= 0),
  generation bigint not null,
  revision text not null,
  state text not null,
  in_flight integer not null default 0,
  error text,
  -- Failed starts in a row for this slot, and the time before which the slot is not tried again.
  failures integer not null default 0,
  retry_at bigint,
  -- The first heartbeat that must mention this replica: an older one was written before the worker knew of it.
  known_from_seq bigint,
  created_at bigint not null,
  updated_at bigint not null,
  unique (node_id, model_name, replica_index)
);

create index replicas_by_model on replicas (model_name);
