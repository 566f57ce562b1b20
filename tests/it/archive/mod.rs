//! The oldest part of the log in the object store, and back.

mod files;
mod kills;
mod whole;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use sqlx::AssertSqlSafe;
use tokio::process::Command;

use crate::system::rig::{Rig, target};

const DEADLINE: Duration = Duration::from_secs(60);

/// A log whose partitions have so many positions from the first one on; nobody else may write meanwhile.
async fn with_small_partitions(rig: &Rig, size: u32) {
    let remake = format!(
        "begin;
         alter table dagapp.events detach partition dagapp.events_1;
         alter table dagapp.events_1 rename to written;
         drop table dagapp.events_4000001;
         drop index dagapp.events_1_stream;
         alter table dagapp.written drop constraint events_1_pkey;
         update dagapp.log_head set partition_size = {size}, partitioned_to = 0;
         select dagapp.make_partitions(pos) from dagapp.log_head;
         insert into dagapp.events select * from dagapp.written;
         drop table dagapp.written;
         commit;"
    );
    sqlx::raw_sql(AssertSqlSafe(remake))
        .execute(&rig.pool)
        .await
        .unwrap();
}

/// `strata`, as an operator runs it.
fn strata(rig: &Rig, args: &[&str], env: &[(&str, &str)]) -> Command {
    let program = target().join("debug/strata");
    assert!(program.exists(), "build it first: cargo build -p cli");
    let mut command = Command::new(program);
    command
        .args(args)
        .arg("--data-dir")
        .arg(folder(rig))
        .env("STRATA_DATABASE_URL", &rig.database_url)
        .env_remove("STRATA_NATS_URL")
        .env("RUST_BACKTRACE", "0")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// What only this test keeps: its store among it.
fn folder(rig: &Rig) -> PathBuf {
    rig.dir.join(&rig.prefix)
}

/// Exit code, data and talk of a command.
async fn ended(rig: &Rig, args: &[&str]) -> (Option<i32>, String, String) {
    with(rig, args, &[]).await
}

async fn with(rig: &Rig, args: &[&str], env: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let output = tokio::time::timeout(DEADLINE, strata(rig, args, env).output()).await;
    let output = output.expect("it ends in time").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// What a command prints as JSON, once it has done what it was told.
async fn done(rig: &Rig, args: &[&str]) -> Value {
    let args = [args, &["--output", "json"]].concat();
    let (code, data, talk) = ended(rig, &args).await;
    assert_eq!(code, Some(0), "{args:?}: {data}{talk}");
    serde_json::from_str(&data).unwrap()
}

async fn floor(rig: &Rig) -> i64 {
    projections::archive::floor(&rig.pool).await.unwrap()
}

/// The last position, as an argument: everything before it is old enough.
async fn head(rig: &Rig) -> String {
    rig.count("select pos + 1 from dagapp.log_head")
        .await
        .to_string()
}

/// Waits until the read models show everything.
async fn projected(rig: &Rig) {
    let behind = async || {
        rig.count(
            "select count(*) from dagapp.log_head h
             where not exists (select from dagapp.projection_checkpoints c where c.name = 'read_models' and c.pos = h.pos)",
        )
        .await
            == 0
    };
    rig.eventually("everything is projected", DEADLINE, behind)
        .await;
}
