-- The read models and the log under the names that others ask for, and who may read them.

-- The audit trail of jobs is the log itself (O-74).
create view dagapp.dag_job_events as
    select e.pos as event_id,
           substr(e.stream_id, 5) as job_id,
           d.data ->> 'node' as node_id,
           e.type as event_type,
           case e.type
               when 'job_created' then 'PENDING' when 'job_started' then 'RUNNING'
               when 'job_completed' then 'COMPLETED' when 'job_failed' then 'FAILED'
               when 'job_cancelled' then 'CANCELLED' when 'nodes_ready' then 'READY'
               when 'nodes_skipped' then 'SKIPPED' when 'node_passed' then 'COMPLETED'
               when 'branch_taken' then 'COMPLETED' when 'fan_out_expanded' then 'RUNNING'
               when 'children_reused' then 'COMPLETED' when 'node_reused' then 'COMPLETED'
               when 'node_dispatched' then 'DISPATCHED' when 'node_redispatched' then 'DISPATCHED'
               when 'node_started' then 'RUNNING' when 'node_completed' then 'COMPLETED'
               when 'node_failed' then 'FAILED' when 'run_lost' then 'READY'
               when 'run_released' then 'READY'
           end as event_status,
           d.data as event_data,
           d.data #>> '{checkpoint,phase}' as checkpoint_name,
           e.recorded_at as created_at,
           e.stream_id,
           e.version
    from dagapp.events e
    cross join lateral (select convert_from(e.payload, 'UTF8')::jsonb as data) d
    where e.stream_id like 'job:%';

-- The heartbeat of the owner is not part of history, so it is looked up (M-08).
create view dagapp.dag_jobs_with_owner as
    select j.*, o.beat_at as owner_heartbeat_at
    from dagapp.dag_jobs j
    left join dagapp.owners o on o.owner_id::text = j.owner_id;

create schema if not exists app;
create schema if not exists geo;

-- The names of G-21 and the states of G-23; CANCELLED has no word of its own there.
create view app.jobs as
    select j.job_id,
           j.workflow_id as job_type,
           case j.status when 'PENDING' then 'QUEUED' when 'RUNNING' then 'PROCESSING'
                         when 'COMPLETED' then 'COMPLETED' else 'FAILED' end as status,
           coalesce(n.stage, 0) as stage,
           j.total_stages,
           j.input_params as parameters,
           coalesce(n.stage_results, '{}'::jsonb) as stage_results,
           j.result as result_data,
           j.failure as error_details,
           j.created_at,
           j.updated_at,
           j.completed_at
    from dagapp.dag_jobs j
    left join lateral (
        select max(s.stage) filter (where s.status not in ('PENDING', 'SKIPPED')) as stage,
               jsonb_object_agg(s.node_id, s.output)
                   filter (where s.status = 'COMPLETED' and s.output is not null) as stage_results
        from dagapp.dag_node_states s
        where s.job_id = j.job_id and s.child_index is null
    ) n on true;

-- The names of G-22. Nodes that the engine does by itself are no tasks; a skipped one never runs.
create view app.tasks as
    select coalesce(n.task_id, n.job_id || '_' || n.node_id || '_' || n.attempt::text) as task_id,
           n.job_id as parent_job_id,
           n.handler as task_type,
           case n.status when 'RUNNING' then 'PROCESSING' when 'COMPLETED' then 'COMPLETED'
                         when 'FAILED' then 'FAILED' when 'SKIPPED' then 'FAILED' else 'QUEUED' end as status,
           n.stage,
           coalesce(n.child_index, 0) as task_index,
           (select convert_from(e.payload, 'UTF8')::jsonb -> 'params'
                from dagapp.events e where e.pos = n.dispatched_pos) as parameters,
           n.output as result_data,
           n.output -> 'next_stage_params' as next_stage_params,
           coalesce(n.failure, case when n.status = 'SKIPPED'
                    then jsonb_build_object('code', 'skipped', 'message', n.skip_reason) end) as error_details,
           n.updated_at as heartbeat,
           n.retry_count,
           n.ready_at as created_at,
           n.started_at,
           n.updated_at,
           n.completed_at
    from dagapp.dag_node_states n
    where n.handler is not null and n.kind <> 'fan_out';

-- Roles are of the whole cluster, and the migrating user may not be allowed to make them: then
-- whoever runs the cluster makes them, and grants as below.
do $$
declare
    wanted text;
begin
    foreach wanted in array array['strata_app', 'strata_read', 'strata_catalog'] loop
        if not exists (select from pg_roles where rolname = wanted) then
            begin
                execute format('create role %I nologin', wanted);
            exception
                when duplicate_object or unique_violation then null;
                when insufficient_privilege then
                    raise notice 'role % is missing and could not be made', wanted;
            end;
        end if;
    end loop;
    if exists (select from pg_roles where rolname = 'strata_app') then
        grant usage on schema dagapp, app to strata_app;
        grant select, insert, update, delete on all tables in schema dagapp to strata_app;
        -- The log is written by dagapp.append alone, and history by nobody.
        revoke insert, update, delete on dagapp.events, dagapp.log_head, dagapp.log_batches, dagapp.streams
            from strata_app;
        grant usage on all sequences in schema dagapp to strata_app;
        grant execute on all functions in schema dagapp to strata_app;
        revoke execute on function dagapp.make_partitions(bigint) from strata_app;
        grant select on all tables in schema app to strata_app;
    end if;
    revoke execute on all functions in schema dagapp from public;
    if exists (select from pg_roles where rolname = 'strata_read') then
        grant usage on schema dagapp, app, geo to strata_read;
        grant select on all tables in schema dagapp, app to strata_read;
    end if;
    -- Handlers write to the catalog, and see nothing of the log.
    if exists (select from pg_roles where rolname = 'strata_catalog') then
        grant usage, create on schema geo to strata_catalog;
    end if;
end $$;
