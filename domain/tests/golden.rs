//! Every version of every event that was ever shipped can still be read, and is written as it was.

#![cfg(test)]

use std::path::{Path, PathBuf};

use domain::event::{Event, KINDS, decode, encode};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(kind: &str, version: u16) -> Event {
    let path = folder().join(format!("{kind}.v{version}.json"));
    let bytes = std::fs::read(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; each version needs a golden file", path.display()));
    decode(kind, version, &bytes).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()))
}

#[test]
fn every_version_ever_shipped_has_a_golden_file_that_decodes() {
    for kind in KINDS {
        for version in 1..=kind.schema_ver {
            assert_eq!(
                read(kind.name, version).kind(),
                *kind,
                "{} v{version}",
                kind.name
            );
        }
    }
}

#[test]
fn events_are_written_exactly_as_their_golden_files() {
    for kind in KINDS {
        let event = read(kind.name, kind.schema_ver);
        let encoded = encode(&event).expect("encodes");
        assert_eq!(
            (encoded.kind, encoded.schema_ver),
            (kind.name, kind.schema_ver)
        );
        let path = folder().join(format!("{}.v{}.json", kind.name, kind.schema_ver));
        let golden: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).expect("readable")).expect("JSON");
        let written: serde_json::Value =
            serde_json::from_slice(&encoded.payload).expect("what we write is JSON");
        assert_eq!(
            written, golden,
            "{} is no longer written as it was",
            kind.name
        );
        assert_eq!(written["type"], kind.name);
    }
}

#[test]
fn no_golden_file_stands_without_an_event() {
    for entry in std::fs::read_dir(folder()).expect("the folder") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8");
        let (kind, version) = name
            .strip_suffix(".json")
            .and_then(|n| n.split_once(".v"))
            .unwrap_or_else(|| panic!("{name}: not KIND.vN.json"));
        let known = KINDS.iter().find(|k| k.name == kind);
        let version: u16 = version.parse().expect("a version number");
        assert!(
            known.is_some_and(|k| version <= k.schema_ver),
            "{name} belongs to no event"
        );
    }
}

#[test]
fn what_a_newer_version_wrote_is_refused_by_name() {
    let unknown = decode("job_teleported", 1, b"{}")
        .expect_err("unknown")
        .to_string();
    assert!(unknown.contains("job_teleported"), "{unknown}");
    let newer = decode("job_started", 99, b"{}")
        .expect_err("too new")
        .to_string();
    assert!(newer.contains("schema version 99"), "{newer}");
    assert!(decode("job_claimed", 1, b"{\"type\":\"job_claimed\"}").is_err());
    assert!(decode("job_claimed", 1, b"\xff\xfe").is_err());
    let other = decode("job_started", 1, b"{\"type\":\"job_resumed\"}").expect_err("another type");
    assert!(
        other.to_string().contains("that of a `job_resumed`"),
        "{other}"
    );
    assert!(
        decode("job_started", 1, b"{\"type\":\"job_started\"} {}").is_err(),
        "bytes behind the end"
    );
}
