//! The files themselves: changed ones are found, and other programs read them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::kills::full;
use super::{done, ended, floor, folder, head};
use crate::system::rig::Rig;

/// Files of archives with this end of their names, in order.
pub(super) fn archives(rig: &Rig, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    below(&folder(rig).join("store/archive"), end, &mut found);
    found.sort();
    found
}

fn below(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => below(&path, end, found),
            false if path.to_str().unwrap().ends_with(end) => found.push(path),
            false => {}
        }
    }
}

#[tokio::test]
async fn a_changed_byte_of_an_archive_is_found_and_nothing_is_restored_from_it() {
    let rig = full("archive_spoilt", 100, 60).await;
    let before = head(&rig).await;
    done(&rig, &["archive", "make", "--before", &before, "--drop"]).await;
    let archived = floor(&rig).await;
    for end in ["events.parquet", "manifest.json"] {
        let file = archives(&rig, end).pop().unwrap();
        let good = std::fs::read(&file).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        std::fs::write(&file, bad).unwrap();
        for command in [&["archive", "verify"][..], &["archive", "restore", "1"]] {
            let (code, _, talk) = ended(&rig, command).await;
            assert_eq!(code, Some(3), "{end} {command:?}: {talk}");
        }
        let newest = rig
            .count("select max(last_pos) from dagapp.archives where restored_at is null")
            .await;
        assert_eq!((newest, floor(&rig).await), (archived, archived), "{end}");
        std::fs::write(&file, good).unwrap();
    }
    done(&rig, &["archive", "verify"]).await;
    // A file that was made anew, with a manifest that fits, is not what the log has chained.
    let forged = "update dagapp.log_batches set hash = sha256(hash) where first_pos = (select min(first_pos) from dagapp.log_batches where first_pos > 120)";
    sqlx::raw_sql(forged).execute(&rig.pool).await.unwrap();
    let (code, _, talk) = ended(&rig, &["archive", "verify"]).await;
    assert_eq!(code, Some(3), "{talk}");
    assert!(
        talk.contains("are not the batch that was chained"),
        "{talk}"
    );
}

#[tokio::test]
async fn another_program_reads_an_archive_and_computes_its_leaves_and_batches() {
    let rig = full("archive_arrow", 100, 60).await;
    let before = head(&rig).await;
    done(&rig, &["archive", "make", "--before", &before]).await;
    let store = folder(&rig).join("store");
    let mut events = 0;
    for manifest in archives(&rig, "manifest.json") {
        let said = judged(&manifest, &store);
        assert_eq!(said["wrong"], 0, "{said}");
        assert!(said["batches"].as_i64() > Some(5), "{said}");
        events += said["events"].as_i64().unwrap();
    }
    assert_eq!(events, floor(&rig).await);
    // It would have noticed.
    let read =
        |path: PathBuf| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    // Of the first one: a batch that reaches over from the one before is not computed.
    let mut manifests = archives(&rig, "manifest.json").into_iter().map(read);
    let mut spoilt = manifests.find(|found| found["first_pos"] == 1).unwrap();
    spoilt["chain_before"]["hash"] = json!("ff".repeat(32));
    let other = folder(&rig).join("spoilt.json");
    std::fs::write(&other, spoilt.to_string()).unwrap();
    assert!(judged(&other, &store)["wrong"].as_i64() > Some(0));
}

fn judged(manifest: &Path, store: &Path) -> Value {
    let python = std::env::var("STRATA_TEST_PYTHON");
    let python = python.expect("STRATA_TEST_PYTHON, which ./strata test sets");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/read_archive.py");
    let output = Command::new(python)
        .arg(script)
        .arg(manifest)
        .arg(store)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).unwrap()
}
