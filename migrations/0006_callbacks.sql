-- Callbacks: who is told how a job ended, and what came of it.
--
-- These tables are not read models. They are an effect: they follow the log, they are only ever resumed,
-- and no rebuild touches them.

-- One row per callback that was asked for. It waits for the end of its job, is due until it was delivered
-- or given up, and becomes due again when a person asks for it.
create table dagapp.callback_outbox (
    callback_id     text primary key,
    job_id          text not null,
    request_id      text not null,
    org_id          text not null,
    job_type        text not null,
    -- The place in the list of the request, from 0.
    ordinal         integer not null,
    url             text not null,
    -- Organisation and origin of the url: what shares a breaker.
    endpoint        text not null,
    secret_ref      text not null,
    retry_count     integer not null,
    timeout_seconds integer not null,
    status          text not null default 'waiting'
        check (status in ('waiting', 'due', 'delivered', 'given_up')),
    -- How the job ended, and where in the log: the read models must show it before the body is made.
    job_status      text,
    job_error       jsonb,
    ended_at        timestamptz,
    end_pos         bigint,
    -- How often a person has asked for it again, and the tries since.
    round           integer not null default 0,
    attempts        integer not null default 0,
    -- All tries of all rounds.
    deliveries      integer not null default 0,
    due_at          timestamptz,
    claimed_by      uuid,
    claimed_until   timestamptz,
    created_at      timestamptz not null,
    settled_at      timestamptz,
    last_status     integer,
    last_code       text,
    last_error      text
) with (fillfactor = 70);
create index callback_outbox_due on dagapp.callback_outbox (endpoint, due_at) where status = 'due';
create index callback_outbox_job on dagapp.callback_outbox (job_id, ordinal);
create index callback_outbox_org on dagapp.callback_outbox (org_id, created_at, callback_id);

-- One row per try; the last fifty of each callback are kept.
create table dagapp.callback_deliveries (
    callback_id text not null,
    attempt     integer not null,
    round       integer not null,
    at          timestamptz not null,
    duration_ms integer not null,
    status_code integer,
    error_code  text,
    error       text,
    by_hand     boolean not null,
    primary key (callback_id, attempt)
);

-- How each endpoint has done lately; shared by all senders.
create table dagapp.callback_endpoints (
    endpoint    text primary key,
    failures    integer not null default 0,
    openings    integer not null default 0,
    open_until  timestamptz,
    probe_until timestamptz,
    updated_at  timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- What callbacks are signed with. Several live rows of one name are a rotation.
create table dagapp.callback_secrets (
    org_id     text not null,
    name       text not null,
    value      text not null,
    created_at timestamptz not null default clock_timestamp(),
    retire_at  timestamptz,
    primary key (org_id, name, created_at)
);
-- A secret that a caller brings again is the same secret. Its name is drawn: one that followed from the
-- secret would enter the log, and help to guess it.
create unique index callback_secrets_given on dagapp.callback_secrets (org_id, value) where name <> 'default';

-- 32 bytes of which nobody knows any, in the form that receivers take.
create function dagapp.new_callback_secret() returns text language sql volatile as $$
    select 'whsec_' || encode(
        sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
        'base64')
$$;

-- The organisation's own secret, made when it is first needed. The lock keeps two from making two.
create function dagapp.ensure_callback_secret(org text) returns text
language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
    found text;
begin
    perform pg_advisory_xact_lock(hashtextextended('strata callback secret ' || org, 0));
    select s.value into found from dagapp.callback_secrets s
        where s.org_id = org and s.name = 'default' and (s.retire_at is null or s.retire_at > clock_timestamp())
        order by s.created_at desc limit 1;
    if found is null then
        found := dagapp.new_callback_secret();
        insert into dagapp.callback_secrets (org_id, name, value) values (org, 'default', found);
    end if;
    return found;
end $$;

do $$
begin
    revoke execute on function dagapp.new_callback_secret(), dagapp.ensure_callback_secret(text) from public;
    if exists (select from pg_roles where rolname = 'strata_app') then
        grant select, insert, update, delete
            on dagapp.callback_outbox, dagapp.callback_deliveries, dagapp.callback_endpoints, dagapp.callback_secrets
            to strata_app;
        grant execute on function dagapp.new_callback_secret(), dagapp.ensure_callback_secret(text) to strata_app;
    end if;
    -- Not the secrets: whoever may look may not sign.
    if exists (select from pg_roles where rolname = 'strata_read') then
        grant select on dagapp.callback_outbox, dagapp.callback_deliveries, dagapp.callback_endpoints to strata_read;
    end if;
end $$;
