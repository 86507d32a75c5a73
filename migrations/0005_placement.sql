-- What a replica of a model needs (JSON), if an admin has said so, and the name of those that it does not share a node with.
alter table models add column memory text;
alter table models add column anti_affinity text;

-- JSON: what is held for a replica, and what its worker measured. When it last had a request, and since when it serves.
alter table replicas add column claim text;
alter table replicas add column measured text;
alter table replicas add column last_used_at bigint;
alter table replicas add column ready_at bigint;
alter table replicas add column out_of_memory integer not null default 0;

-- Models that somebody waits for: a request, or an admin who loads one. Past wanted_until nobody does.
create table demands (
  model_name text primary key,
  since bigint not null,
  wanted_until bigint not null
);

-- What the header of a model's file says, of one revision; kept, since reading it may take a download. Header is JSON.
create table model_facts (
  model_name text primary key,
  revision text not null,
  payload_bytes bigint,
  header text,
  -- Why it could not be read, and when to try again.
  problem text,
  retry_at bigint,
  read_at bigint not null
);

-- What replicas took before, by all that it depends on. Outlives replicas, and the model itself.
create table learned_memory (
  model_name text not null,
  revision text not null,
  engine_version text not null,
  device_kind text not null,
  vram bigint not null,
  ram bigint not null,
  learned_from text not null check (learned_from in ('measured', 'out of memory')),
  updated_at bigint not null,
  primary key (model_name, revision, engine_version, device_kind)
);

-- What was last loaded with success. Outlives replicas, and the model itself.
create table model_load_info (
  model_name text primary key,
  engine text not null,
  engine_version text,
  source text,
  options text not null,
  revision text not null,
  node_name text not null,
  load_ms bigint not null,
  loaded_at bigint not null
);
