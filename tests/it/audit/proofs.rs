//! Proofs of real jobs, from the command line, and what one changed byte does to them.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use domain::event::checkpoint::{PublicKey, Signed};
use domain::event::proof::check;
use serde_json::{Value, json};

use crate::system::rig::{Rig, target};

const DEADLINE: Duration = Duration::from_secs(60);

/// A command of a person on the database of the rig, with a key of its own.
fn strata(rig: &Rig, dir: &Path, args: &[&str]) -> Output {
    Command::new(target().join("debug/strata"))
        .args(args)
        .env("STRATA_DATABASE_URL", &rig.database_url)
        .env("STRATA_AUDIT_KEY", dir.join("audit.key"))
        .env_remove("STRATA_NATS_URL")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}

fn data(output: &Output, exit: i32) -> String {
    assert_eq!(output.status.code(), Some(exit), "{}", said(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Makes the key of a data directory, which only its owner may read.
fn make_key(rig: &Rig, dir: &Path) -> PublicKey {
    let key = data(&strata(rig, dir, &["audit", "key", "--make"]), 0);
    let again = data(&strata(rig, dir, &["audit", "key"]), 0);
    assert_eq!(key, again, "it stays");
    let secret = std::fs::metadata(dir.join("audit.key")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&secret) & 0o777, 0o600);
    PublicKey::parse(key.trim()).unwrap()
}

#[tokio::test]
async fn a_job_is_proven_without_a_database_and_no_byte_of_the_proof_can_be_another() {
    let rig = Rig::new("proof").await;
    let dir = rig.dir.join(&rig.prefix);
    std::fs::create_dir_all(&dir).unwrap();
    let key = make_key(&rig, &dir);
    let secret = dir.join("audit.key").display().to_string();
    let projector = rig.spawn(
        "projector",
        &["--audit-key", &secret, "--checkpoint-after", "300ms"],
        &[],
    );
    let _roles = (projector, rig.orchestrator(&[]), rig.worker(4, &[]));
    let first = rig.submit("one", json!({"message": "hi"})).await;
    rig.all_ended(DEADLINE).await;
    let checkpoint = async || {
        rig.count("select count(*) from dagapp.log_checkpoints")
            .await
            > 0
    };
    rig.eventually("a checkpoint is signed", DEADLINE, checkpoint)
        .await;
    let kept = dir.join("kept.note");
    std::fs::write(
        &kept,
        data(&strata(&rig, &dir, &["audit", "checkpoint"]), 0),
    )
    .unwrap();
    let kept = kept.display().to_string();
    rig.submit("fan", json!({"items": 40})).await;
    rig.all_ended(DEADLINE).await;

    let out = dir.join("job.proof.json").display().to_string();
    let job = first.job_id.to_string();
    data(
        &strata(
            &rig,
            &dir,
            &["audit", "proof", &job, "--known", &kept, "--out", &out],
        ),
        0,
    );
    // No database, no data directory: the file is all there is.
    let offline = |args: &[&str]| {
        let args = [&["audit", "check", &out, "--output", "json"], args].concat();
        Command::new(target().join("debug/strata"))
            .args(args)
            .env_clear()
            .current_dir("/")
            .output()
            .unwrap()
    };
    let proven: Value = serde_json::from_str(&data(
        &offline(&["--key", &key.text(), "--known", &kept]),
        0,
    ))
    .unwrap();
    assert_eq!(proven["job_id"], json!(job));
    assert_eq!(proven["ended"], json!("job_completed"));
    assert_eq!(proven["key_is_trusted"], json!(true));
    assert_eq!(proven["events"], json!(events_of(&rig, &job).await));
    is_judged_by_its_key(&offline, &key);
    let file = std::fs::read(&out).unwrap();
    let kept = std::fs::read_to_string(&kept).unwrap();
    assert!(Signed::parse(&kept).unwrap().verify(&key).is_ok());
    no_byte_may_change(&file, &key);
    let middle = file.len() / 2;
    std::fs::write(&out, [&file[..middle], &file[middle + 1..]].concat()).unwrap();
    let refused = said(&offline(&["--key", &key.text()]));
    assert!(refused.contains("the proof does not hold"), "{refused}");
    data(&offline(&["--key", &key.text()]), 3);
}

async fn events_of(rig: &Rig, job: &str) -> usize {
    let stream = format!("job:{job}");
    let events = rig.writer.log.read_stream(&stream, 0, 1_000).await;
    events.unwrap().len()
}

/// A key that comes with the file proves less than one that somebody trusts, and another proves nothing.
fn is_judged_by_its_key(offline: &impl Fn(&[&str]) -> Output, key: &PublicKey) {
    let untrusted = offline(&[]);
    assert!(
        said(&untrusted).contains("taken from the file itself"),
        "{}",
        said(&untrusted)
    );
    let other = domain::event::checkpoint::SigningKey::new(&[1; 32])
        .public()
        .text();
    assert!(said(&offline(&["--key", &other])).contains("not with"));
    data(&offline(&["--key", &other]), 3);
    assert_ne!(other, key.text());
}

fn no_byte_may_change(file: &[u8], key: &PublicKey) {
    for at in 0..file.len() {
        let mut changed = file.to_vec();
        changed[at] ^= 1 << (at % 8);
        assert!(check(&changed, Some(key)).is_err(), "byte {at}");
    }
}

#[tokio::test]
async fn verify_says_what_it_checked_or_where_the_log_was_changed() {
    let rig = Rig::new("verify").await;
    let dir = rig.dir.join(&rig.prefix);
    std::fs::create_dir_all(&dir).unwrap();
    data(&strata(&rig, &dir, &["audit", "key", "--make"]), 0);
    let secret = dir.join("audit.key").display().to_string();
    let projector = rig.spawn(
        "projector",
        &["--audit-key", &secret, "--checkpoint-after", "200ms"],
        &[],
    );
    let head = rig.count("select pos from dagapp.log_head").await;
    let signed = async || {
        rig.count("select coalesce(max(size), 0) from dagapp.log_checkpoints")
            .await
            == head
    };
    rig.eventually("all is signed", DEADLINE, signed).await;
    assert_eq!(projector.terminate(DEADLINE).await, Some(0));
    let verify = |args: &[&str]| {
        let args = [&["audit", "verify", "--output", "json"], args].concat();
        strata(&rig, &dir, &args)
    };
    let report: Value = serde_json::from_str(&data(&verify(&[]), 0)).unwrap();
    assert_eq!(
        (&report["ok"], &report["events"]),
        (&json!(true), &json!(head))
    );
    assert_eq!(
        (&report["signatures"], &report["signed_upto"]),
        (&json!(true), &json!(head))
    );
    sqlx::query("update dagapp.events set payload = payload || ' ' where pos = 3")
        .execute(&rig.pool)
        .await
        .unwrap();
    let report: Value = serde_json::from_str(&data(&verify(&[]), 3)).unwrap();
    assert_eq!(report["finding"]["pos"], json!(3));
    assert_eq!(report["finding"]["what"], json!("leaf"));
    let words = strata(&rig, &dir, &["audit", "verify"]);
    assert!(
        data(&words, 3).starts_with("changed: position 3: "),
        "{}",
        said(&words)
    );
    // A checkpoint vouches for what is before it, and says from where it was read.
    let since = data(&verify(&["--since", &(head + 1).to_string()]), 0);
    let report: Value = serde_json::from_str(&since).unwrap();
    assert_eq!(report["from_pos"], json!(head + 1));
    let nobody = strata(
        &rig,
        &dir,
        &["audit", "proof", "job_00000000000000000000000000000001"],
    );
    data(&nobody, 4);
}
