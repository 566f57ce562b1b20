-- Archives: parts of the log that were moved to the object store (ADR 0027, 0028).
--
-- What is archived is always the beginning of the log, in whole partitions. From the row in `archives` on, nobody reads
-- these positions here, whether their table is still attached or not: `live` and its sisters, which every statement
-- that reads events calls, refuse. Detaching comes after, and loses nothing.

-- One row per partition that was ever archived. Written by the owner of the schema alone.
create table dagapp.archives (
    first_pos       bigint primary key,
    last_pos        bigint not null,
    -- Where the manifest is: the address of the store, for people, and the key in it.
    store           text not null,
    manifest        text not null,
    manifest_sha256 text not null,
    -- The table, here while it is kept, and how many bytes the files have.
    partition       text not null,
    bytes           bigint not null,
    archived_at     timestamptz not null default clock_timestamp(),
    archived_by     text not null default session_user,
    -- Since when the table is gone; null while it is kept.
    dropped_at      timestamptz,
    -- Since when the positions are read here again.
    restored_at     timestamptz
);

-- Leaves at the end of what is archived: of the batch and of the block of the tree that go on behind it.
create table dagapp.archive_edges (
    pos  bigint primary key,
    leaf bytea not null
);

-- Streams that live on though they have archived events: reading begins with the event of this version, which says all
-- that those before it say.
create table dagapp.carried_streams (
    stream_id text primary key,
    version   bigint not null,
    pos       bigint not null
);

-- Tables that were detached and not dropped.
create schema dagapp_archived;

create function dagapp.refuse_archived(floor bigint) returns void
language plpgsql as $$
begin
    raise exception 'positions 1 to % of the log are archived', floor
        using errcode = 'STR01', detail = floor::text, hint = 'strata archive restore';
end $$;

-- How these three are asked matters, for the planner knows which partitions there are. A condition such as
-- `dagapp.live($1) is not null` is never evaluated when the positions that are asked for have no partition any more, and
-- that is the very case. So it is the gate of the statement: `with gate as materialized (select dagapp.live($1) as after)
-- select ... from gate cross join lateral (select ... where pos > gate.after offset 0)`. What comes out of a materialized
-- list is not known before it is asked, and all bounds of positions come out of it.

-- `after`, if everything behind it can be read here.
create function dagapp.live(after bigint) returns bigint
language plpgsql stable as $$
declare
    floor bigint;
begin
    select max(a.last_pos) into floor from dagapp.archives a where a.restored_at is null;
    if after < floor then
        perform dagapp.refuse_archived(floor);
    end if;
    return after;
end $$;

-- A position before the events of a stream after a version, as far as `upto`, to fold them. Null if there is
-- no such stream. Refused if the next one is archived and nothing stands in for it.
create function dagapp.live_stream(of_stream text, after_version bigint, upto bigint default 9223372036854775807)
returns bigint language plpgsql stable as $$
declare
    known dagapp.streams%rowtype;
    floor bigint;
begin
    select * into known from dagapp.streams s where s.stream_id = of_stream;
    if not found then
        return null;
    end if;
    select max(a.last_pos) into floor from dagapp.archives a where a.restored_at is null;
    if floor is null or known.first_pos > floor or known.version <= after_version then
        return known.first_pos;
    end if;
    if not exists (select from dagapp.events e
                   where e.stream_id = of_stream and e.version = after_version + 1 and e.pos > floor)
       and not exists (select from dagapp.carried_streams c
                       where c.stream_id = of_stream and c.version > after_version and c.pos <= upto) then
        perform dagapp.refuse_archived(floor);
    end if;
    return floor + 1;
end $$;

-- `after`, if no event of the stream behind it is archived: for whoever shows them all, and has no use for a sum of them.
create function dagapp.live_history(of_stream text, after bigint) returns bigint
language plpgsql stable as $$
declare
    floor bigint;
begin
    select max(a.last_pos) into floor from dagapp.archives a where a.restored_at is null;
    if after < floor and exists (select from dagapp.streams s
                                 where s.stream_id = of_stream and s.first_pos <= floor) then
        perform dagapp.refuse_archived(floor);
    end if;
    return after;
end $$;

do $$
declare
    part record;
begin
    revoke execute on function dagapp.refuse_archived(bigint), dagapp.live(bigint),
        dagapp.live_stream(text, bigint, bigint), dagapp.live_history(text, bigint) from public;
    if exists (select from pg_roles where rolname = 'strata_app') then
        grant select on dagapp.archives, dagapp.archive_edges, dagapp.carried_streams to strata_app;
        grant execute on function dagapp.refuse_archived(bigint), dagapp.live(bigint),
            dagapp.live_stream(text, bigint, bigint), dagapp.live_history(text, bigint) to strata_app;
        -- The first partitions were there when rights were given to all tables: what may not be done to the log may not
        -- be done to its parts.
        for part in select i.inhrelid::regclass as name from pg_inherits i where i.inhparent = 'dagapp.events'::regclass loop
            execute format('revoke all on %s from strata_app', part.name);
        end loop;
    end if;
    if exists (select from pg_roles where rolname = 'strata_read') then
        grant select on dagapp.archives, dagapp.archive_edges, dagapp.carried_streams to strata_read;
        grant execute on function dagapp.refuse_archived(bigint), dagapp.live(bigint),
            dagapp.live_stream(text, bigint, bigint), dagapp.live_history(text, bigint) to strata_read;
    end if;
end $$;
