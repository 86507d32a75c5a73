-- works from: 0011
-- JSON: what ended replicas held that the node's last reading of its memory may not show as free yet; null when there is none.
alter table nodes add column freed text;
