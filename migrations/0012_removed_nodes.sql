-- works from: 0009
-- Nodes that an admin removed. A node that is in neither table is unknown, which is no reason for it to end.
create table removed_nodes (
  id text primary key,
  public_key text not null,
  name text not null,
  removed_at bigint not null
);
