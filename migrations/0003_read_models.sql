-- Read models: derived from the log by the projectors, and by nobody else. They can be dropped and built again.
--
-- There are no foreign keys: rows follow the log in its order, which is proof enough (O-75).

create type dagapp.job_status as enum ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED');
create type dagapp.node_status as enum
    ('PENDING', 'READY', 'DISPATCHED', 'RUNNING', 'COMPLETED', 'FAILED', 'SKIPPED');

-- How far each projector is, and who runs it. The clock is that of the database.
create table dagapp.projection_checkpoints (
    name       text primary key,
    -- The version of the code that fills the tables; another version does not touch them.
    version    integer not null,
    pos        bigint not null default 0,
    leader     uuid,
    epoch      bigint not null default 0,
    expires_at timestamptz not null default '-infinity',
    updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 10);

-- Streams that a projector could not follow any further.
create table dagapp.projection_errors (
    projector   text not null,
    stream_id   text not null,
    pos         bigint not null,
    version     bigint not null,
    type        text not null,
    error       text not null,
    recorded_at timestamptz not null default clock_timestamp(),
    primary key (projector, stream_id)
);

create table dagapp.dag_jobs (
    job_id           varchar(64) primary key,
    workflow_id      varchar(64) not null,
    workflow_version integer not null,
    workflow_hash    text not null,
    status           dagapp.job_status not null,
    input_params     jsonb not null,
    request_id       text not null,
    org_id           text not null,
    priority         text not null,
    -- {"kind": "retry_of" | "forked_from", "job_id": ...}
    origin           jsonb,
    owner_id         varchar(64),
    owner_epoch      bigint,
    paused           boolean not null default false,
    result           jsonb,
    -- {"node": ..., "failure": {...}}; for a cancelled job the reason.
    failure          jsonb,
    total_stages     integer not null default 0,
    pending          integer not null default 0,
    ready            integer not null default 0,
    dispatched       integer not null default 0,
    running          integer not null default 0,
    completed        integer not null default 0,
    failed           integer not null default 0,
    skipped          integer not null default 0,
    -- The projector could not follow its stream to the end.
    degraded         boolean not null default false,
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    completed_at     timestamptz,
    last_pos         bigint not null
) with (fillfactor = 70);
create index dag_jobs_created on dagapp.dag_jobs (created_at, job_id);
create index dag_jobs_org on dagapp.dag_jobs (org_id, created_at, job_id);
create index dag_jobs_workflow on dagapp.dag_jobs (workflow_id, created_at, job_id);
create index dag_jobs_open on dagapp.dag_jobs (status, created_at, job_id)
    where status in ('PENDING', 'RUNNING');
create index dag_jobs_bad on dagapp.dag_jobs (status, created_at, job_id)
    where status in ('FAILED', 'CANCELLED');
create index dag_jobs_request on dagapp.dag_jobs (request_id);

create table dagapp.dag_node_states (
    job_id         varchar(64) not null,
    node_id        varchar(160) not null,
    -- For a child of a fan-out: the fan-out, and which child it is.
    parent         text,
    child_index    integer,
    -- The place in the workflow, in topological order, and the stage for G-21.
    ordinal        integer not null,
    stage          integer not null,
    kind           text not null,
    status         dagapp.node_status not null,
    attempt        integer not null default 1,
    retry_count    integer generated always as (greatest(attempt - 1, 0)) stored,
    epoch          integer not null default 0,
    task_id        text generated always as (
        case when epoch > 0 then job_id || '_' || node_id || '_' || attempt::text end) stored,
    handler        text,
    queue          text,
    worker_id      text,
    run_id         uuid,
    lost_runs      integer not null default 0,
    output         jsonb,
    -- Where an output lies that is too large to keep here.
    external       jsonb,
    error_message  text,
    failure        jsonb,
    checkpoint     jsonb,
    branch         integer,
    skip_reason    text,
    skipped_by     text,
    -- The event with the parameters of the latest sending.
    dispatched_pos bigint,
    ready_at       timestamptz,
    dispatched_at  timestamptz,
    started_at     timestamptz,
    completed_at   timestamptz,
    updated_at     timestamptz not null,
    last_pos       bigint not null,
    primary key (job_id, node_id)
) with (fillfactor = 70);
create index dag_node_states_order on dagapp.dag_node_states (job_id, ordinal, child_index nulls first);

-- One row per attempt that ended with a result, good or bad.
create table dagapp.dag_task_results (
    task_id       text primary key,
    job_id        varchar(64) not null,
    node_id       varchar(160) not null,
    attempt       integer not null,
    status        dagapp.node_status not null,
    output        jsonb,
    error_message text,
    failure       jsonb,
    worker_id     text,
    run_id        uuid,
    metrics       jsonb,
    reported_at   timestamptz not null,
    pos           bigint not null
);
create index dag_task_results_job on dagapp.dag_task_results (job_id, node_id, attempt);

create table dagapp.requests (
    request_id       text primary key,
    org_id           text not null,
    platform_id      text not null,
    asset_id         text,
    refs             jsonb not null,
    workflow_id      text not null,
    workflow_version integer,
    inputs           jsonb not null,
    priority         text not null,
    callbacks        jsonb not null,
    body_hash        text not null,
    -- waiting, assigned or withdrawn
    status           text not null,
    job_id           text,
    reason           text,
    submitted_at     timestamptz not null,
    updated_at       timestamptz not null,
    last_pos         bigint not null
) with (fillfactor = 70);
create index requests_org on dagapp.requests (org_id, submitted_at, request_id);
create index requests_asset on dagapp.requests (asset_id) where asset_id is not null;

create table dagapp.assets (
    asset_id          text primary key,
    org_id            text not null,
    platform_id       text not null,
    platform_refs     jsonb not null,
    title             text,
    deleted           boolean not null,
    clearance         text not null,
    processing_status text not null,
    current_job_id    text,
    failure           jsonb,
    -- Of the current revision.
    revision          integer,
    content_hash      text,
    approval          text not null,
    degraded          boolean not null default false,
    created_at        timestamptz not null,
    updated_at        timestamptz not null,
    last_pos          bigint not null
) with (fillfactor = 70);
create index assets_org on dagapp.assets (org_id, created_at, asset_id);

create table dagapp.asset_revisions (
    asset_id        text not null,
    revision        integer not null,
    content_hash    text not null,
    artifacts       jsonb not null,
    origin          jsonb not null,
    approval        text not null,
    approval_reason text,
    created_at      timestamptz not null,
    last_pos        bigint not null,
    primary key (asset_id, revision)
);

create table dagapp.platforms (
    platform_id   text primary key,
    name          text not null,
    required_refs text[] not null,
    optional_refs text[] not null,
    registered_at timestamptz not null,
    updated_at    timestamptz not null,
    last_pos      bigint not null
);

create table dagapp.workflows (
    workflow_id   text not null,
    version       integer not null,
    hash          text not null,
    source        text not null,
    -- What the file leaves to its handlers, as it was then.
    handlers      jsonb not null,
    registered_at timestamptz not null,
    pos           bigint not null,
    primary key (workflow_id, version)
);
create index workflows_hash on dagapp.workflows (hash);
