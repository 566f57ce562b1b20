//! The rules of assets, one sentence each; this file has creation and deletion, and the helpers.

mod check;
mod ownership;
mod processing;
mod review;
mod sequences;

use serde_json::{Value, json};

use super::*;
use crate::context::{Role, testing};
use crate::failure::{Failure, FailureClass};
use crate::id::{JobId, RequestId};
use crate::json::TEXT_BYTES_MAX;
use crate::outcome::Decision;
use crate::platform::Refs;

type Outcome = Result<Decision<Event>, Rejection>;

const APPLIED: Outcome = Ok(Decision::AlreadyApplied);

/// After the commands `given`, each from the role that may give it, `when` ends in `then`.
#[track_caller]
fn check(given: &[Command], when: Command, then: Outcome) {
    assert_eq!(decide_own(&after(given), when), then);
}

/// The same for a refusal, and nothing changes.
#[track_caller]
fn refused(given: &[Command], when: Command, then: Rejection) {
    check(given, when, Err(then));
}

/// The state after commands that must all be granted, with a check of idempotence on each event.
#[track_caller]
fn after(given: &[Command]) -> State {
    given.iter().fold(State::default(), |state, command| {
        let decision = decide_own(&state, command.clone());
        let events = decision.expect("a granted command").into_events();
        events.iter().fold(state, |state, event| {
            let next = evolve(state, event);
            assert_eq!(evolve(next.clone(), event), next, "{event:?} twice");
            next
        })
    })
}

fn decide_own(state: &State, command: Command) -> Outcome {
    let concern = command.concerns()[0];
    let owner = FIELD_OWNERS
        .into_iter()
        .find(|(owned, _)| *owned == concern);
    let (_, role) = owner.expect("every concern has an owner");
    decide(state, command, &testing::from(role))
}

fn accepted(event: Event) -> Outcome {
    Ok(Decision::Accepted(vec![event]))
}

fn map(value: Value) -> Refs {
    value.as_object().cloned().expect("an object")
}

fn refs() -> Refs {
    map(json!({"dataset_id": "1", "resource_id": "2", "version_id": "Version Purple!!"}))
}

fn asset_id() -> AssetId {
    AssetId::derive("ddh", &refs())
}

fn create_with(platform_id: &str, platform_refs: Refs) -> Command {
    Command::Create {
        asset_id: AssetId::derive(platform_id, &platform_refs),
        org_id: "acme".into(),
        platform_id: platform_id.into(),
        platform_refs,
        title: Some("Roads".into()),
    }
}

fn create() -> Command {
    create_with("ddh", refs())
}

fn job(number: u8) -> JobId {
    JobId::of_request(RequestId::from_key("acme", &number.to_string()))
}

fn hash(number: u8) -> String {
    format!("{number:064x}")
}

fn artifacts(number: u8) -> Vec<Artifact> {
    vec![Artifact {
        name: "cog".into(),
        uri: format!("s3://silver/{number}.tif"),
        sha256: Some(hash(number)),
        bytes: Some(number.into()),
    }]
}

fn begin(number: u8) -> Command {
    Command::BeginProcessing {
        job_id: job(number),
    }
}

fn complete(number: u8) -> Command {
    Command::CompleteProcessing {
        job_id: job(number),
        content_hash: hash(number),
        artifacts: artifacts(number),
    }
}

fn failure() -> Failure {
    Failure::new(FailureClass::Permanent, "bad_file", "not a raster")
}

fn fail(number: u8) -> Command {
    Command::FailProcessing {
        job_id: job(number),
        failure: failure(),
    }
}

/// A look at the artifacts that the job of this number made.
fn look_that_found(number: u8, verdict: Verdict) -> Check {
    let artifact = artifacts(number).remove(0);
    let finding = Finding {
        artifact,
        verdict,
        found: (verdict == Verdict::Changed).then(|| hash(99)),
        detail: None,
    };
    Check {
        job_id: job(200),
        asset_id: asset_id(),
        revision: number.into(),
        made_by: Some(job(number)),
        ended_at: testing::now(),
        findings: vec![finding],
    }
}

/// A look that found all of it.
fn look(number: u8) -> Check {
    look_that_found(number, Verdict::Intact)
}

fn roll_back(to: u32, check: Option<Check>) -> Command {
    Command::Rollback(Box::new(Rollback {
        to,
        reason: "stripes".into(),
        check,
        accept_unverified: false,
    }))
}

/// An asset with `count` revisions, made by the jobs 1, 2, 3.
fn with_revisions(count: u8) -> Vec<Command> {
    let jobs = (1..=count).flat_map(|n| [begin(n), complete(n)]);
    std::iter::once(create()).chain(jobs).collect()
}

fn then(mut given: Vec<Command>, more: &[Command]) -> Vec<Command> {
    given.extend_from_slice(more);
    given
}

#[test]
fn a_new_asset_is_created_with_the_id_of_its_refs() {
    let created = Event::AssetCreated {
        asset_id: asset_id(),
        org_id: "acme".into(),
        platform_id: "ddh".into(),
        platform_refs: refs(),
        title: Some("Roads".into()),
        at: testing::now(),
    };
    check(&[], create(), accepted(created));
    let state = after(&[create()]);
    assert_eq!((state.revision(), state.revisions()), (None, &[][..]));
    assert_eq!(state.processing(), &Processing::Pending);
    assert_eq!(state.approval(), Approval::PendingReview);
    assert_eq!(state.clearance(), Clearance::Uncleared);
}

#[test]
fn two_submissions_with_the_same_refs_make_one_asset() {
    check(&[create()], create(), APPLIED);
    check(&with_revisions(2), create(), APPLIED);
}

#[test]
fn the_refs_of_an_asset_are_immutable() {
    let then = Rejection::RefsAreImmutable {
        asset_id: asset_id(),
    };
    let other_refs = map(json!({"dataset_id": "1", "resource_id": "2", "version_id": "v2"}));
    refused(&[create()], create_with("ddh", other_refs), then.clone());
    refused(&[create()], create_with("arcgis", refs()), then);
}

#[test]
fn the_semantic_version_comes_back_byte_identical() {
    let state = after(&with_revisions(3));
    let version = state
        .platform_refs()
        .and_then(|refs| refs.get("version_id"));
    assert_eq!(version, Some(&json!("Version Purple!!")));
    assert_eq!(state.platform_refs(), Some(&refs()));
}

#[test]
fn an_id_that_does_not_follow_from_the_refs_is_refused() {
    let mut when = create();
    let given = AssetId::derive("arcgis", &refs());
    if let Command::Create { asset_id, .. } = &mut when {
        *asset_id = given;
    }
    let expected = asset_id();
    refused(&[], when, Rejection::OtherAsset { given, expected });
}

#[test]
fn platform_organisation_refs_and_title_are_bounded() {
    let platform_id = "D|H".to_owned();
    let then = Rejection::InvalidPlatform { platform_id };
    refused(&[], create_with("D|H", refs()), then);
    let size_bytes = REFS_BYTES_MAX + 1;
    let large = map(json!({"k": "x".repeat(size_bytes - 8)}));
    let then = Rejection::RefsTooLarge { size_bytes };
    refused(&[], create_with("ddh", large), then);

    let mut when = create();
    if let Command::Create { org_id, .. } = &mut when {
        org_id.clear();
    }
    let field = "org_id";
    refused(&[], when, Rejection::InvalidName { field });

    let mut when = create();
    if let Command::Create { title, .. } = &mut when {
        *title = Some("a\0".repeat(TEXT_BYTES_MAX));
    }
    let state = after(&[when]);
    let title = state.asset().and_then(|asset| asset.title.clone());
    assert_eq!(title, Some("a".repeat(TEXT_BYTES_MAX / 2)));
}

#[test]
fn deletion_is_soft_and_can_be_undone() {
    let at = testing::now();
    let deleted = then(with_revisions(2), &[Command::SoftDelete]);
    check(
        &with_revisions(2),
        Command::SoftDelete,
        accepted(Event::AssetDeleted { at }),
    );
    assert!(after(&deleted).is_deleted());
    assert_eq!(after(&deleted).revisions().len(), 2);
    check(&deleted, Command::SoftDelete, APPLIED);
    check(
        &deleted,
        Command::Restore,
        accepted(Event::AssetRestored { at }),
    );
    let restored = then(deleted, &[Command::Restore]);
    assert!(!after(&restored).is_deleted());
    check(&restored, Command::Restore, APPLIED);
    assert_eq!(
        after(&restored).revisions(),
        after(&with_revisions(2)).revisions()
    );
}

#[test]
fn an_asset_that_was_never_deleted_is_not_restored() {
    let asset_id = asset_id();
    let then = Rejection::NotDeleted { asset_id };
    refused(&[create()], Command::Restore, then);
}

#[test]
fn events_are_tagged_in_snake_case_and_round_trip() {
    let all = [create(), begin(1), complete(1)];
    let (_, events) = all.into_iter().fold(
        (State::default(), Vec::new()),
        |(state, mut events), command| {
            let new = decide_own(&state, command).expect("granted").into_events();
            let state = new.iter().fold(state, evolve);
            events.extend(new);
            (state, events)
        },
    );
    let tags: Vec<Value> = events
        .iter()
        .map(|event| serde_json::to_value(event).expect("plain data")["type"].clone())
        .collect();
    let expected = [
        "asset_created",
        "asset_processing_began",
        "asset_processing_completed",
    ];
    assert_eq!(tags, expected);
    for event in events {
        let text = serde_json::to_string(&event).expect("plain data");
        assert_eq!(serde_json::from_str::<Event>(&text).ok(), Some(event));
    }
}
