//! Read models rebuilt while the platform runs: nobody notices, nothing is sent, and whoever is killed is replaced.

mod ends;
mod live;

use std::process::{Output, Stdio};
use std::time::Duration;

use commands::submit::Order;
use serde_json::{Map, json};
use tokio::process::Command;

use super::rig::{Rig, order, target};

const DEADLINE: Duration = Duration::from_secs(60);

/// `strata projection`, as anybody runs it.
fn strata(rig: &Rig, args: &[&str]) -> Command {
    let program = target().join("debug/strata");
    assert!(program.exists(), "build it first: cargo build -p cli");
    let mut command = Command::new(program);
    command
        .arg("projection")
        .args(args)
        .arg("--data-dir")
        .arg(&rig.dir)
        .env("STRATA_DATABASE_URL", &rig.database_url)
        .env_remove("STRATA_NATS_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn ended(rig: &Rig, args: &[&str]) -> (Option<i32>, String, String) {
    let output = tokio::time::timeout(DEADLINE, strata(rig, args).output()).await;
    said(output.expect("it ends in time").unwrap())
}

fn said(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

async fn rebuilt(rig: &Rig, args: &[&str]) {
    let all = [&["rebuild", "--all"], args].concat();
    let (code, _, talk) = ended(rig, &all).await;
    assert_eq!(code, Some(0), "{talk}");
}

/// A rebuild leaves no table and no row of its own.
async fn no_debris(rig: &Rig) {
    let left = rig
        .count(
            "select (select count(*) from pg_class where relnamespace = 'dagapp_next'::regnamespace)
                  + (select count(*) from dagapp.rebuilds) + (select count(*) from dagapp.rebuild_rest)",
        )
        .await;
    assert_eq!(left, 0, "something of the rebuild is left");
}

/// Jobs of all kinds, and one that takes over the work of a failed one.
async fn work(rig: &Rig, rounds: usize) {
    let kinds = [
        "one", "chain", "fan", "choice", "flaky", "doomed", "nothing",
    ];
    for _ in 0..rounds {
        for kind in kinds {
            let inputs = match kind {
                "fan" => json!({"items": 12}),
                _ => json!({}),
            };
            rig.submit(kind, inputs).await;
        }
        rig.submit_for("field", "one").await;
    }
}

async fn retried(rig: &Rig, workflow: &str) {
    let failed = rig.submit(workflow, json!({})).await.job_id;
    let has_failed = async || rig.end_of(failed).await.is_some();
    rig.eventually("a job fails", DEADLINE, has_failed).await;
    let again = Order {
        retry_of: Some(failed),
        ..order(workflow, Map::new())
    };
    rig.writer.submit(again).await.unwrap();
}
