//! Whole jobs of every version that was ever released are decided today as they were then.
//!
//! Each file is a proof as `strata audit proof` writes it, of a job that ran on the real stack of that version; beside it
//! is the verdict that its replay must have. Where a rule was changed on purpose, the verdict is the divergence.

#![cfg(test)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use domain::event::proof::open;
use domain::handler::Catalog;
use domain::job::Policy;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

fn entries(of: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(of).unwrap_or_else(|e| panic!("{}: {e}", of.display()));
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[test]
fn jobs_of_every_released_version_replay_with_the_verdict_beside_them() {
    let mut replayed = 0;
    for version in entries(&folder()) {
        let files = entries(&version);
        let proofs = files
            .iter()
            .filter(|file| file.to_string_lossy().ends_with(".proof.json"));
        for file in proofs {
            let name = file.display();
            let bytes = std::fs::read(file).expect("readable");
            let (proven, history) = open(&bytes, None).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            let replayed_today = history.replay(&Catalog::shipped(), None, &Policy::default());
            let (_, verdict) = replayed_today.unwrap_or_else(|e| panic!("{name}: {e:?}"));
            let beside = file
                .to_string_lossy()
                .replace(".proof.json", ".verdict.json");
            let beside = std::fs::read(&beside).unwrap_or_else(|e| panic!("{beside}: {e}"));
            let wanted: Value = serde_json::from_slice(&beside).expect("JSON");
            let found = serde_json::to_value(&verdict).expect("JSON");
            assert_eq!(found, wanted, "{name}");
            if verdict.is_confirmed() {
                assert_eq!(verdict.events, proven.events, "{name}");
            }
            replayed += 1;
        }
    }
    assert!(replayed > 0, "there are no histories");
}

#[test]
fn this_version_keeps_histories_for_the_next_ones() {
    let ours = folder().join(env!("CARGO_PKG_VERSION"));
    assert!(
        ours.is_dir(),
        "STRATA_KEEP_HISTORIES=1 ./strata test jobs_of_every_kind makes {}",
        ours.display()
    );
}
