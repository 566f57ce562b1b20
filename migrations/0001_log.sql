-- The log: the truth of Strata. Written by dagapp.append alone (next migration), read by everybody.

create schema dagapp;

-- One row: whoever holds it gives out positions. Commit order is position order because of it.
create table dagapp.log_head (
    one             boolean primary key default true check (one),
    pos             bigint not null default 0,
    hash            bytea not null default decode(repeat('00', 32), 'hex'),
    recorded_at     timestamptz not null default '-infinity',
    -- Changed at restore or promotion, so that cursors of another history are recognised.
    incarnation     uuid not null default gen_random_uuid(),
    -- Positions per partition of events, and the last position that has a partition.
    partition_size  bigint not null default 4000000,
    partitioned_to  bigint not null default 0
) with (fillfactor = 10);
insert into dagapp.log_head default values;

-- payload and meta are the exact bytes that were hashed: never jsonb.
create table dagapp.events (
    pos         bigint not null,
    stream_id   text not null,
    version     bigint not null,
    type        text not null,
    schema_ver  smallint not null,
    org_id      text not null,
    payload     bytea not null,
    meta        bytea not null,
    recorded_at timestamptz not null,
    leaf        bytea not null
) partition by range (pos);

-- One row per commit. batch_id recognises a batch that is sent again; outcomes is what it was told.
create table dagapp.log_batches (
    first_pos   bigint primary key,
    last_pos    bigint not null,
    batch_id    uuid not null unique,
    recorded_at timestamptz not null,
    hash        bytea not null,
    outcomes    bigint[] not null
);
create index log_batches_recorded_at on dagapp.log_batches (recorded_at);

-- The version of every stream; uniqueness of (stream, version) rests on it.
create table dagapp.streams (
    stream_id   text primary key,
    version     bigint not null,
    first_pos   bigint not null,
    -- The newest schema version in it: an older binary must not claim what it cannot read.
    max_schema  smallint not null default 1,
    closed      boolean not null default false
) with (fillfactor = 80);

-- Jobs from their submission to their end. owner is null until the first claim.
create table dagapp.open_jobs (
    job_id       text primary key,
    request_id   text not null,
    owner_id     uuid,
    epoch        bigint not null default 0,
    -- Claims since the owner last appended; too many, and the job is left alone (quarantine).
    claims       integer not null default 0,
    -- How many nodes it has, for the budget of whoever claims it.
    weight       integer not null default 1,
    -- A job that only waits for a time is put down until then.
    due_at       timestamptz,
    submitted_at timestamptz not null
) with (fillfactor = 70);
create index open_jobs_unclaimed on dagapp.open_jobs (submitted_at) where owner_id is null;
create index open_jobs_owner on dagapp.open_jobs (owner_id) where owner_id is not null;

-- Orchestrators that are, or were, alive; by the clock of the database alone.
create table dagapp.owners (
    owner_id   uuid primary key,
    host       text not null,
    started_at timestamptz not null default clock_timestamp(),
    beat_at    timestamptz not null default clock_timestamp(),
    -- How long it counts as alive without a renewal, by its own settings; for people to see.
    stale_seconds double precision not null
);

-- Messages that nobody could make sense of.
create table dagapp.dead_letters (
    id          bigint generated always as identity primary key,
    subject     text not null,
    reason      text not null,
    payload     bytea not null,
    -- The length before it was cut for keeping.
    size_bytes  bigint not null,
    received_at timestamptz not null default clock_timestamp()
);

-- Makes partitions until there are two more after the one with `upto`. With the rights of whoever made the
-- schema: those who append own no tables.
create function dagapp.make_partitions(upto bigint) returns void
language plpgsql security definer set search_path = pg_catalog as $$
declare
    size bigint;
    last bigint;
    name text;
begin
    select partition_size, partitioned_to into strict size, last from dagapp.log_head;
    while last < upto + 2 * size loop
        name := format('events_%s', last + 1);
        execute format('create table dagapp.%I (like dagapp.events including defaults)', name);
        execute format('alter table dagapp.%I add primary key (pos)', name);
        execute format('create unique index %I on dagapp.%I (stream_id, version)', name || '_stream', name);
        execute format('alter table dagapp.%I set (autovacuum_freeze_min_age = 0)', name);
        execute format('alter table dagapp.events attach partition dagapp.%I for values from (%s) to (%s)',
                       name, last + 1, last + size + 1);
        last := last + size;
    end loop;
    update dagapp.log_head set partitioned_to = last;
end $$;
select dagapp.make_partitions(0);
