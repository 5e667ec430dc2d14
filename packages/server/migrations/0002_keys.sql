-- API keys. Of a secret only the SHA-256 is kept; a revoked key stays, so that its name and its last use can be read.
create table api_keys (
  id uuid primary key,
  name text not null,
  secret_hash bytea not null check (length(secret_hash) = 32),
  scopes text[] not null check (scopes <> '{}' and scopes <@ array['submit', 'read', 'work', 'admin']),
  -- null: bound to none
  tenant text collate "C",
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
) with (fillfactor = 80);
create unique index api_keys_secret on api_keys (secret_hash);
-- A tenant's keys, page by page.
create index api_keys_tenant on api_keys (tenant, id);
