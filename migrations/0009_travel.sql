-- Time travel: lists as of a position, and folded jobs that save folding them again.

-- A read model, like those of 0003: one row per change of a job's status or pause, valid from its position up to,
-- and not including, that of the next row. It depends on the log alone, and on no batch of the projector.
create table dagapp.dag_jobs_history (
    job_id      varchar(64) not null,
    from_pos    bigint not null,
    -- Null while it is the current one.
    to_pos      bigint,
    from_at     timestamptz not null,
    to_at       timestamptz,
    org_id      text not null,
    workflow_id varchar(64) not null,
    request_id  text not null,
    status      dagapp.job_status not null,
    paused      boolean not null,
    -- As they were at from_pos; after the end of a job they never change.
    pending     integer not null,
    ready       integer not null,
    dispatched  integer not null,
    running     integer not null,
    completed   integer not null,
    failed      integer not null,
    skipped     integer not null,
    created_at  timestamptz not null,
    primary key (job_id, from_pos)
) with (fillfactor = 80);
create index dag_jobs_history_org on dagapp.dag_jobs_history (org_id, created_at, job_id);
create index dag_jobs_history_status on dagapp.dag_jobs_history (org_id, status, created_at, job_id);

-- A rebuild makes it again.
insert into dagapp.read_model_tables (name) values ('dag_jobs_history');

-- Not history and no read model: whatever is here can be made again from the log, and goes when the code changes.
create table dagapp.snapshots (
    stream_id text not null,
    -- A hash of the code that folds.
    fold_key  text not null,
    version   bigint not null,
    pos       bigint not null,
    -- SHA-256 of the state.
    hash      bytea not null,
    state     bytea not null,
    bytes     bigint not null generated always as (octet_length(state)) stored,
    made_at   timestamptz not null default clock_timestamp(),
    primary key (stream_id, fold_key, version)
);
create index snapshots_made on dagapp.snapshots (made_at);
-- It is compact already; compressing it would cost more than reading it.
alter table dagapp.snapshots alter column state set storage external;

do $$
begin
    if exists (select from pg_roles where rolname = 'strata_app') then
        grant select, insert, update, delete on dagapp.dag_jobs_history, dagapp.snapshots to strata_app;
    end if;
    if exists (select from pg_roles where rolname = 'strata_read') then
        grant select on dagapp.dag_jobs_history to strata_read;
    end if;
end $$;
