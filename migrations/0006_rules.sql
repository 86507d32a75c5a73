-- One replica on every node that the selector matches, instead of a number of them; and after how long without a request
-- not even the last one is kept, null for never.
alter table rules add column spread_all integer not null default 0;
alter table rules add column scale_to_zero_after_s integer;

-- Who made a rule: an admin, or the configuration that every start of a frontend applies.
alter table rules add column source text not null default 'api' check (source in ('api', 'config'));

-- A rule that could not be met in so many passes in a row is not tried again before that time. The decision (JSON) says why.
alter table rules add column unsatisfiable_until bigint;
alter table rules add column unsatisfiable_ticks integer not null default 0;
alter table rules add column last_decision text;
