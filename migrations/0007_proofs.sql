-- Signed checkpoints, and the tree over the leaves of the log. Both follow from the log and can be made again;
-- what makes checkpoints worth something is their signature, not this table.

create table dagapp.log_checkpoints (
    -- Events that it covers: positions 1 to size.
    size    bigint primary key,
    -- Exactly what was signed, with the signature (a C2SP note).
    note    text not null,
    key_id  text not null,
    -- Stays for good; the others only as long as they are among the newest.
    kept    boolean not null,
    made_at timestamptz not null default clock_timestamp()
);
create index log_checkpoints_passing on dagapp.log_checkpoints (size) where not kept;

-- Hashes of complete subtrees of 2^level leaves, from leaf nth * 2^level on; levels 8, 16, 24 and so on.
create table dagapp.log_subtrees (
    level smallint not null,
    nth   bigint not null,
    hash  bytea not null,
    primary key (level, nth)
);

do $$
begin
    if exists (select from pg_roles where rolname = 'strata_app') then
        grant select, insert, update, delete on dagapp.log_checkpoints, dagapp.log_subtrees to strata_app;
    end if;
    if exists (select from pg_roles where rolname = 'strata_read') then
        grant select on dagapp.log_checkpoints, dagapp.log_subtrees to strata_read;
    end if;
end $$;
