//! Jobs of the real stack from the command line: replayed from the log, and from files without any database.
//!
//! With `STRATA_KEEP_HISTORIES=1` the files are kept as those of this version, for every later one to replay.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};

use crate::system::invariants;
use crate::system::rig::{Rig, target};

const DEADLINE: Duration = Duration::from_secs(60);

/// A command of a person on the database of the rig.
fn strata(rig: &Rig, dir: &Path, args: &[&str]) -> Output {
    Command::new(target().join("debug/strata"))
        .args(args)
        .env("STRATA_DATABASE_URL", &rig.database_url)
        .env("STRATA_AUDIT_KEY", dir.join("audit.key"))
        .env_remove("STRATA_NATS_URL")
        .output()
        .unwrap()
}

/// The same with nothing but files.
fn offline(args: &[&str]) -> Output {
    Command::new(target().join("debug/strata"))
        .args(args)
        .env_clear()
        .current_dir("/")
        .output()
        .unwrap()
}

fn data(output: &Output, exit: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(exit), "{out}{said}");
    out.into_owned()
}

fn json_of(output: &Output, exit: i32) -> Value {
    serde_json::from_str(&data(output, exit)).unwrap()
}

#[tokio::test]
async fn jobs_of_every_kind_are_confirmed_from_the_log_and_from_their_files() {
    let rig = Rig::new("histories").await;
    let dir = rig.dir.join(&rig.prefix);
    std::fs::create_dir_all(&dir).unwrap();
    data(&strata(&rig, &dir, &["audit", "key", "--make"]), 0);
    let jobs = live(&rig, &dir).await;
    let base = rig.count("select count(*) from dagapp.events").await;
    for (kind, job) in &jobs {
        let found = json_of(&strata(&rig, &dir, &["replay", job, "--output", "json"]), 0);
        assert_eq!(found["confirmed"], json!(true), "{kind}: {found}");
        let file = dir.join(format!("{kind}.proof.json")).display().to_string();
        let wait = ["--wait", "30s"];
        let proof = [&["audit", "proof", job, "--out", &file], &wait[..]].concat();
        data(&strata(&rig, &dir, &proof), 0);
        let alone = json_of(
            &offline(&["replay", "--from", &file, "--output", "json"]),
            0,
        );
        assert_eq!(alone["events"], found["events"], "{kind}");
        assert_eq!(alone["job_id"], json!(job));
        keep(kind, Path::new(&file), &alone);
    }
    let all = json_of(
        &strata(&rig, &dir, &["replay", "--all", "--output", "json"]),
        0,
    );
    assert_eq!(all["confirmed"], all["jobs"]);
    let later = [
        "replay",
        "--all",
        "--since",
        &base.to_string(),
        "--output",
        "json",
    ];
    assert_eq!(json_of(&strata(&rig, &dir, &later), 0)["jobs"], json!(0));
    differ(&rig, &dir, &jobs);
    let words = data(&strata(&rig, &dir, &["replay", &jobs[0].1]), 0);
    assert!(words.starts_with("confirmed: job_"), "{words}");
    let nobody = "job_00000000000000000000000000000001";
    data(&strata(&rig, &dir, &["replay", nobody]), 4);
    data(&strata(&rig, &dir, &["replay"]), 2);
    assert_eq!(rig.count("select count(*) from dagapp.events").await, base);
}

/// Jobs that end well and badly, are steered, tried again, and lose an owner.
async fn live(rig: &Rig, dir: &Path) -> Vec<(&'static str, String)> {
    let secret = dir.join("audit.key").display().to_string();
    let signing = ["--audit-key", &secret, "--checkpoint-after", "300ms"];
    let _roles = (rig.worker(8, &[]), rig.spawn("projector", &signing, &[]));
    let first = rig.orchestrator(&[]);
    let paused = rig.submit("nap", json!({"seconds": 3})).await.job_id;
    let cancelled = rig.submit("nap", json!({"seconds": 600})).await.job_id;
    let running = async || rig.events("node_started").await == 2;
    rig.eventually("they run", DEADLINE, running).await;
    rig.writer.pause(paused, "wait", "test").await.unwrap();
    rig.writer
        .cancel(cancelled, "enough", "test")
        .await
        .unwrap();
    // The owner dies, and another one takes the job over.
    drop(first);
    let _next = rig.orchestrator(&[]);
    let claimed = async || rig.events("job_claimed").await >= 3;
    rig.eventually("it is claimed", DEADLINE, claimed).await;
    rig.writer.resume(paused, "test").await.unwrap();
    let mut jobs = vec![("paused", paused), ("cancelled", cancelled)];
    for (kind, inputs) in [
        ("nothing", json!({})),
        ("chain", json!({})),
        ("fan", json!({"items": 6})),
        ("wide", json!({"items": 4})),
        ("choice", json!({"size": 5})),
        ("flaky", json!({})),
        ("patient", json!({})),
        ("doomed", json!({})),
        ("phases", json!({"steps": 3, "step_delay": 0.1})),
    ] {
        jobs.push((kind, rig.submit(kind, inputs).await.job_id));
    }
    rig.all_ended(DEADLINE).await;
    let retried = rig.writer.retry(cancelled, "test").await;
    // It would nap again; what matters is that it begins with what was taken over.
    rig.writer
        .cancel(retried.unwrap().submitted.job_id, "enough", "test")
        .await
        .unwrap();
    rig.all_ended(DEADLINE).await;
    invariants::check(rig).await;
    rig.all_signed(DEADLINE).await;
    let texts = jobs.into_iter().map(|(kind, job)| (kind, job.to_string()));
    texts.collect()
}

/// Another definition, from the log and from the file: the same divergence, to the field.
fn differ(rig: &Rig, dir: &Path, jobs: &[(&'static str, String)]) {
    let job = &jobs.iter().find(|(kind, _)| *kind == "patient").unwrap().1;
    let file = dir.join("patient.proof.json").display().to_string();
    let with = dir.join("patient.yaml");
    let pinned = crate::system::workflows::ALL.iter();
    let pinned = pinned
        .copied()
        .find(|text| text.contains("workflow_id: patient"));
    let pinned = pinned.unwrap();
    let slower = pinned.replace("initial_delay_seconds: 10", "initial_delay_seconds: 12");
    assert_ne!(slower, pinned);
    std::fs::write(&with, &slower).unwrap();
    let with = with.display().to_string();
    let args = ["--with", &with, "--output", "json"];
    let found = json_of(
        &strata(rig, dir, &[&["replay", job], &args[..]].concat()),
        3,
    );
    assert_eq!(found["divergence"]["kind"], "different");
    assert_eq!(found["divergence"]["recorded"]["type"], "node_failed");
    let differences = found["divergence"]["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{found}");
    assert_eq!(differences[0]["pointer"], "/retry_at");
    let alone = json_of(
        &offline(&[&["replay", "--from", &file], &args[..]].concat()),
        3,
    );
    assert_eq!(alone["divergence"], found["divergence"]);
    let words = data(&strata(rig, dir, &["replay", job, "--with", &with]), 3);
    assert!(words.contains("/retry_at"), "{words}");
    // A file for another workflow is a mistake of the caller, and so is one that is not valid.
    let other = &jobs.iter().find(|(kind, _)| *kind == "chain").unwrap().1;
    data(&strata(rig, dir, &["replay", other, "--with", &with]), 2);
    std::fs::write(&with, "nodes: 1").unwrap();
    data(&strata(rig, dir, &["replay", job, "--with", &with]), 2);
}

/// Keeps a file with its verdict beside it, if that is asked for.
fn keep(kind: &str, file: &Path, verdict: &Value) {
    if std::env::var_os("STRATA_KEEP_HISTORIES").is_none() {
        return;
    }
    let version = env!("CARGO_PKG_VERSION");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder: PathBuf = folder.join("../domain/tests/histories").join(version);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(file, folder.join(format!("{kind}.proof.json"))).unwrap();
    let verdict = json!({
        "events": verdict["events"], "decisions": verdict["decisions"], "divergence": verdict["divergence"],
    });
    let text = serde_json::to_string_pretty(&verdict).unwrap() + "\n";
    std::fs::write(folder.join(format!("{kind}.verdict.json")), text).unwrap();
}
