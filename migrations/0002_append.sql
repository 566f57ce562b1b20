-- One batch, one statement, one commit.
--
-- Commands c_* (one per stream, each with the number of its events) and events e_* (all events of all
-- commands, in order) come as columns. c_expected is the version that the writer saw, or null for an
-- intent, which is appended after whatever is there. Commands with the same c_group stand or fall
-- together. The answer has one number per command: the version of its stream now, or, if it was not
-- appended, -1 minus the version that is there (a closed stream counts as a conflict).
--
-- The writer has computed the leaves of all events whose version it knows; those of intents are null
-- and are computed here, as domain::event::leaf_hash does.

create function dagapp.leaf(
    stream_id text, version bigint, type text, schema_ver smallint, org_id text, meta bytea, payload bytea
) returns bytea language sql immutable parallel safe as $$
    select sha256(
        int8send(octet_length(stream_id)::bigint) || convert_to(stream_id, 'UTF8')
        || int8send(8::bigint) || int8send(version)
        || int8send(octet_length(type)::bigint) || convert_to(type, 'UTF8')
        || int8send(2::bigint) || int2send(schema_ver)
        || int8send(octet_length(org_id)::bigint) || convert_to(org_id, 'UTF8')
        || int8send(octet_length(meta)::bigint) || meta
        || int8send(octet_length(payload)::bigint) || payload)
$$;

create function dagapp.append(
    batch uuid,
    c_stream text[], c_expected bigint[], c_events int[], c_group int[], c_schema smallint[], c_closes boolean[],
    e_stream text[], e_version bigint[], e_type text[], e_schema smallint[], e_org text[],
    e_payload bytea[], e_meta bytea[], e_leaf bytea[],
    -- What becomes of open_jobs: rows to open, to claim, to settle, to close.
    o_job text[], o_request text[],
    l_job text[], l_owner uuid[], l_epoch bigint[], l_weight int[],
    s_job text[], s_weight int[], s_due timestamptz[],
    -- Which command (from 1) each of them belongs to.
    o_command int[], l_command int[], s_command int[], x_job text[], x_command int[]
) returns table (first_pos bigint, at timestamptz, outcomes bigint[])
-- The one way to write: whoever may call it needs no right to change the tables themselves.
language plpgsql security definer set search_path = pg_catalog as $$
declare
    head dagapp.log_head%rowtype;
    total int := coalesce(array_length(e_type, 1), 0);
    plain boolean;
    kept boolean[];
    leaves bytea;
begin
    select * into strict head from dagapp.log_head for update;

    -- The same batch again, because its first answer was lost.
    select b.first_pos, b.recorded_at, b.outcomes into append.first_pos, append.at, append.outcomes
        from dagapp.log_batches b where b.batch_id = batch;
    if found then
        return next;
        return;
    end if;

    at := greatest(clock_timestamp(), head.recorded_at);
    first_pos := head.pos + 1;

    -- The usual case: every expected version is there. Streams that do not exist count as version 0.
    select coalesce(bool_and(c.expected is not null and coalesce(s.version, 0) = c.expected
                             and not coalesce(s.closed, false)), true)
        into plain
        from unnest(c_stream, c_expected) as c (stream, expected)
        left join dagapp.streams s on s.stream_id = c.stream;

    if not plain then
        -- Versions of intents become known, conflicts are sorted out with their whole groups.
        with seen as (
            select c.ord, c.grp, c.n, c.expected, coalesce(s.version, 0) as version,
                   coalesce(c.expected, coalesce(s.version, 0)) = coalesce(s.version, 0)
                       and not coalesce(s.closed, false)
                       -- An intent needs something to be about.
                       and (c.expected is not null or s.version is not null) as ok
            from unnest(c_stream, c_expected, c_events, c_group) with ordinality
                 as c (stream, expected, n, grp, ord)
            left join dagapp.streams s on s.stream_id = c.stream
        ), judged as (
            select ord, n, version, bool_and(ok) over (partition by grp) as ok from seen
        )
        select array_agg(case when ok then version + n else -1 - version end order by ord),
               array_agg(ok order by ord),
               array_agg(case when ok then version end order by ord)
            into outcomes, kept, c_expected
            from judged;

        with flat as (
            select e.*, c.ord as command, row_number() over (partition by c.ord order by e.ord) as nth
            from unnest(e_stream, e_version, e_type, e_schema, e_org, e_payload, e_meta, e_leaf) with ordinality
                 as e (stream, version, type, schema_ver, org, payload, meta, leaf, ord)
            join (
                select ord, n, sum(n) over (order by ord) - n as before
                from unnest(c_events) with ordinality as c (n, ord)
            ) c on e.ord > c.before and e.ord <= c.before + c.n
        ), known as (
            select ord, stream, type, schema_ver, org, payload, meta, leaf,
                   c_expected[command] + nth as version
            from flat where kept[command]
        ), done as (
            select *, coalesce(leaf, dagapp.leaf(stream, version, type, schema_ver, org, meta, payload)) as made
            from known
        )
        select coalesce(array_agg(stream order by ord), '{}'), coalesce(array_agg(version order by ord), '{}'),
               coalesce(array_agg(type order by ord), '{}'), coalesce(array_agg(schema_ver order by ord), '{}'),
               coalesce(array_agg(org order by ord), '{}'), coalesce(array_agg(payload order by ord), '{}'),
               coalesce(array_agg(meta order by ord), '{}'), coalesce(array_agg(made order by ord), '{}')
            into e_stream, e_version, e_type, e_schema, e_org, e_payload, e_meta, e_leaf
            from done;
        total := coalesce(array_length(e_type, 1), 0);
        if total = 0 then
            return next;
            return;
        end if;
    else
        select array_agg(c.expected + c.n order by c.ord) into outcomes
            from unnest(c_expected, c_events) with ordinality as c (expected, n, ord);
    end if;

    if head.pos + total > head.partitioned_to - head.partition_size then
        perform dagapp.make_partitions(head.pos + total);
    end if;

    insert into dagapp.events (pos, stream_id, version, type, schema_ver, org_id, payload, meta, recorded_at, leaf)
        select head.pos + e.ord, e.stream, e.version, e.type, e.schema_ver, e.org, e.payload, e.meta,
               append.at, e.leaf
        from unnest(e_stream, e_version, e_type, e_schema, e_org, e_payload, e_meta, e_leaf) with ordinality
             as e (stream, version, type, schema_ver, org, payload, meta, leaf, ord);

    insert into dagapp.streams as s (stream_id, version, first_pos, max_schema, closed)
        select c.stream, append.outcomes[c.ord], head.pos + 1, c.schema, c.closes
        from unnest(c_stream, c_schema, c_closes) with ordinality as c (stream, schema, closes, ord)
        where append.outcomes[c.ord] > 0
        on conflict (stream_id) do update
            set version = excluded.version, closed = excluded.closed,
                max_schema = greatest(s.max_schema, excluded.max_schema);

    perform dagapp.keep_open_jobs(
        kept, append.at, o_job, o_request, o_command, l_job, l_owner, l_epoch, l_weight, l_command,
        s_job, s_weight, s_due, s_command, x_job, x_command);

    select string_agg(leaf, ''::bytea order by ord) into leaves
        from unnest(e_leaf) with ordinality as e (leaf, ord);
    head.hash := sha256(
        head.hash || int8send(first_pos) || int8send(total::bigint)
        || int8send((extract(epoch from at) * 1000000)::bigint) || leaves);
    update dagapp.log_head set pos = head.pos + total, hash = head.hash, recorded_at = append.at;
    insert into dagapp.log_batches (first_pos, last_pos, batch_id, recorded_at, hash, outcomes)
        values (append.first_pos, head.pos + total, batch, append.at, head.hash, append.outcomes);
    return next;
end $$;

-- kept is null when every command was appended.
create function dagapp.keep_open_jobs(
    kept boolean[], now timestamptz, o_job text[], o_request text[], o_command int[],
    l_job text[], l_owner uuid[], l_epoch bigint[], l_weight int[], l_command int[],
    s_job text[], s_weight int[], s_due timestamptz[], s_command int[], x_job text[], x_command int[]
) returns void language plpgsql as $$
begin
    if array_length(o_job, 1) > 0 then
        insert into dagapp.open_jobs (job_id, request_id, submitted_at)
            select o.job, o.request, now from unnest(o_job, o_request, o_command) as o (job, request, command)
            where kept is null or kept[o.command]
            on conflict (job_id) do nothing;
    end if;
    if array_length(l_job, 1) > 0 then
        -- The first claim comes with the job itself and cannot be a sign of poison.
        update dagapp.open_jobs j
            set owner_id = l.owner, epoch = l.epoch, due_at = null, weight = coalesce(l.weight, j.weight),
                claims = case when l.epoch = 1 then 0 else j.claims + 1 end
            from unnest(l_job, l_owner, l_epoch, l_weight, l_command) as l (job, owner, epoch, weight, command)
            where j.job_id = l.job and (kept is null or kept[l.command]);
    end if;
    if array_length(s_job, 1) > 0 then
        update dagapp.open_jobs j set claims = 0, weight = s.weight, due_at = s.due
            from unnest(s_job, s_weight, s_due, s_command) as s (job, weight, due, command)
            where j.job_id = s.job and (kept is null or kept[s.command]);
    end if;
    if array_length(x_job, 1) > 0 then
        delete from dagapp.open_jobs j using unnest(x_job, x_command) as x (job, command)
            where j.job_id = x.job and (kept is null or kept[x.command]);
    end if;
end $$;
