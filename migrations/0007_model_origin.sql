-- Who made a model: an admin, or the folder of GGUF files that a frontend serves.
alter table models add column origin text not null default 'api' check (origin in ('api', 'folder'));
