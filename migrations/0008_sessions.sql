-- Who is signed in to the dashboard, by the hash of what their cookie holds, and codes that sign somebody in once.
create table sessions (
  id text primary key,
  hash text not null unique,
  -- Who does it, in events: admin, or key <name>.
  actor text not null,
  -- The API key that was shown; its end ends the session. Null for the admin key.
  key_id text,
  created_at bigint not null,
  expires_at bigint not null
);

create table sign_in_codes (
  hash text primary key,
  actor text not null,
  -- The API key that asked for the code; the session that begins with it ends with that key.
  key_id text,
  expires_at bigint not null
);
