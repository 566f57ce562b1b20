//! The schema as others see it: names, types and schemas that were asked for.

use std::collections::BTreeSet;

use sqlx::Row;

use crate::repo::rust_files_below;
use crate::system::rig::Rig;

/// Schema, table or view, and columns with their types; `@` is a time.
const ASKED_FOR: &[(&str, &str, &[&str])] = &[
    (
        "dagapp",
        "dag_jobs",
        &[
            "job_id varchar(64)",
            "workflow_id varchar(64)",
            "status enum",
            "input_params jsonb",
            "created_at @",
            "updated_at @",
            "completed_at @",
            "owner_id varchar(64)",
        ],
    ),
    ("dagapp", "dag_jobs_with_owner", &["owner_heartbeat_at @"]),
    (
        "dagapp",
        "dag_node_states",
        &[
            "job_id varchar(64)",
            "node_id varchar(160)",
            "status enum",
            "task_id text",
            "output jsonb",
            "error_message text",
            "retry_count integer",
        ],
    ),
    (
        "dagapp",
        "dag_task_results",
        &[
            "task_id text",
            "job_id varchar(64)",
            "status enum",
            "output jsonb",
            "worker_id text",
            "reported_at @",
        ],
    ),
    (
        "dagapp",
        "dag_job_events",
        &[
            "event_id bigint",
            "job_id text",
            "node_id text",
            "event_type text",
            "event_status text",
            "event_data jsonb",
            "checkpoint_name text",
            "created_at @",
        ],
    ),
    (
        "app",
        "jobs",
        &[
            "job_type varchar(64)",
            "status text",
            "stage integer",
            "total_stages integer",
            "parameters jsonb",
            "stage_results jsonb",
            "result_data jsonb",
            "error_details jsonb",
        ],
    ),
    (
        "app",
        "tasks",
        &[
            "task_id text",
            "parent_job_id varchar(64)",
            "task_type text",
            "task_index integer",
            "next_stage_params jsonb",
            "heartbeat @",
            "retry_count integer",
        ],
    ),
];

async fn columns(rig: &Rig, schema: &str, table: &str) -> BTreeSet<String> {
    let rows = sqlx::query(
        "select column_name || ' ' || case when data_type = 'character varying'
            then 'varchar(' || character_maximum_length || ')'
            when data_type = 'USER-DEFINED' then 'enum' else data_type end
         from information_schema.columns where table_schema = $1 and table_name = $2",
    )
    .bind(schema)
    .bind(table)
    .fetch_all(&rig.pool)
    .await
    .unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn tables_and_views_have_the_columns_that_were_asked_for() {
    let rig = Rig::new("schema").await;
    let at = "timestamp with time zone";
    for (schema, table, wanted) in ASKED_FOR {
        let found = columns(&rig, schema, table).await;
        for column in *wanted {
            let column = column.replace('@', at);
            assert!(
                found.contains(&column),
                "{schema}.{table}: {column} in {found:?}"
            );
        }
    }
    let again = commands::log::Connect::parse(&rig.database_url, 1).unwrap();
    let again = commands::migrate::run(&again.options).await.unwrap();
    assert_eq!(again.applied, 0);
}

/// SQL stands only where the repositories are (O-121).
#[test]
fn sql_stands_only_in_repository_modules() {
    let allowed = [
        "commands/src/access/store.rs",
        "commands/src/log/",
        "commands/src/migrate.rs",
        "projections/src/store/",
        "projections/src/read/",
        // Whether a server answers, and what the bare machine reaches: nothing of our data.
        "cli/src/services/",
        "cli/src/roles/catalog.rs",
        "cli/src/doctor/",
        "cli/src/bench/geo/tables.rs",
        "cli/src/bench/limit.rs",
        "cli/src/bench/look.rs",
        "cli/src/bench/read.rs",
    ];
    let mut wrong = Vec::new();
    for room in [
        "commands",
        "projections",
        "workers",
        "workers/native",
        "api",
        "cli",
        "bus",
    ] {
        for file in rust_files_below(&format!("{room}/src")) {
            let path = file.path.to_string();
            let words = ["sqlx::query", "query_as(", "query_scalar("];
            if words.iter().any(|word| file.text.contains(word))
                && !allowed.iter().any(|place| path.contains(place))
            {
                wrong.push(path);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "SQL outside of the repositories: {wrong:?}"
    );
}
