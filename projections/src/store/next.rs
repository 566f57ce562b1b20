//! The tables of `dagapp_next`: made, indexed, compared and switched by the functions of the schema.

use serde::Serialize;
use sqlx::{Executor, PgConnection, Postgres, Row};

/// Tables that the fill writes by COPY, and whose indexes are made after it.
pub(crate) const COPIED: [&str; 5] = [
    "dag_jobs",
    "dag_jobs_history",
    "dag_node_states",
    "dag_task_results",
    "requests",
];

/// The first place at which the rebuilt read models are not the live ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    pub table: String,
    /// The primary key, as JSON.
    pub key: String,
    /// A column, or `row` if one of them has no such row.
    pub column: String,
    pub live: Option<String>,
    pub rebuilt: Option<String>,
}

/// The tables that a rebuild makes again.
pub(crate) async fn tables<'c>(
    db: impl Executor<'c, Database = Postgres>,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("select name from dagapp.read_model_tables order by name")
        .fetch_all(db)
        .await
}

/// Makes the tables anew; what the fill does not copy gets its indexes at once.
pub(crate) async fn make(tx: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("select dagapp.next_make()")
        .execute(&mut *tx)
        .await?;
    for table in tables(&mut *tx).await? {
        if !COPIED.contains(&table.as_str()) {
            while index(&mut *tx, &table).await?.is_some() {}
        }
    }
    Ok(())
}

/// Makes one of the missing indexes of a table; its name, or `None` if there are all.
pub(crate) async fn index<'c>(
    db: impl Executor<'c, Database = Postgres>,
    table: &str,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select dagapp.next_index($1)")
        .bind(table)
        .fetch_one(db)
        .await
}

/// What follows may take its time, and memory to sort in.
pub(crate) async fn patient(tx: &mut PgConnection) -> sqlx::Result<()> {
    for setting in [
        "set local statement_timeout = 0",
        "set local maintenance_work_mem = '128MB'",
    ] {
        sqlx::query(setting).execute(&mut *tx).await?;
    }
    Ok(())
}

/// Removes what the fill may have written of one stream.
pub(crate) async fn clear_stream(tx: &mut PgConnection, stream: &str) -> sqlx::Result<()> {
    let (statements, id): (&'static [&'static str], &str) =
        if let Some(id) = stream.strip_prefix("job:") {
            let of_jobs = &[
                "delete from dagapp_next.dag_jobs where job_id = $1",
                "delete from dagapp_next.dag_jobs_history where job_id = $1",
                "delete from dagapp_next.dag_node_states where job_id = $1",
                "delete from dagapp_next.dag_task_results where job_id = $1",
            ];
            (of_jobs, id)
        } else if let Some(id) = stream.strip_prefix("request:") {
            (
                &["delete from dagapp_next.requests where request_id = $1"],
                id,
            )
        } else {
            (&[], stream)
        };
    for statement in statements {
        sqlx::query(*statement).bind(id).execute(&mut *tx).await?;
    }
    sqlx::query("delete from dagapp_next.projection_errors where stream_id = $1")
        .bind(stream)
        .execute(tx)
        .await?;
    Ok(())
}

/// Holds autovacuum off; it gives way after a second.
pub(crate) async fn calm(tx: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("set local lock_timeout = '3s'")
        .execute(&mut *tx)
        .await?;
    sqlx::query("select dagapp.next_calm()")
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Locks the checkpoint of a projector until the transaction ends, and says where it is. From now on no lock is waited
/// for so long that a reader would notice, or that a deadlock would be looked for.
pub(crate) async fn hold_live(tx: &mut PgConnection, name: &str) -> sqlx::Result<i64> {
    sqlx::query("set local lock_timeout = '150ms'")
        .execute(&mut *tx)
        .await?;
    sqlx::query_scalar("select pos from dagapp.projection_checkpoints where name = $1 for update")
        .bind(name)
        .fetch_one(tx)
        .await
}

/// The rebuilt tables take the place of the live ones; the position at which they did.
pub(crate) async fn switch(tx: &mut PgConnection, name: &str) -> sqlx::Result<i64> {
    sqlx::query_scalar("select dagapp.next_switch($1)")
        .bind(name)
        .fetch_one(tx)
        .await
}

/// From now on the transaction sees one moment; both positions at it.
pub(crate) async fn freeze(tx: &mut PgConnection, name: &str) -> sqlx::Result<(i64, i64)> {
    for setting in [
        "set transaction isolation level repeatable read, read only",
        // Whole tables are joined here, which the settings of projectors forbid.
        "set local enable_hashjoin = on",
        "set local enable_mergejoin = on",
        "set local statement_timeout = 0",
    ] {
        sqlx::query(setting).execute(&mut *tx).await?;
    }
    sqlx::query_as(
        "select c.pos, r.pos from dagapp.projection_checkpoints c join dagapp.rebuilds r using (name)
         where c.name = $1",
    )
    .bind(name)
    .fetch_one(tx)
    .await
}

/// The first row of a table, by its key, that is not the same in both sets.
pub(crate) async fn first_mismatch(
    tx: &mut PgConnection,
    table: &str,
) -> sqlx::Result<Option<Mismatch>> {
    let key: Vec<String> = sqlx::query_scalar(
        "select a.attname::text from pg_index x
         cross join lateral unnest(x.indkey::int2[]) with ordinality as k (attnum, ord)
         join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.attnum
         where x.indisprimary and x.indrelid = ('dagapp.' || quote_ident($1))::regclass order by k.ord",
    )
    .bind(table)
    .fetch_all(&mut *tx)
    .await?;
    let columns = |of: &str| {
        let each = key.iter().map(|column| format!("{of}.\"{column}\""));
        each.collect::<Vec<_>>().join(", ")
    };
    // By the bytes of its key: it is the same row wherever the database was made.
    let statement = format!(
        "select jsonb_build_array({rebuilt_or_live})::text, to_jsonb(l), to_jsonb(r)
         from dagapp.\"{table}\" l full join dagapp_next.\"{table}\" r on ({live}) = ({rebuilt})
         where row(l.*) is distinct from row(r.*)
         order by {rebuilt_or_live} limit 1",
        live = columns("l"),
        rebuilt = columns("r"),
        rebuilt_or_live = key
            .iter()
            .map(|column| format!("coalesce(l.\"{column}\", r.\"{column}\")"))
            .collect::<Vec<_>>()
            .join(", "),
    );
    // Names from the catalog of the database, quoted; no values.
    let row = sqlx::query(sqlx::AssertSqlSafe(statement))
        .persistent(false)
        .fetch_optional(tx)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let key: String = row.try_get(0)?;
    let live: Option<serde_json::Value> = row.try_get(1)?;
    let rebuilt: Option<serde_json::Value> = row.try_get(2)?;
    Ok(Some(mismatch(table, key, live.as_ref(), rebuilt.as_ref())))
}

fn mismatch(
    table: &str,
    key: String,
    live: Option<&serde_json::Value>,
    rebuilt: Option<&serde_json::Value>,
) -> Mismatch {
    let field =
        |row: Option<&serde_json::Value>, name: &str| row.and_then(|row| row.get(name).cloned());
    let names = live.or(rebuilt).and_then(serde_json::Value::as_object);
    let differs = |name: &&String| field(live, name) != field(rebuilt, name);
    let both = live.is_some() && rebuilt.is_some();
    let column = names
        .and_then(|row| row.keys().find(differs))
        .filter(|_| both);
    let said = |row: Option<&serde_json::Value>| match column {
        Some(column) => field(row, column).map(|value| value.to_string()),
        None => row.map(|_| "there".to_owned()),
    };
    Mismatch {
        table: table.to_owned(),
        key,
        column: column.map_or_else(|| "row".to_owned(), Clone::clone),
        live: said(live),
        rebuilt: said(rebuilt),
    }
}
