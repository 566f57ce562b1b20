//! The role that workers use: the catalog and the schema `geo`, nothing else.

use domain::failure::{Failure, FailureClass};
use sqlx::{Connection, PgConnection};

use crate::names::{cut, is_name};
use crate::sql::{failure, is_catalog_race};

const TRIES: u32 = 8;

/// Names and password come from settings of the transaction: no statement that a server may log holds
/// them. `dagapp` is the schema of the log; the role must not even see it.
const GRANTS: &str = r"
do $do$
declare
  name text := current_setting('strata.role');
  member text;
begin
  if not exists (select from pg_roles where rolname = name) then
    execute format('create role %I', name);
  end if;
  execute format('alter role %I with login nosuperuser nocreatedb nocreaterole noreplication '
    'nobypassrls inherit password %L', name, current_setting('strata.password'));
  for member in
    select granted.rolname from pg_auth_members m
    join pg_roles granted on granted.oid = m.roleid
    join pg_roles own on own.oid = m.member
    where own.rolname = name and granted.rolname <> 'pgstac_ingest'
  loop
    execute format('revoke %I from %I', member, name);
  end loop;
  execute format('grant pgstac_ingest to %I', name);
  execute format('alter role %I in database %I set search_path = pgstac, public',
    name, current_database());
  execute format('grant connect, temporary on database %I to %I', current_database(), name);
  execute format('revoke create on schema public from %I', name);
  execute format('grant usage on schema public to %I', name);
  execute format('grant usage, create on schema geo to %I', name);
  if to_regnamespace('dagapp') is not null then
    execute format('revoke all on schema dagapp from %I', name);
    execute format('revoke all on all tables in schema dagapp from %I', name);
  end if;
end
$do$";

/// Makes a login role, or brings it back to what it may do: read and write pgSTAC, make tables in `geo`.
/// Rights that somebody else gave it are taken back. [`super::install`] comes first.
pub async fn ensure_role(
    admin: &mut PgConnection,
    name: &str,
    password: &str,
) -> Result<(), Failure> {
    let refused = |message: &str| Failure::new(FailureClass::Contract, "role_name", message);
    if !is_name(name) || name.starts_with("pg_") || name.starts_with("pgstac_") {
        return Err(refused(&format!(
            "`{}` cannot be the name of a role for workers",
            cut(name)
        )));
    }
    if password.is_empty() || password.contains('\0') {
        return Err(refused("the role needs a password"));
    }
    let mut tries = 0;
    loop {
        tries += 1;
        match ensure_once(admin, name, password).await {
            Ok(true) => return Ok(()),
            Ok(false) => {
                let message = format!(
                    "`{name}` is a superuser or asks for itself: no rights are taken away here"
                );
                return Err(refused(&message));
            }
            Err(error) if is_catalog_race(&error) && tries < TRIES => {}
            Err(error) => return Err(failure("cannot make the role of the workers", &error)),
        }
    }
}

async fn ensure_once(
    admin: &mut PgConnection,
    name: &str,
    password: &str,
) -> Result<bool, sqlx::Error> {
    let mut tx = admin.begin().await?;
    let worked = grant(&mut tx, name, password).await;
    // Not left to the drop, which would keep the lock until the connection is used again.
    match worked {
        Ok(true) => tx.commit().await.map(|()| true),
        other => tx.rollback().await.and(other),
    }
}

/// Whether it was done: a superuser is left alone, and so is whoever asks.
async fn grant(conn: &mut PgConnection, name: &str, password: &str) -> Result<bool, sqlx::Error> {
    sqlx::query("select pg_advisory_xact_lock(hashtextextended('strata:install:geo', 0))")
        .execute(&mut *conn)
        .await?;
    let superuser: Option<bool> = sqlx::query_scalar(
        "select rolsuper or rolname = current_user from pg_roles where rolname = $1",
    )
    .bind(name)
    .fetch_optional(&mut *conn)
    .await?;
    if superuser == Some(true) {
        return Ok(false);
    }
    sqlx::query(
        "select set_config('strata.role', $1, true), set_config('strata.password', $2, true)",
    )
    .bind(name)
    .bind(password)
    .execute(&mut *conn)
    .await?;
    sqlx::raw_sql(GRANTS).execute(conn).await?;
    Ok(true)
}
