//! A proof over a small log in memory, and what becomes of it when somebody changes it.

use super::*;
use crate::event::checkpoint::SigningKey;
use crate::event::tree::{Compact, leaf_node};

const SIZE: u64 = 21;

fn job_id() -> JobId {
    "job_0f8fad5bd9cb469fa16570867728950e".parse().unwrap()
}

fn key() -> SigningKey {
    SigningKey::new(&[3; 32])
}

fn item(pos: u64, version: u64, kind: &str, payload: &str) -> Item {
    Item {
        pos,
        version,
        kind: kind.to_owned(),
        schema_ver: 1,
        org_id: "acme".to_owned(),
        meta: r#"{"actor":"key_1"}"#.to_owned(),
        payload: payload.to_owned(),
    }
}

fn items() -> Vec<Item> {
    let created = include_str!("../../../tests/golden/job_created.v1.json");
    vec![
        item(3, 1, "job_created", created),
        item(
            4,
            2,
            "job_paused",
            r#"{"type":"job_paused","reason":"é \" wait"}"#,
        ),
        item(11, 3, "job_resumed", r#"{"type":"job_resumed"}"#),
        item(
            17,
            4,
            "job_cancelled",
            r#"{"type":"job_cancelled","reason":"enough"}"#,
        ),
    ]
}

/// The leaves of a log with these events, and others between them.
fn leaves(items: &[Item], size: u64) -> Vec<Hash> {
    let of = |pos: u64| {
        let ours = items.iter().find(|item| item.pos == pos);
        ours.map_or_else(
            || leaf_node(&pos.to_be_bytes()),
            |item| item.leaf(&stream(job_id())),
        )
    };
    (1..=size).map(of).collect()
}

fn root(leaves: &[Hash]) -> Hash {
    let mut tree = Compact::default();
    for leaf in leaves {
        tree.push(leaf, |_, _| {});
    }
    tree.root()
}

fn resolve(leaves: &[Hash], ranges: &[Range]) -> Vec<Hash> {
    let of = |range: &Range| {
        root(&leaves[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()])
    };
    ranges.iter().map(of).collect()
}

fn checkpoint(leaves: &[Hash]) -> Signed {
    let checkpoint = Checkpoint {
        incarnation: uuid::Uuid::from_u128(9),
        size: leaves.len() as u64,
        root: root(leaves),
        chain: [4; 32],
        recorded_at_micros: 1_760_000_000_000_000,
    };
    checkpoint.sign(&key())
}

fn proof_of(events: Vec<Item>) -> Proof {
    proof_with(None, events)
}

fn proof_with(definition: Option<Item>, events: Vec<Item>) -> Proof {
    let mut leaves = leaves(&events, SIZE);
    if let Some(item) = &definition {
        let place = usize::try_from(item.pos - 1).unwrap();
        leaves[place] = item.leaf("workflow:raster_processing");
    }
    let history = History { definition, events };
    let path = resolve(&leaves, &history.path(SIZE));
    Proof::new(
        job_id(),
        &key().public(),
        &checkpoint(&leaves),
        history,
        &path,
    )
}

/// The event that registered what the job has pinned.
fn definition(pos: u64, version: u32) -> Item {
    let created: serde_json::Value = serde_json::from_str(&items()[0].payload).unwrap();
    let registered = serde_json::json!({
        "type": "workflow_registered", "version": version, "hash": created["workflow"]["hash"],
        "source": "nodes: {}", "at": "2026-01-02T03:04:05Z",
    });
    item(pos, 1, "workflow_registered", &registered.to_string())
}

#[test]
fn a_proof_has_the_definition_that_the_job_pinned_and_no_other() {
    let pinned: serde_json::Value = serde_json::from_str(&items()[0].payload).unwrap();
    let version = u32::try_from(pinned["workflow"]["version"].as_u64().unwrap()).unwrap();
    let proof = proof_with(Some(definition(2, version)), items());
    let file = proof.encode().unwrap().into_bytes();
    let (_, history) = open(&file, Some(&key().public())).unwrap();
    assert_eq!(history.definition, Some(definition(2, version)));
    assert_eq!(history.events, items());
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(check(&changed, None).is_err(), "byte {at}");
    }
    let other = proof_with(Some(definition(2, version + 1)), items());
    let later = proof_with(Some(definition(20, version)), items());
    let no_definition = proof_with(
        Some(item(2, 1, "job_resumed", r#"{"type":"job_resumed"}"#)),
        items(),
    );
    for wrong in [other, later, no_definition] {
        let refused = check(wrong.encode().unwrap().as_bytes(), None);
        assert!(
            matches!(refused, Err(ProofError::Definition)),
            "{refused:?}"
        );
    }
}

#[test]
fn a_proof_says_what_it_proves() {
    let file = proof_of(items()).encode().unwrap();
    let proven = check(file.as_bytes(), Some(&key().public())).unwrap();
    assert_eq!(
        (proven.events, proven.first_pos, proven.last_pos),
        (4, 3, 17)
    );
    assert_eq!(proven.workflow_id, "raster_processing");
    assert_eq!(proven.end.as_deref(), Some("job_cancelled"));
    assert_eq!(proven.checkpoint.size, SIZE);
    let other = SigningKey::new(&[5; 32]).public();
    let refused = check(file.as_bytes(), Some(&other));
    assert!(
        matches!(refused, Err(ProofError::NotTrusted { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_proof_with_any_one_bit_changed_fails() {
    let leaves = leaves(&items(), SIZE);
    let old = checkpoint(&leaves[..13]);
    let path = resolve(&leaves, &tree::consistency(13, SIZE).unwrap());
    let proof = proof_of(items()).extending(&old, &path);
    let file = proof.encode().unwrap().into_bytes();
    assert!(check(&file, None).is_ok());
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut changed = file.clone();
            changed[at] ^= 1 << bit;
            assert!(check(&changed, None).is_err(), "byte {at}, bit {bit}");
        }
        let mut longer = file.clone();
        longer.insert(at, b' ');
        assert!(check(&longer, None).is_err(), "a space before byte {at}");
    }
    assert!(check(&file[..file.len() - 1], None).is_err());
}

#[test]
fn a_job_with_a_version_left_out_or_another_beginning_is_not_proven() {
    let mut without_one = items();
    without_one.remove(1);
    let file = proof_of(without_one).encode().unwrap();
    let refused = check(file.as_bytes(), None);
    assert!(
        matches!(refused, Err(ProofError::Versions(3))),
        "{refused:?}"
    );
    let mut other = items();
    other[0] = item(3, 1, "job_resumed", r#"{"type":"job_resumed"}"#);
    let refused = check(proof_of(other).encode().unwrap().as_bytes(), None);
    assert!(
        matches!(refused, Err(ProofError::Beginning(_))),
        "{refused:?}"
    );
    let refused = check(proof_of(Vec::new()).encode().unwrap().as_bytes(), None);
    assert!(
        matches!(refused, Err(ProofError::Beginning(_))),
        "{refused:?}"
    );
    let later = items();
    let leaves = leaves(&later, SIZE);
    let mut history = History {
        definition: None,
        events: later,
    };
    let path = resolve(&leaves, &history.path(SIZE));
    history.events[3].pos = SIZE + 1;
    let signed = checkpoint(&leaves);
    let proof = Proof::new(job_id(), &key().public(), &signed, history, &path);
    let refused = check(proof.encode().unwrap().as_bytes(), None);
    assert!(
        matches!(refused, Err(ProofError::Outside { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_rewritten_history_does_not_go_on_from_what_somebody_kept() {
    let now = leaves(&items(), SIZE);
    let path = resolve(&now, &tree::consistency(13, SIZE).unwrap());
    let kept = checkpoint(&now[..13]);
    let file = proof_of(items()).extending(&kept, &path).encode().unwrap();
    let proven = check(file.as_bytes(), None).unwrap();
    assert_eq!(proven.extends, Some(kept.note()));
    let mut before = now;
    before[1] = [0; 32];
    let kept = checkpoint(&before[..13]);
    let file = proof_of(items()).extending(&kept, &path).encode().unwrap();
    let refused = check(file.as_bytes(), None);
    assert!(
        matches!(refused, Err(ProofError::Extends { old: 13, .. })),
        "{refused:?}"
    );
}
