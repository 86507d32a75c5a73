-- What all frontends of a cluster must agree on: whoever starts first on an empty store decides.
create table cluster_facts (
  name text primary key,
  value text not null
);
