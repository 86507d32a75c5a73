-- Where a model's files come from; null when its engine needs none.
alter table models add column source text;

-- JSON: how far a start has come with its files, and how the engine ended, both as the worker last said.
alter table replicas add column progress text;
alter table replicas add column last_exit text;

-- JSON: until now names, from now on what each heartbeat says of each engine.
update nodes set engines = '[]';
