-- works from: 0009
-- Where the caller was whose change an event tells of.
alter table events add column address text;
