-- Read models built again beside those that are read: the same tables in a schema of their own, and the switch.
--
-- Whoever runs a rebuild owns no tables: the functions here make, index, switch and drop them with the rights of
-- whoever made the schema, and touch nothing but the tables of the list.

-- The tables that a rebuild makes again. A new read model is one line here; effects (callback_outbox and its
-- like) and the log are never in it.
create table dagapp.read_model_tables (
    name text primary key
);
insert into dagapp.read_model_tables (name) values
    ('assets'),
    ('asset_revisions'),
    ('dag_jobs'),
    ('dag_node_states'),
    ('dag_task_results'),
    ('platforms'),
    ('requests'),
    ('workflows');

-- Empty but while a rebuild is under way.
create schema dagapp_next;

-- The rebuild of each projector that is under way. The owner holds it as a projector holds its lead: by an
-- expiry on the clock of the database and an epoch that fences whoever was away too long.
create table dagapp.rebuilds (
    name       text primary key,
    -- The version of the code that fills the tables.
    version    integer not null,
    phase      text not null default 'fill' check (phase in ('fill', 'index', 'rest', 'follow', 'compare')),
    -- The fill ends here; what comes after is followed.
    upto       bigint not null default 0,
    -- How far it is. Only from the phase `rest` on is it a place to go on from.
    pos        bigint not null default 0,
    owner      uuid,
    epoch      bigint not null default 0,
    expires_at timestamptz not null default '-infinity',
    cancelled  boolean not null default false,
    started_at timestamptz not null default clock_timestamp(),
    phase_at   timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 10);

-- Streams that the fill set aside, to be projected one by one when it is done.
create table dagapp.rebuild_rest (
    stream_id text primary key
);

-- Drops what a rebuild made.
create function dagapp.next_drop() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    old record;
begin
    for old in select c.relname from pg_class c where c.relnamespace = 'dagapp_next'::regnamespace and c.relkind = 'r' loop
        execute format('drop table dagapp_next.%I cascade', old.relname);
    end loop;
    delete from dagapp.rebuild_rest;
end $$;

-- Makes the tables anew, empty and without indexes: columns, defaults, storage and grants are those of the live
-- ones. Indexes are made when the rows are there.
create function dagapp.next_make() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    live record;
    given record;
begin
    perform dagapp.next_drop();
    for live in
        select m.name, c.relowner, c.relacl,
               coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') as options
        from dagapp.read_model_tables m
        join pg_class c on c.relnamespace = 'dagapp'::regnamespace and c.relname = m.name
        union all
        -- Streams that the rebuilt models could not follow; they join the others at the switch.
        select c.relname, c.relowner, c.relacl, '' from pg_class c where c.oid = 'dagapp.projection_errors'::regclass
    loop
        execute format(
            'create table dagapp_next.%I (like dagapp.%I including all excluding indexes)%s',
            live.name, live.name, live.options);
        for given in select * from aclexplode(live.relacl) a where a.grantee <> live.relowner loop
            execute format(
                'grant %s on dagapp_next.%I to %s', given.privilege_type, live.name,
                case given.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(given.grantee)) end);
        end loop;
    end loop;
    execute 'alter table dagapp_next.projection_errors add primary key (projector, stream_id)';
end $$;

-- Makes one of the indexes that a table has and its rebuilt one lacks, primary keys first; the answer is its name, or null
-- when there are all.
create function dagapp.next_index(model text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    wanted record;
begin
    select ic.relname as name, pg_get_indexdef(x.indexrelid) as definition,
           con.conname as of_constraint, pg_get_constraintdef(con.oid) as constraint_definition
        into wanted
        from dagapp.read_model_tables m
        join pg_class c on c.relnamespace = 'dagapp'::regnamespace and c.relname = m.name
        join pg_index x on x.indrelid = c.oid and x.indisvalid
        join pg_class ic on ic.oid = x.indexrelid
        left join pg_constraint con on con.conindid = x.indexrelid and con.conrelid = c.oid
        where m.name = model
          and not exists (select from pg_class n
                          where n.relnamespace = 'dagapp_next'::regnamespace and n.relname = ic.relname)
        order by not x.indisprimary, ic.relname
        limit 1;
    if not found then
        execute format('analyze dagapp_next.%I', model);
        return null;
    end if;
    if wanted.of_constraint is not null then
        execute format('alter table dagapp_next.%I add constraint %I %s', model, wanted.of_constraint,
                       wanted.constraint_definition);
    else
        execute regexp_replace(wanted.definition, ' ON dagapp\.', ' ON dagapp_next.');
    end if;
    return wanted.name;
end $$;

-- Holds off whoever tidies the tables up (autovacuum gives way after a second); readers and writers go on.
create function dagapp.next_calm() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    model text;
begin
    for model in select name from dagapp.read_model_tables order by name loop
        execute format('lock table dagapp.%I, dagapp_next.%I in share update exclusive mode', model, model);
    end loop;
end $$;

-- The rebuilt tables take the place of the live ones, which are dropped; views are bound anew. In the transaction of
-- the caller, who holds the checkpoint; refused unless both stand at one position.
create function dagapp.next_switch(projector text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    live dagapp.projection_checkpoints%rowtype;
    next dagapp.rebuilds%rowtype;
    bound record;
    model text;
begin
    select * into strict live from dagapp.projection_checkpoints where name = projector for update;
    select * into strict next from dagapp.rebuilds where name = projector for update;
    if next.pos <> live.pos or next.phase not in ('follow', 'compare') or next.cancelled then
        raise exception 'the rebuilt read models are at %, in phase %, and the live ones at %', next.pos, next.phase, live.pos
            using errcode = 'object_not_in_prerequisite_state';
    end if;

    -- Views first, in the order in which readers take their locks. With `dagapp` to be searched, their texts name
    -- its tables without schema; and so the same texts, read with `dagapp_next` before it, mean the rebuilt ones.
    perform set_config('search_path', 'dagapp, pg_temp', true);
    for bound in
        select format('%I.%I', n.nspname, c.relname) as name, pg_get_viewdef(c.oid) as text,
               coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '') as options
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'v' and c.oid in (
            select r.ev_class from pg_depend d join pg_rewrite r on r.oid = d.objid
            where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
              and d.refobjid in (select t.oid from dagapp.read_model_tables m join pg_class t
                                 on t.relnamespace = 'dagapp'::regnamespace and t.relname = m.name))
        order by 1
    loop
        perform set_config('search_path', 'dagapp_next, dagapp, pg_temp', true);
        execute format('create or replace view %s%s as %s', bound.name, bound.options, bound.text);
        perform set_config('search_path', 'dagapp, pg_temp', true);
    end loop;

    for model in select name from dagapp.read_model_tables order by name loop
        execute format('drop table dagapp.%I', model);
        execute format('alter table dagapp_next.%I set schema dagapp', model);
    end loop;

    delete from dagapp.projection_errors e where e.projector = next_switch.projector;
    insert into dagapp.projection_errors select * from dagapp_next.projection_errors;
    perform dagapp.next_drop();

    -- Nobody leads: whoever did has rows of the old tables in memory.
    update dagapp.projection_checkpoints
        set version = next.version, leader = null, epoch = epoch + 1, expires_at = '-infinity',
            updated_at = clock_timestamp()
        where name = projector;
    delete from dagapp.rebuilds where name = projector;
    return live.pos;
end $$;

do $$
begin
    revoke execute on function
        dagapp.next_drop(), dagapp.next_make(), dagapp.next_index(text), dagapp.next_calm(), dagapp.next_switch(text)
        from public;
    if exists (select from pg_roles where rolname = 'strata_app') then
        grant usage on schema dagapp_next to strata_app;
        grant select on dagapp.read_model_tables to strata_app;
        grant select, insert, update, delete on dagapp.rebuilds, dagapp.rebuild_rest to strata_app;
        grant execute on function
            dagapp.next_drop(), dagapp.next_make(), dagapp.next_index(text), dagapp.next_calm(), dagapp.next_switch(text)
            to strata_app;
    end if;
    if exists (select from pg_roles where rolname = 'strata_read') then
        grant select on dagapp.read_model_tables, dagapp.rebuilds to strata_read;
    end if;
end $$;
