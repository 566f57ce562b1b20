-- Who may use the API. Keys are no history: they are ordinary rows, and the log only ever sees their opaque ids.

create table dagapp.orgs (
    org_id     text primary key,
    name       text not null,
    slug       text not null unique,
    settings   jsonb not null default '{}'::jsonb,
    created_at timestamptz not null default clock_timestamp()
);
insert into dagapp.orgs (org_id, name, slug) values ('default', 'Default', 'default');

create table dagapp.api_keys (
    -- Opaque: the actor of the events that its holder asks for.
    key_id       text primary key,
    org_id       text not null references dagapp.orgs,
    label        text not null,
    role         text not null check (role in ('reader', 'writer', 'admin')),
    -- May look after the installation itself: orchestrators, workers, dead letters, keys of all organisations.
    operator     boolean not null default false,
    -- The part of the key that people may see.
    prefix       text not null,
    -- SHA-256 of the whole key; its 32 random bytes need no slower hash.
    hash         bytea not null,
    created_by   text not null,
    created_at   timestamptz not null default clock_timestamp(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
create index api_keys_org on dagapp.api_keys (org_id, created_at);

-- A browser signs in once with a one-time token, and is known by a session from then on.
create table dagapp.sign_ins (
    token_hash bytea primary key,
    key_id     text not null references dagapp.api_keys,
    expires_at timestamptz not null
);
create table dagapp.sessions (
    session_hash bytea primary key,
    key_id       text not null references dagapp.api_keys,
    created_at   timestamptz not null default clock_timestamp(),
    expires_at   timestamptz not null
);

-- Lists of the API: the newest of one organisation in one state, and assets by what a partner calls them.
create index dag_jobs_org_status on dagapp.dag_jobs (org_id, status, created_at, job_id);
create index assets_refs on dagapp.assets using gin (platform_refs jsonb_path_ops);

do $$
begin
    if exists (select from pg_roles where rolname = 'strata_app') then
        grant select, insert, update, delete on dagapp.orgs, dagapp.api_keys, dagapp.sign_ins, dagapp.sessions
            to strata_app;
    end if;
    -- Those who read for reports need no hashes of keys.
    if exists (select from pg_roles where rolname = 'strata_read') then
        grant select on dagapp.orgs to strata_read;
    end if;
end $$;
